"""A provider that takes nothing."""

from turnledger.demo.model import BAD_REQUEST
from turnledger.demo.stage import Stage
from turnledger.demo.submission import MAIN


def refuse_everything(stage: Stage) -> None:
    """The head fails and blocks, the rest waits; then all of it goes out in order."""
    screen, worker = stage.screen, stage.workers[2]
    screen.head("7  The provider answers 400 to everything")
    stage.model.begin_outage()
    stage.watch(worker, "idle")
    stage.show_reason(MAIN, "failed_head")
    stage.show_queue(MAIN)
    screen.fact("messages tried", len(stage.model.got(BAD_REQUEST)), 1)
    stage.model.end_outage()
    screen.say("The provider is well again, and a person retries the failed turn:")
    with stage.ledger.acting_as(actor="operator"):
        [head] = stage.ledger.queue.list(MAIN, limit=1)
        stage.ledger.queue.retry(MAIN, head.queued_turn_id)
    stage.watch(worker, "idle", ("acked", "idle"))
    if not worker.finish():
        screen.wrong(f"{worker.owner} ended with an error")
    stage.show_reason(MAIN, "empty")
