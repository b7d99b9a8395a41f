"""Timers in the database: the state that a command is decided on, and back.

The head row gives the scalars; what the timer says comes from its row in the read model. The row of
its thread is locked until the end (ADR 16): so no timer is created beside an archive or a delete,
and two creators don't pass the limit together.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic_core import to_json
from sqlalchemy import bindparam, select

from turnledger.domain import thread_queue, timer
from turnledger.domain.duration import from_microseconds
from turnledger.domain.errors import Unreadable
from turnledger.domain.event import Event
from turnledger.domain.limits import Context
from turnledger.domain.thread import Lifecycle
from turnledger.domain.timer import STATE_FORM, Content, State, Surroundings
from turnledger.domain.timer.commands import TimerCommand
from turnledger.infrastructure import timer_rows
from turnledger.infrastructure.head_state import state_of
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.rows import Head, HeadChange
from turnledger.infrastructure.schema import streams
from turnledger.infrastructure.statement import Cursor, Statement, run, statement
from turnledger.infrastructure.thread_life import enter, known_life
from turnledger.infrastructure.timer_rows import TimerRow, said_in
from turnledger.infrastructure.unit_of_work import UnitOfWork

_LOCK = statement(
    select(streams.c.lifecycle)
    .where(streams.c.stream_id == bindparam("stream_id"))
    .with_for_update()
)
_WIDTH = len(TimerRow._fields)

Place = tuple[str, str]  # thread, timer


class Loaded(NamedTuple):
    """What was read for a command.

    Attributes:
        head: The stream's head row.
        state: What the command is decided on.
        context: By what the command is judged.
        is_entered: Some command named the thread before.
    """

    head: Head
    state: State
    context: Context
    is_entered: bool


def load(unit: UnitOfWork, command: TimerCommand) -> Loaded:
    """Read what a command is decided on, in a unit in which several streams may be changed.

    Raises:
        Unreadable: An event of the timer can't be read that is needed.
    """
    life = _locked_life(unit, command.thread_id)
    head = unit.head(timer.stream_id(command.timer_id))
    state, context = _state(unit, head), unit.context(head)
    around = Surroundings(lifecycle=life or "active")
    if command.COUNTS:
        live = unit.run(timer_rows.COUNT, {"thread_id": command.thread_id}).fetchone()[0]
        around = around._replace(live_timers=live)
    row = _row(unit, command.timer_id)
    if row is not None and state.word is not None:
        state, around = _with_row(unit, head, state, around, row)
    return Loaded(head, state._replace(thread=around), context, life is not None)


def save(
    unit: UnitOfWork, loaded: Loaded, events: Sequence[Event], command: TimerCommand, origin: Origin
) -> State:
    """Save the events that a command led to, one by one, since each changes the same row.

    Returns:
        The state after them.
    """
    if not loaded.is_entered:
        enter(unit, command.thread_id)
    head, state = loaded.head, loaded.state
    for number, event in enumerate(events):
        if number:
            head = unit.head(head.stream_id)
        state = timer.evolve(state, event)
        text = to_json(state.scalars()).decode()
        change = HeadChange(head, state.epoch, STATE_FORM, text)
        unit.save(change, [event], command, origin, loaded.context)
    return state


def carry_out(
    unit: UnitOfWork, command: TimerCommand, origin: Origin
) -> tuple[Sequence[Event], State]:
    """Load, decide and save. Returns what happened, and the state after it."""
    loaded = load(unit, command)
    events = timer.decide(loaded.state, command, loaded.context)
    if not events:
        return events, loaded.state
    return events, save(unit, loaded, events, command, origin)


def found(unit: UnitOfWork, scan: Statement, limit: int) -> list[Place]:
    """The timers that a scan finds, in its order, kept from others until the end of the unit."""
    unit.read_clock()
    return list(map(tuple, unit.run(scan, {"now": unit.stored_now, "limit": limit}).fetchall()))


def with_other_zones(unit: UnitOfWork, time_zone_data: str, limit: int) -> list[Place]:
    """Live timers whose next run was computed by other time zone data."""
    given = {"time_zone_data": time_zone_data, "limit": limit}
    return list(map(tuple, unit.run(timer_rows.OTHER_ZONES, given).fetchall()))


def live_rows(cursor: Cursor, dialect: str, thread_id: str) -> Iterator[TimerRow]:
    """The rows of a thread's live timers, in the order of their creation."""
    rows = run(cursor, dialect, timer_rows.LIVE_TIMERS, {"thread_id": thread_id}).fetchall()
    return (TimerRow(*row) for row in rows)


def timer_row(cursor: Cursor, dialect: str, timer_id: str) -> TimerRow | None:
    """The row of a timer, whatever has become of it; None if it never was."""
    row = run(cursor, dialect, timer_rows.TIMER, {"timer_id": timer_id}).fetchone()
    return None if row is None else TimerRow(*row[:_WIDTH])


def _locked_life(unit: UnitOfWork, thread_id: str) -> Lifecycle | None:
    """A thread's life, which nobody changes until the end; None if no command ever named it."""
    row = unit.run(_LOCK, {"stream_id": thread_queue.stream_id(thread_id)}).fetchone()
    return None if row is None else known_life(unit, thread_id, row[0])


def _state(unit: UnitOfWork, head: Head) -> State:
    """The state that a head row holds; from the events, if it is of another form, or damaged."""
    if head.is_new:
        return State()
    return state_of(
        head, STATE_FORM, State.from_scalars, lambda: timer.fold(unit.events(head.stream_id))
    )


def _row(unit: UnitOfWork, timer_id: str) -> Sequence[object] | None:
    try:
        row: Sequence[object] | None
        row = unit.run(timer_rows.TIMER, {"timer_id": timer_id}).fetchone()
    except sqlite3.OperationalError as error:
        if "UTF-8" not in str(error):
            raise
        raise Unreadable(f"the row of timer {timer_id}", f"damaged: {error}") from error
    return row


def _with_row(
    unit: UnitOfWork, head: Head, state: State, around: Surroundings, row: Sequence[object]
) -> tuple[State, Surroundings]:
    stored = TimerRow(*row[:_WIDTH])  # type: ignore[arg-type]
    back = stored.unarchived_at
    return state._replace(said=_said(unit, head, stored)), around._replace(
        has_work=bool(row[_WIDTH]),
        holds_message=bool(row[_WIDTH + 1]),
        unarchived_at=None if back is None else from_microseconds(back),
    )


def _said(unit: UnitOfWork, head: Head, row: TimerRow) -> Content:
    """What a timer says; from its events, if the row is damaged."""
    try:
        return said_in(row)
    except (ValueError, TypeError):
        return timer.fold(unit.events(head.stream_id)).said
