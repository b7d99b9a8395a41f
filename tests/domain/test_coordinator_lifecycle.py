"""The diagrams of coordinator turns and provider turns say what decide really allows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.domain.test_coordinator_turn import (
    ACK,
    ACKED,
    ANSWERED,
    BEGUN,
    CANCEL,
    CANCELLED,
    COMPLETE,
    FAIL,
    HELD,
    LOST,
    PREPARE,
    READY,
    RECOVER,
    REFUSE,
    REJECT,
    REJECTED,
    RELEASE,
    RELEASED,
    RESPOND,
    RESUME,
    SENT,
    START,
    TAKE,
    begin,
    resolve,
    when,
)
from tests.domain.test_lifecycle_diagram import NONE, Transition, compare, drawn
from turnledger.domain import coordinator_turn
from turnledger.domain.coordinator_turn import commands as c
from turnledger.domain.event import Event

NEXT = c.ClaimNext(turn_id="turn", owner="other", lease=timedelta(seconds=60))
RENEW = c.Renew(turn_id="turn", owner="worker", epoch=1, lease=timedelta(seconds=60))
RETRY = (*SENT, coordinator_turn.CoordinatorTurn.OutcomeUnknown(attempt=1))
HISTORIES: tuple[tuple[Event, ...], ...] = (
    *((), (BEGUN,), HELD, READY, SENT, ANSWERED, LOST, RETRY, (*ANSWERED, REJECTED)),
    *((*SENT, RELEASED), (*HELD, ACKED), (*HELD, CANCELLED), (*SENT, ACKED), (*SENT, CANCELLED)),
    *((*READY, ACKED), (*LOST, CANCELLED)),
)
COMMANDS: tuple[c.TurnCommand, ...] = (
    *(begin(), begin(owner="worker", lease=timedelta(seconds=60))),
    *(TAKE, NEXT, RESUME, RENEW, RELEASE, RECOVER),
    *(PREPARE, START, RESPOND, REFUSE, REJECT),
    *(resolve("adopt"), resolve("retry"), resolve("cancel")),
    *(COMPLETE, FAIL, ACK, CANCEL),
)


def steps() -> Any:
    """Every command on every history, early and late: the states before and after it."""
    for history in HISTORIES:
        before = coordinator_turn.fold(history)
        for command in COMMANDS:
            if command.NAME == "begin" and history:
                continue  # its id is looked up before it is decided
            for seconds in (0, 60):
                events = when(command, *history, seconds=seconds)
                if isinstance(events, list) and events:
                    yield command, before, coordinator_turn.fold(events, before)


def test_the_diagram_of_the_turn_is_what_is_allowed() -> None:
    allowed: set[Transition] = set()
    for command, before, after in steps():
        was, word = before.status or NONE, str(after.status)
        if was != word or before.epoch != after.epoch or command is RENEW:
            allowed.add((was, command.NAME, word))
    compare("A coordinator turn", drawn("A coordinator turn"), allowed)


def test_the_diagram_of_the_attempt_is_what_is_allowed() -> None:
    allowed: set[Transition] = set()
    for command, before, after in steps():
        for number in (1, 2):
            old, new = before.attempt(number), after.attempt(number)
            was = NONE if old is None else old.status
            if new is not None and was != new.status:
                allowed.add((was, command.NAME, new.status))
    compare("A provider turn", drawn("A provider turn"), allowed)


def test_every_command_of_the_coordinator_was_tried() -> None:
    kinds = [kind for kind in vars(c).values() if isinstance(kind, type)]
    assert set(map(type, COMMANDS)) == {kind for kind in kinds if "NAME" in vars(kind)}
