"""Turns are begun and answered, by workers that are killed at each step."""

from turnledger import BegunTurn
from turnledger.demo.coordinator.stage import Stage
from turnledger.demo.submission import Submission, said

_STEPS = {  # the turn, and the word after which its worker is killed
    2: "claimed",
    3: "prepared",
    4: "dispatching",
    5: "answered",
    6: "responded",
}


def begin(stage: Stage) -> None:
    """A turn for each recorded message, one of them begun twice."""
    screen = stage.screen
    screen.head("1  A coordinator is asked: turns are begun")
    screen.say("Recorded from a coding agent. A message's own id is its idempotency key.")
    begun = [_begun(stage, one) for one in stage.messages]
    screen.rows(
        [(one.thread_id, one.queued_turn_id, said(one.parameters)) for one in stage.messages]
    )
    again = _begun(stage, stage.messages[-1])
    screen.say("The last one is begun once more, since nobody saw the answer:")
    screen.fact(f"{again.turn_id} duplicate", again.duplicate, wanted=True)
    screen.fact("it is the same turn", again.turn_id == begun[-1].turn_id, wanted=True)


def answer_one(stage: Stage) -> None:
    """How it goes when all goes well."""
    stage.screen.head("2  A worker process asks the provider")
    stage.screen.say("The request is stored, then the dispatch; then it is sent over HTTP.")
    stage.records.treat(
        {
            f"{stage.turn(7)}/1": "die",
            f"{stage.turn(8)}/1": "refuse",
            f"{stage.turn(9)}/1": "hang",
            f"{stage.turn(10)}/1": "hang",
        }
    )
    stage.watch(stage.workers[0], "acked", stage.turn(1))


def kill_at_each_step(stage: Stage) -> None:
    """A worker for each step, killed right behind it."""
    stage.screen.head("3  Workers are killed, each behind another step")
    for place, (number, word) in enumerate(_STEPS.items()):
        worker = stage.workers[place]
        stage.watch(worker, word, stage.turn(number))
        stage.kill(worker)


def _begun(stage: Stage, message: Submission) -> BegunTurn:
    """What a host does with a message that arrives."""
    return stage.ledger.coordinator.begin(
        message.thread_id,
        message.parameters,
        turn_id=message.queued_turn_id,
        idempotency_key=message.message_id,
    )
