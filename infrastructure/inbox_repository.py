"""Inboxes in the database: the state that a command is decided on, and back.

The head row gives the scalars; what the command needs of single messages comes from the read model
of the same transaction. The life of the thread is held until its end (ADR 16), so that nothing is
posted beside an archive or a delete.
"""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic_core import to_json

from turnledger.domain import inbox
from turnledger.domain.claim import is_stale
from turnledger.domain.duration import to_microseconds
from turnledger.domain.errors import Unreadable
from turnledger.domain.event import Event
from turnledger.domain.inbox import STATE_FORM, InFlight, Message, State
from turnledger.domain.inbox.commands import InboxCommand
from turnledger.domain.limits import Context
from turnledger.infrastructure.conflict import Conflict
from turnledger.infrastructure.head_state import state_of
from turnledger.infrastructure.inbox_rows import STALE, InboxRows, MessageRow, as_message
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.rows import Head, HeadChange
from turnledger.infrastructure.thread_life import enter, held_life
from turnledger.infrastructure.unit_of_work import UnitOfWork

_NO_MESSAGES: Mapping[str, Message] = {}


class Loaded(NamedTuple):
    """What was read for a command.

    Attributes:
        head: The stream's head row.
        state: What the command is decided on.
        context: By what the command is judged.
        row: Of the message that was read, if one was.
        is_entered: Some command named the thread before.
    """

    head: Head
    state: State
    context: Context
    row: MessageRow | None
    is_entered: bool


def load(unit: UnitOfWork, command: InboxCommand) -> Loaded:
    """Read what a command is decided on, in a unit in which several streams may be changed.

    Raises:
        Unreadable: The row of a message that it needs is damaged.
    """
    thread_id = command.thread_id
    life = held_life(unit, thread_id)
    head = unit.head(inbox.stream_id(thread_id))
    try:
        row = _row(unit, command)
        messages = _NO_MESSAGES if row is None else {row.message_id: as_message(row)}
    except (TypeError, ValueError, OverflowError, sqlite3.OperationalError) as error:
        if isinstance(error, sqlite3.OperationalError) and "UTF-8" not in str(error):
            raise
        raise Unreadable(f"a message of thread {thread_id}", f"damaged: {error}") from error
    state = _state(unit, head)._replace(lifecycle=life or "active", messages=messages)
    return Loaded(head, state, unit.context(head), row, is_entered=life is not None)


def save(
    unit: UnitOfWork, loaded: Loaded, events: Sequence[Event], command: InboxCommand, origin: Origin
) -> None:
    """Save the events that a command led to."""
    if not loaded.is_entered:
        enter(unit, command.thread_id)
    state = inbox.fold(events, loaded.state)
    text = to_json(state.scalars()).decode()
    change = HeadChange(loaded.head, state.epoch, STATE_FORM, text)
    unit.save(change, events, command, origin, loaded.context)


def carry_out(
    unit: UnitOfWork, command: InboxCommand, origin: Origin
) -> tuple[Sequence[Event], Loaded]:
    """Load, decide and save. Returns what happened, on what was read."""
    loaded = load(unit, command)
    events = inbox.decide(loaded.state, command, loaded.context)
    if events:
        save(unit, loaded, events, command, origin)
    return events, loaded


def must_be_unchanged(unit: UnitOfWork, loaded: Loaded) -> None:
    """Let an answer be found again whose row was read later than its head, if others came between.

    What is saved is guarded by the head row's version; this is for answers with which nothing is.

    Raises:
        Conflict: The inbox was changed meanwhile.
    """
    head, state = loaded.head, loaded.state
    waits = state.waiting and state.in_flight is None
    if waits and unit.head(head.stream_id).version != head.version:
        msg = "the inbox was changed while it was read"
        raise Conflict(msg)


def rows(unit: UnitOfWork, thread_id: str) -> InboxRows:
    """The rows of a thread's inbox, as the unit sees them."""
    return InboxRows(unit.cursor, unit.dialect, thread_id, inbox.stream_id(thread_id))


def overdue(unit: UnitOfWork, thread_id: str) -> InFlight | None:
    """What is in flight in an inbox though its claim is over, for a question."""
    head = unit.head(inbox.stream_id(thread_id))
    flying = _state(unit, head).in_flight
    return flying if is_stale(flying, unit.context(head)) else None


def stale_threads(unit: UnitOfWork, after: str, page: int) -> list[str]:
    """The threads whose inbox has a claim that is over, behind a thread."""
    unit.read_clock()
    latest = to_microseconds(unit.now + unit.limits.max_lease)
    given = {"now": unit.stored_now, "latest": latest, "after": after, "limit": page}
    return [thread_id for (thread_id,) in unit.run(STALE, given)]


def _row(unit: UnitOfWork, command: InboxCommand) -> MessageRow | None:
    match command.READS:
        case "oldest":
            return rows(unit, command.thread_id).oldest()
        case "message":
            return rows(unit, command.thread_id).message(getattr(command, "message_id", ""))
        case _:
            return None


def _state(unit: UnitOfWork, head: Head) -> State:
    """The state that a head row holds; from the events, if it is of another form, or damaged."""
    if head.is_new:
        return State()
    return state_of(
        head, STATE_FORM, State.from_scalars, lambda: _from_events(unit, head.stream_id)
    )


def _from_events(unit: UnitOfWork, stream_id: str) -> State:
    state = State()
    for event in unit.events(stream_id):
        state = inbox.evolve(state, event)._replace(messages=_NO_MESSAGES)
    return state
