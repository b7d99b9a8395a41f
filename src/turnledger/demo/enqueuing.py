"""Messages come in."""

from turnledger.demo.stage import Stage
from turnledger.demo.submission import MAIN


def enqueue(stage: Stage) -> None:
    """Put the recorded messages into a thread, one of them twice."""
    screen, messages = stage.screen, stage.of(MAIN)
    screen.head("1  Messages are put into a thread")
    screen.say("Recorded from a coding agent. A message's own id is its idempotency key.")
    for message in messages:
        stage.append(message)
    stage.show_queue(MAIN)
    again = stage.append(messages[-1])
    screen.say("The client didn't see the last answer, so it sends that message again:")
    screen.fact(f"{again.queued_turn_id} duplicate", again.duplicate, wanted=True)
    screen.fact(f"waiting in {MAIN}", len(stage.ledger.queue.list(MAIN)), len(messages))
