"""WorkItem: the thing a coordinator works on. Its turns stand in line, and it has a revision.

Invariants: turns take their places one after the other; the revision grows by one with each turn
that is settled and each touch, and never falls.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self, assert_never

from turnledger.domain.command import RecordedCommand, event_record
from turnledger.domain.errors import StaleRevision
from turnledger.domain.event import Event
from turnledger.domain.payload import encode
from turnledger.domain.value import value

CATEGORY = "work_item"
STATE_FORM = 1


def stream_id(work_item_id: str) -> str:
    """The stream that holds a work item."""
    return f"{CATEGORY}:{work_item_id}"


# --- Events: the storage format. Add, never change.


class WorkItem:
    """The events, under the name of their aggregate."""

    class TurnEntered(Event):
        """A coordinator turn took its place behind the others."""

        TOPIC = "work_item.turn_entered"
        turn_id: str
        turn_order: int

    class TurnSettled(Event):
        """A coordinator turn ended."""

        TOPIC = "work_item.turn_settled"
        turn_id: str
        revision: int

    class Touched(Event):
        """The host says that the work item is another one now."""

        TOPIC = "work_item.touched"
        revision: int


EVENTS: tuple[type[Event], ...] = (
    WorkItem.TurnEntered,
    WorkItem.TurnSettled,
    WorkItem.Touched,
)


# --- State


class State(NamedTuple):
    """A work item; all of it stands in the head row.

    Attributes:
        turns: How many turns ever entered.
        settled: How many of them ended.
    """

    turns: int = 0
    settled: int = 0
    revision: int = 0

    @classmethod
    def from_stored(cls, stored: object) -> Self:
        """The state of a head row.

        Raises:
            ValueError: It is in no form that this release knows.
        """
        match stored:
            case [int() as turns, int() as settled, int() as revision]:
                return cls(turns, settled, revision)
            case _:
                msg = f"no state of a work item: {stored!r}"
                raise ValueError(msg)


def evolve(state: State, event: Event) -> State:
    """The state after an event."""
    match event:
        case WorkItem.TurnEntered():
            return state._replace(turns=event.turn_order + 1)
        case WorkItem.TurnSettled():
            return state._replace(settled=state.settled + 1, revision=event.revision)
        case WorkItem.Touched():
            return state._replace(revision=event.revision)
        case _:
            return state


def broken_rule(state: State, event: Any) -> str | None:
    """The rule that an event breaks, if it can't follow a state."""
    match event:
        case WorkItem.TurnEntered() if event.turn_order != state.turns:
            return "turns take their places one after the other"
        case WorkItem.TurnSettled() if state.settled >= state.turns:
            return "only a turn that entered is settled"
        case WorkItem.TurnSettled() | WorkItem.Touched() if event.revision != state.revision + 1:
            return "revisions rise by one"
        case _:
            return None


# --- Commands


@value
class WorkItemCommand(RecordedCommand):
    """A command of a work item."""

    work_item_id: str


@value
class Enter(WorkItemCommand):
    """Give a turn its place behind the others."""

    NAME = "enter_turn"
    RECORD = event_record("turn_id")
    turn_id: str


@value
class Settle(WorkItemCommand):
    """Say that a turn ended."""

    NAME = "settle_turn"
    RECORD = event_record("turn_id")
    turn_id: str
    expected_revision: int | None = None

    def arguments(self) -> str:
        """The revision; the turn stands in the event."""
        return encode({**self.RECORD, "expected_revision": self.expected_revision})


@value
class Touch(WorkItemCommand):
    """Say that the work item is another one now."""

    NAME = "touch"


def decide(state: State, command: Enter | Settle | Touch) -> Sequence[Event]:
    """The event that a command leads to.

    Raises:
        StaleRevision: The work item isn't any more as the command expects it.
    """
    match command:
        case Enter():
            return (WorkItem.TurnEntered(turn_id=command.turn_id, turn_order=state.turns),)
        case Settle():
            expected, revision = command.expected_revision, state.revision
            if expected is not None and expected != revision:
                raise StaleRevision(command.work_item_id, expected, revision)
            return (WorkItem.TurnSettled(turn_id=command.turn_id, revision=revision + 1),)
        case Touch():
            return (WorkItem.Touched(revision=state.revision + 1),)
        case _:
            assert_never(command)
