"""Outcomes that nobody can know are decided, by what the provider knows."""

from collections.abc import Iterator

from turnledger import BegunTurn
from turnledger.demo.coordinator.stage import Stage

_BY = "operator"
_SHOWN = ("sent", "responded", "acked", "idle")


def decide(stage: Stage) -> None:
    """Somebody looks at the provider's own records, and decides."""
    screen = stage.screen
    screen.head("9  A person decides what may have been sent")
    screen.say("The provider's own records say what arrived, and what was answered:")
    rows = [_decided(stage, turn) for turn in _in_doubt(stage)]
    screen.rows(rows)


def finish(stage: Stage) -> None:
    """The worker does the rest; an answer that is adopted needs no call."""
    worker = stage.workers[-1]
    stage.watch(worker, "idle", shown=_SHOWN)
    if not worker.finish():
        stage.screen.wrong(f"{worker.owner} ended with an error")


def _in_doubt(stage: Stage) -> Iterator[BegunTurn]:
    for turn in stage.ledger.coordinator.list():
        if turn.attempts and turn.attempts[-1].status == "unknown":
            yield turn


def _decided(stage: Stage, turn: BegunTurn) -> tuple[str, str, str]:
    """Decide on a turn, and say what about."""
    latest, turn_id = turn.attempts[-1], turn.turn_id
    received = len(stage.records.read("received", turn_id))
    answers = [record.answer for record in stage.records.read("answered", turn_id)]
    resolve = stage.ledger.coordinator.resolve
    found = f"received {received}, answered {len(answers)}"
    if latest.evidence:
        resolve(turn_id, latest.attempt, "adopt", by=_BY)
        return turn_id, found, "adopt the late answer"
    if answers:
        resolve(turn_id, latest.attempt, "adopt", by=_BY, response=answers[-1])
        return turn_id, found, "adopt the provider's answer"
    resolve(turn_id, latest.attempt, "retry", by=_BY, reason=found)
    return turn_id, found, "send it again" if received else "send it"
