"""What the ledger does about it by itself, and what it leaves to a person."""

from typing import Literal

from turnledger.demo.history import event_row
from turnledger.demo.model import OK
from turnledger.demo.stage import LONG_LEASE_SECONDS, Stage, state
from turnledger.demo.submission import MAIN, SIDE


def recover(stage: Stage) -> None:
    """After the leases: what wasn't sent waits again, what may have been sent blocks."""
    screen, queue = stage.screen, stage.ledger.queue
    screen.head("5  The leases end, and the turns are recovered")
    stage.start_worker(LONG_LEASE_SECONDS)
    screen.say("Waiting until the claims are over:")
    for thread_id in (MAIN, SIDE):
        stage.wait_for(thread_id, "expired_claim")
        stage.show_reason(thread_id, "expired_claim")
    screen.say("A host may recover at any time; what is live isn't touched:")
    turns = queue.recover()
    screen.rows([(turn.thread_id, turn.queued_turn_id, state(turn)) for turn in turns])
    if [state(turn) for turn in turns] != ["failed, outcome unknown", "pending"]:
        screen.wrong("only what was dispatched ought to be failed")
    screen.say(f"What was never sent is in its old place in {SIDE}, and goes out:")
    stage.show_queue(SIDE)
    stage.watch(stage.workers[2], "idle", ("acked", "idle"))
    _show_why(stage)


def _show_why(stage: Stage) -> None:
    screen, why = stage.screen, stage.ledger.why(MAIN)
    screen.say(f"What may have been sent doesn't go out again by itself: {MAIN} is blocked.")
    screen.fact(f"why {MAIN}", why.reason, "failed_head")
    screen.rows([event_row(event) for event in why.events])
    screen.say("What would unblock it:")
    for command in why.commands:
        screen.command(command)


def resolve(stage: Stage) -> None:
    """A person looks whether the message arrived, and says so."""
    screen, queue = stage.screen, stage.ledger.queue
    screen.head("6  A person decides")
    [head] = queue.list(MAIN, limit=1)
    message_id = str((head.submission or {}).get("clientUserMessageId"))
    times = stage.model.times(message_id)
    screen.say("The provider's own records say whether it arrived:")
    screen.fact(f"times the model got {head.queued_turn_id}", times, 1)
    decision: Literal["acked", "retry"] = "acked" if times else "retry"
    seen = {"status": OK, "times": times}
    turn = queue.resolve(MAIN, head.queued_turn_id, decision, by="operator", evidence=seen)
    screen.say(f"So it is resolved as {decision}:")
    screen.fact(turn.queued_turn_id, state(turn), "acked")
    stage.show_reason(MAIN, None)
