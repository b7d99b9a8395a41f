"""What remains: a history, and the figures."""

import json
from collections import Counter
from dataclasses import dataclass

from turnledger import RecordedEvent
from turnledger.demo.coordinator.stage import Stage

_DECIDED = ("refused", "cancelled")
_NAMES = ("owner", "epoch", "attempt", "result")
_NAMES_OF_DECISION = ("attempt", "decision", "by")  # its owner is who goes on, not who decides


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of it.

    Attributes:
        begun: How many turns were begun.
        settled: How many of them are acked, with a result.
        undecided: How many requests were sent again, though nothing had been decided.
        paid: How many answers the provider gave.
        lost: How many of them are nowhere in the ledger.
    """

    begun: int
    settled: int
    undecided: int
    paid: int
    lost: int


def tell_a_history(stage: Stage) -> None:
    """Every event of the turn that a provider died with, a line each."""
    turn_id = stage.turn(7)
    stage.screen.head(f"10  The whole history of {turn_id}")
    events = stage.ledger.log.read(streams=[f"coordinator_turn:{turn_id}"])
    stage.screen.rows([_row(event) for event in events])


def draw_the_balance(stage: Stage) -> None:
    """Whether the ledger is whole, and what came of turns, requests and answers."""
    screen = stage.screen
    screen.head("11  The balance")
    verification = stage.ledger.verify()
    for finding in verification.findings:
        screen.wrong(f"{finding.where}: {finding.message}")
    if verification.ok:
        screen.say(f"verify: {verification.events} events, the ledger is whole")
    figures, many = counted(stage), len(stage.messages)
    wanted = Figures(begun=many, settled=many, undecided=0, paid=many, lost=0)
    screen.say(_line(figures), style="bold green" if figures == wanted else "bold red")
    if figures != wanted:
        screen.wrong(f"it ought to be: {_line(wanted)}")


def counted(stage: Stage) -> Figures:
    """Count what came of it, in the ledger and in the provider's records."""
    turns = stage.ledger.coordinator.list()
    sent = Counter(record.turn_id for record in stage.records.read("received"))
    decided = {
        turn.turn_id: sum(attempt.status in _DECIDED for attempt in turn.attempts) for turn in turns
    }
    known = [
        (turn.turn_id, answer)
        for turn in turns
        for attempt in turn.attempts
        for answer in (attempt.response, *(piece.value for piece in attempt.evidence))
    ]
    answers = [(record.turn_id, record.answer) for record in stage.records.read("answered")]
    return Figures(
        begun=len(turns),
        settled=sum(turn.outcome == "completed" for turn in turns),
        undecided=sum(max(sent[one] - 1 - decided[one], 0) for one in sent),
        paid=len(answers),
        lost=sum(answer not in known for answer in answers),
    )


def _line(figures: Figures) -> str:
    return (
        f"begun {figures.begun}, settled {figures.settled}, sent again undecided "
        f"{figures.undecided}, answers paid {figures.paid}, lost {figures.lost}"
    )


def _row(event: RecordedEvent) -> tuple[str, str, str]:
    """An event: its version, what happened, and the rest in words."""
    data = event.data if isinstance(event.data, dict) else {}
    names = _NAMES_OF_DECISION if "decision" in data else _NAMES
    rest = ", ".join(
        f"{name} {json.dumps(data[name]) if name == 'result' else data[name]}"
        for name in names
        if data.get(name) is not None
    )
    return f"{event.version:>2}", event.type.rpartition(".")[2], event.unreadable or rest
