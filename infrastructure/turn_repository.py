"""Coordinator turns and their work items in the database: states to decide on, and back.

All of both states stands in the head rows. A command that begins or settles a turn changes its work
item, too: that is locked first, so that two such commands come one after the other.
"""

import sqlite3
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

from pydantic_core import to_json
from sqlalchemy import bindparam, select

from turnledger.domain import coordinator_turn, work_item
from turnledger.domain.coordinator_turn import STATE_FORM, CoordinatorTurn, State
from turnledger.domain.coordinator_turn.commands import Begin, TurnCommand
from turnledger.domain.duration import to_microseconds
from turnledger.domain.errors import Unreadable
from turnledger.domain.event import Event
from turnledger.domain.identifier import LARGEST
from turnledger.domain.limits import Context
from turnledger.infrastructure import turn_rows
from turnledger.infrastructure.conflict import Conflict
from turnledger.infrastructure.head_state import state_of
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.rows import WHOLE_HEAD, Head, HeadChange
from turnledger.infrastructure.schema import streams
from turnledger.infrastructure.statement import SQLITE, statement
from turnledger.infrastructure.turn_reader import TurnReader
from turnledger.infrastructure.turn_rows import MailboxRow
from turnledger.infrastructure.unit_of_work import UnitOfWork

_LOCKED_HEAD = statement(
    select(*WHOLE_HEAD).where(streams.c.stream_id == bindparam("stream_id")).with_for_update()
)
_SETTLING = (CoordinatorTurn.Acked, CoordinatorTurn.Failed, CoordinatorTurn.Cancelled)
_OTHERS = 16  # how many turns others may be busy with at the same moment


class Loaded(NamedTuple):
    """What was read for a command.

    Attributes:
        head: The stream's head row.
        state: What the command is decided on.
        context: By what the command is judged.
    """

    head: Head
    state: State
    context: Context


class LoadedItem(NamedTuple):
    """Likewise of a work item."""

    head: Head
    state: work_item.State
    context: Context


@contextmanager
def saying_unreadable(what: str) -> Generator[None]:
    """Let what a damaged record raises be said of what it is about.

    Raises:
        Unreadable: Something that was read is damaged.
    """
    try:
        yield
    except (ValueError, TypeError, LookupError, OverflowError, sqlite3.OperationalError) as error:
        if isinstance(error, sqlite3.OperationalError) and "UTF-8" not in str(error):
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise Unreadable(what, f"damaged: {reason}") from error


def load(unit: UnitOfWork, turn_id: str) -> Loaded:
    """Read what a command is decided on, in a unit in which several streams may be changed.

    Raises:
        Unreadable: What is stored of the turn is damaged.
    """
    with saying_unreadable(f"turn {turn_id}"):
        head = unit.head(coordinator_turn.stream_id(turn_id))
        _must_be_whole(head)
        return Loaded(head, _state(unit, head), unit.context(head))


def decided(unit: UnitOfWork, command: TurnCommand) -> tuple[Loaded, Sequence[Event]]:
    """Load and decide. Nothing is written by then.

    Raises:
        Unreadable: What is stored of the turn is damaged.
    """
    loaded = load(unit, command.turn_id)
    with saying_unreadable(f"turn {command.turn_id}"):
        return loaded, coordinator_turn.decide(loaded.state, command, loaded.context)


def carry_out(
    unit: UnitOfWork, command: TurnCommand, origin: Origin
) -> tuple[Sequence[Event], State]:
    """Load, decide and save; what settles a turn gives its work item a new revision.

    Returns:
        What happened, and the state after it.

    Raises:
        StaleRevision: The work item isn't at the revision that the command expects.
    """
    loaded, events = decided(unit, command)
    if any(isinstance(event, _SETTLING) for event in events):
        settle = work_item.Settle(
            work_item_id=loaded.state.work_item_id,
            turn_id=command.turn_id,
            expected_revision=getattr(command, "expected_revision", None),
        )
        item = load_item(unit, settle.work_item_id)
        settled = work_item.decide(item.state, settle)
        state = save(unit, loaded, events, command, origin)
        save_item(unit, item, settled, settle, origin)
        return events, state
    return events, save(unit, loaded, events, command, origin)


def begin(unit: UnitOfWork, command: Begin, origin: Origin) -> tuple[Sequence[Event], Context]:
    """Let a turn wait behind the others of its work item.

    Args:
        unit: One in which several streams may be changed.
        command: Its place is given here.
        origin: Leaves its receipt with the turn.

    Raises:
        Conflict: Somebody else has just begun it.
        Unreadable: It is there, without its first event; or the work item is damaged.
    """
    enter = work_item.Enter(work_item_id=command.work_item_id, turn_id=command.turn_id)
    item = load_item(unit, command.work_item_id)
    entered = work_item.decide(item.state, enter)
    command = replace(command, turn_order=item.state.turns)
    loaded = load(unit, command.turn_id)
    if not loaded.head.is_new:
        if unit.dialect == SQLITE:  # nobody else writes meanwhile
            raise Unreadable(f"turn {command.turn_id}", "damaged: its first event is missing")
        raise Conflict(f"turn {command.turn_id} came to be in the meantime")
    events = coordinator_turn.decide(loaded.state, command, loaded.context)
    save(unit, loaded, events, command, origin)
    save_item(unit, item, entered, enter, _without_key(origin))
    return events, loaded.context


def load_item(unit: UnitOfWork, work_item_id: str) -> LoadedItem:
    """Read a work item, which nobody else changes until the end of the unit.

    Raises:
        Unreadable: What is stored of it is damaged.
    """
    stream_id = work_item.stream_id(work_item_id)
    with saying_unreadable(f"work item {work_item_id}"):
        row = unit.run(_LOCKED_HEAD, {"stream_id": stream_id}).fetchone()
        head = unit.as_head(stream_id, row)
        _must_be_whole(head)
        return LoadedItem(head, item_state(unit, head), unit.context(head))


def save_item(
    unit: UnitOfWork,
    item: LoadedItem,
    events: Sequence[Event],
    command: work_item.WorkItemCommand,
    origin: Origin,
) -> work_item.State:
    """Save what happened to a work item. Returns the state after it."""
    state = item.state
    for event in events:
        state = work_item.evolve(state, event)
    text = to_json(state).decode()
    change = HeadChange(item.head, item.head.epoch, work_item.STATE_FORM, text)
    unit.save(change, events, command, origin, item.context)
    return state


def touch(unit: UnitOfWork, command: work_item.Touch, origin: Origin) -> int:
    """Give a work item a new revision, and return it."""
    item = load_item(unit, command.work_item_id)
    events = work_item.decide(item.state, command)
    return save_item(unit, item, events, command, origin).revision


def ready(unit: UnitOfWork, work_item_id: str | None) -> Iterator[str]:
    """The turns that would be given out now, the oldest first, page by page.

    Where several may write at the same time, a turn that another one is just busy with is passed
    over, and one that is named here is kept for the unit.
    """
    unit.read_clock()
    page = 1 if unit.dialect == SQLITE else 1 + _OTHERS
    what = turn_rows.READY if work_item_id is None else turn_rows.READY_OF_WORK_ITEM
    given: dict[str, Any] = {"work_item_id": work_item_id, "limit": page, **_clock(unit)}
    given |= {"order": -1, "created_at": 0, "turn_id": ""}
    while True:
        found = unit.run(what, given).fetchall()
        for turn_id, _, _ in found:
            key = {"stream_id": coordinator_turn.stream_id(turn_id)}
            if unit.dialect == SQLITE or unit.run(turn_rows.KEEP, key).fetchone():
                yield turn_id
        if len(found) < page:
            return
        given["turn_id"], given["order"], given["created_at"] = found[-1]


def recoverable(unit: UnitOfWork, limit: int) -> list[MailboxRow]:
    """The turns that would be given out now, the oldest first."""
    unit.read_clock()
    found = unit.run(turn_rows.RECOVERABLE, {"limit": limit, **_clock(unit)}).fetchall()
    return [MailboxRow(*row) for row in found]


def stale_turns(unit: UnitOfWork, after: str, page: int) -> list[str]:
    """The turns in which something is over, behind a turn."""
    unit.read_clock()
    found = unit.run(turn_rows.STALE, {"after": after, "limit": page, **_clock(unit)})
    return [turn_id for (turn_id,) in found.fetchall()]


def reader(unit: UnitOfWork) -> TurnReader:
    """Reads turns as the unit sees them."""
    return TurnReader(unit.cursor, unit.dialect)


def item_state(unit: UnitOfWork, head: Head) -> work_item.State:
    """The state of a work item whose head row was read."""
    if head.is_new:
        return work_item.State()
    return state_of(
        head,
        work_item.STATE_FORM,
        lambda stored, _epoch: work_item.State.from_stored(stored),
        lambda: reduce(work_item.evolve, unit.events(head.stream_id), work_item.State()),
    )


def _clock(unit: UnitOfWork) -> dict[str, int]:
    latest = to_microseconds(unit.now + unit.limits.max_lease)
    return {"now": unit.stored_now, "latest": latest}


def save(
    unit: UnitOfWork, loaded: Loaded, events: Sequence[Event], command: TurnCommand, origin: Origin
) -> State:
    """Save the events one by one, since each changes the same row. Returns the state after them."""
    head, state = loaded.head, loaded.state
    for number, event in enumerate(events):
        if number:
            head = unit.head(head.stream_id)
        state = coordinator_turn.evolve(state, event)
        text = to_json(state.scalars()).decode()
        change = HeadChange(head, state.epoch, STATE_FORM, text)
        whence = _without_key(origin) if number else origin
        unit.save(change, [event], command, whence, loaded.context)
    return state


def _must_be_whole(head: Head) -> None:
    """Refuse a head row on which nothing can be written.

    Raises:
        ValueError: It is one.
    """
    counts = (head.version, head.epoch)
    if any(type(number) is not int or not 0 <= number < LARGEST for number in counts):
        msg = f"the head row of {head.stream_id} has the version or epoch of no stream"
        raise ValueError(msg)
    if type(head.hash) is not bytes:
        msg = f"the head row of {head.stream_id} has no hash"
        raise ValueError(msg)


def _without_key(origin: Origin) -> Origin:
    """For events behind the first, which left the receipt."""
    return origin._replace(idempotency_key=None)


def _state(unit: UnitOfWork, head: Head) -> State:
    if head.is_new:
        return State()
    return state_of(
        head,
        STATE_FORM,
        State.from_scalars,
        lambda: coordinator_turn.fold(unit.events(head.stream_id)),
    )
