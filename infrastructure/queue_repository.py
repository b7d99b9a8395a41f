"""Thread queues in the database: the state that a command is decided on, and back.

The head row gives the scalars; what the command needs of single turns comes from the read models
of the same transaction.
"""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from pydantic_core import to_json
from sqlalchemy import bindparam, select

from turnledger.domain import thread_queue
from turnledger.domain.duration import to_microseconds
from turnledger.domain.errors import Unreadable
from turnledger.domain.event import Event
from turnledger.domain.limits import Context
from turnledger.domain.thread_queue import STATE_FORM, State, Turn
from turnledger.domain.thread_queue.commands import QueueCommand
from turnledger.domain.value import value
from turnledger.infrastructure.glance import Glance
from turnledger.infrastructure.head_state import state_of
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.queue_reader import (
    FIRST,
    HEAD_AND_FIRST,
    QUEUED_TURN,
    READERS,
    VISIBLE,
    WIDTH,
    first_turn,
)
from turnledger.infrastructure.queue_rows import TurnRow
from turnledger.infrastructure.rows import (
    HEAD_WIDTH,
    NOTHING_READY,
    Head,
    HeadChange,
    QueueColumns,
)
from turnledger.infrastructure.schema import streams
from turnledger.infrastructure.statement import EVERYTHING, Cursor, Row, run, statement
from turnledger.infrastructure.thread_life import enter, known_life
from turnledger.infrastructure.unit_of_work import UnitOfWork

_QUEUE_PREFIX = thread_queue.stream_id("")
_NO_TURNS: dict[str, Turn] = {}

UPDATE_LIFE = statement(
    streams.update()
    .where(streams.c.stream_id == bindparam("stream"))
    .values(
        lifecycle=bindparam("lifecycle"),
        ready_at=bindparam("ready_at"),
        not_before=bindparam("not_before"),
    )
)
MEND_FLIGHT = statement(
    streams.update()
    .where(streams.c.stream_id == bindparam("stream"))
    .values({name: bindparam(name) for name in QueueColumns._fields[2:]})
)
LOCK = statement(
    select(streams.c.version).where(streams.c.stream_id == bindparam("stream_id")).with_for_update()
)


@value
class _Look(QueueCommand):
    """What is read for a question is read like what a command is decided on."""

    NAME = "look"
    READS = "head"


class Loaded(NamedTuple):
    """What was read for a command.

    Attributes:
        head: The stream's head row.
        state: What the command is decided on.
        context: By what the command is judged.
        work: The attempts of the first visible turn and its submission's event, if they were read.
    """

    head: Head
    state: State
    context: Context
    work: Row = ()


def load(unit: UnitOfWork, command: QueueCommand) -> Loaded:
    """Read what a command is decided on.

    Raises:
        Unreadable: The row of a turn that it needs is damaged.
    """
    thread_id = command.thread_id
    stream_id = _QUEUE_PREFIX + thread_id
    try:
        row, turns, used = READERS[command.READS](unit, stream_id, command)
    except (TypeError, ValueError, OverflowError, sqlite3.OperationalError) as error:
        if isinstance(error, sqlite3.OperationalError) and "UTF-8" not in str(error):
            raise
        what = f"a queued turn of thread {thread_id}"
        raise Unreadable(what, f"damaged: {error}") from error
    head = unit.as_head(stream_id, row)
    state = _state(unit, row, head, turns, used)
    flying = None if state.in_flight is None else state.in_flight.queued_turn_id
    if flying != head.in_flight_id and not isinstance(unit, Glance):
        _mend_flight(unit, head, state)
        return load(unit, command)
    return Loaded(head, state, unit.context(head), () if row is None else row[FIRST:])


def _mend_flight(unit: UnitOfWork, head: Head, state: State) -> None:
    """Write anew what a damaged head row says of the flight: the first turn is found by it."""
    columns = queue_columns(state, state, head.in_flight_at or head.recorded_at, 0)
    unit.run(MEND_FLIGHT, {**columns._asdict(), "stream": head.stream_id})


def load_head(unit: UnitOfWork, thread_id: str) -> Loaded:
    """Read a queue with its head, for a question: nothing is wished.

    Raises:
        Unreadable: The row of the head is damaged.
    """
    return load(unit, _Look(thread_id=thread_id))


def save(
    unit: UnitOfWork,
    loaded: Loaded,
    events: Sequence[Event],
    command: QueueCommand,
    origin: Origin,
) -> None:
    """Save the events that a command led to."""
    before, head = loaded.state, loaded.head
    state = thread_queue.fold(events, before)
    queue, same_flight = None, False
    if not (command.KEEPS_HEAD and before.visible):
        queue = queue_columns(state, before, head.in_flight_at, unit.recorded_at(head))
        same_flight = _same_flight(before, state)
    text = to_json(state.scalars()).decode()
    life = state.lifecycle
    change = HeadChange(head, state.epoch, STATE_FORM, text, queue, life, same_flight)
    unit.save(change, events, command, origin, loaded.context)


def queue_columns(
    state: State, before: State, in_flight_at: int | None, recorded_at: int
) -> QueueColumns:
    """What a head row says to readers.

    Args:
        state: The queue as it is now.
        before: As it was before the event.
        in_flight_at: What stood in the row before.
        recorded_at: The time of the event.
    """
    flying = state.in_flight
    if flying is None:
        ready_at, not_before = ready_columns(state)
        return NOTHING_READY if ready_at is None else QueueColumns(ready_at, not_before)
    return QueueColumns(
        None,
        None,
        flying.queued_turn_id,
        flying.dispatch_id,
        flying.owner,
        to_microseconds(flying.expires_at),
        in_flight_at if flying is before.in_flight else recorded_at,
    )


def ready_columns(state: State) -> tuple[int | None, int | None]:
    """When the turn was appended that a claim would give out, and its not_before."""
    turn = state.next_turn()
    if turn is None:
        return None, None
    not_before = None if turn.not_before is None else to_microseconds(turn.not_before)
    return to_microseconds(turn.created_at), not_before


def lock(unit: UnitOfWork, thread_id: str) -> bool:
    """Keep other commands off a thread's queue until the end of the unit, if there is a queue."""
    return unit.run(LOCK, {"stream_id": _QUEUE_PREFIX + thread_id}).fetchone() is not None


def set_life(unit: UnitOfWork, thread_id: str, life: thread_queue.Lifecycle, *, new: bool) -> None:
    """Write into the queue's head row what its thread's life is, and whether it gives out claims.

    Args:
        unit: In which the queue is locked.
        thread_id: The thread.
        life: What it is from now on.
        new: There was no queue to lock.

    Raises:
        Conflict: One came to be in the meantime.
    """
    stream_id = _QUEUE_PREFIX + thread_id
    if new:
        enter(unit, thread_id, life)
        return
    row = unit.run(HEAD_AND_FIRST, {"stream_id": stream_id, "thread_id": thread_id}).fetchone()
    head = unit.as_head(stream_id, row)
    state = _state(unit, row, head, _NO_TURNS, frozenset()).but(lifecycle=life)
    try:
        state = state.but(turns=first_turn(row[WIDTH:FIRST]))
    except (TypeError, ValueError, OverflowError):  # a damaged head is given to nobody
        state = state.but(turns=_NO_TURNS)
    ready_at, not_before = ready_columns(state)
    given = {"stream": stream_id, "lifecycle": life, "ready_at": ready_at}
    unit.run(UPDATE_LIFE, {**given, "not_before": not_before})


def visible_rows(
    cursor: Cursor, dialect: str, thread_id: str, *, after: int = -1, limit: int = EVERYTHING
) -> list[TurnRow]:
    """The rows of a thread's visible queue behind an order."""
    given = {"thread_id": thread_id, "stream_id": _QUEUE_PREFIX + thread_id}
    rows = run(cursor, dialect, VISIBLE, {**given, "after": after, "limit": limit})
    return [TurnRow(*row) for row in rows]


def turn_row(cursor: Cursor, dialect: str, thread_id: str, queued_turn_id: str) -> TurnRow | None:
    """The row of a queued turn, wherever it stands; None if it never was."""
    given = {"thread_id": thread_id, "stream_id": _QUEUE_PREFIX + thread_id}
    given["queued_turn_id"] = queued_turn_id
    row = run(cursor, dialect, QUEUED_TURN, given).fetchone()
    return None if row is None else TurnRow(*row)


def _same_flight(before: State, after: State) -> bool:
    """Whether the same claim is in flight, so that no column changes by which rows are found."""
    old, new = before.in_flight, after.in_flight
    return old is not None and new is not None and old.epoch == new.epoch


def _state(
    unit: UnitOfWork, row: Row | None, head: Head, turns: dict[str, Turn], used: frozenset[str]
) -> State:
    """The state that a head row holds; from the events, if it is of another form, or damaged."""
    if row is None:
        return State(turns=turns, dispatch_ids=used)
    state = state_of(
        head,
        STATE_FORM,
        lambda scalars, epoch: State.from_scalars(scalars, epoch, turns, used),
        lambda: _from_events(unit, head.stream_id).but(turns=turns, dispatch_ids=used),
    )
    if row[HEAD_WIDTH] == "active":
        return state
    thread_id = head.stream_id.removeprefix(_QUEUE_PREFIX)
    return state.but(lifecycle=known_life(unit, thread_id, row[HEAD_WIDTH]))


def _from_events(unit: UnitOfWork, stream_id: str) -> State:
    state = State()
    for event in unit.events(stream_id):
        state = thread_queue.pruned(thread_queue.evolve(state, event))
    return state
