"""Thread queues in the database: the state that a command is decided on, and back.

The head row gives the scalars; what the command needs of single turns comes from the read models
of the same transaction.
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json
from sqlalchemy import bindparam, select, true

from turnledger.domain import thread, thread_queue
from turnledger.domain.errors import Unreadable
from turnledger.domain.event import Event
from turnledger.domain.limits import Context
from turnledger.domain.payload import decode
from turnledger.domain.thread_queue import SCALARS, STATE_FORM, State, Turn
from turnledger.domain.thread_queue.commands import QueueCommand
from turnledger.infrastructure.rows import Head
from turnledger.infrastructure.schema import streams
from turnledger.infrastructure.sqlite import DIALECT
from turnledger.infrastructure.unit_of_work import Origin, UnitOfWork
from turnledger.projections import queue_rows
from turnledger.projections.plan import compiled
from turnledger.projections.schema import from_microseconds, to_microseconds

Row = tuple[Any, ...]

_LIFE_PREFIX, _QUEUE_PREFIX = thread.stream_id(""), thread_queue.stream_id("")
_NO_ROWS: list[Row] = []
_NO_TURNS: dict[str, Turn] = {}
_HEAD_WIDTH = len(Head._fields)

NO_FORM = -1  # of a head row that can't be read
EVERYTHING = -1  # SQLite's word for no limit

_lives = streams.alias("lives")
_LIFE = select(_lives.c.state).where(_lives.c.stream_id == bindparam("life"))
_HEAD = select(streams, _LIFE.scalar_subquery().label("life")).where(
    streams.c.stream_id == bindparam("stream_id")
)
_first = queue_rows.HEAD_OF_QUEUE.subquery("first")
_used = queue_rows.DISPATCH.exists()

LIFE = compiled(_LIFE, DIALECT)
HEAD = compiled(_HEAD, DIALECT)
HEAD_AND_FIRST = compiled(
    _HEAD.add_columns(*_first.c).select_from(streams.outerjoin(_first, true())), DIALECT
)
HEAD_AND_DISPATCH = compiled(_HEAD.add_columns(_used), DIALECT)
UPDATE_READY = compiled(
    streams.update()
    .where(streams.c.stream_id == bindparam("stream"))
    .values(ready_at=bindparam("ready_at"), not_before=bindparam("not_before")),
    DIALECT,
)
QUEUED_TURN = compiled(queue_rows.QUEUED_TURN, DIALECT)
VISIBLE = compiled(queue_rows.VISIBLE, DIALECT)
DISPATCH = compiled(queue_rows.DISPATCH, DIALECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look(QueueCommand):
    """What is read for a question is read like what a command is decided on."""

    NAME = "look"
    READS = "head"


class Loaded(NamedTuple):
    """What was read for a command.

    Attributes:
        head: The stream's head row.
        state: What the command is decided on.
        rows: The read model's rows of the turns in it.
        context: By what the command is judged.
    """

    head: Head
    state: State
    rows: list[Row]
    context: Context


def load(unit: UnitOfWork, command: QueueCommand) -> Loaded:
    """Read what a command is decided on.

    Raises:
        Unreadable: The row of a turn that it needs is damaged.
    """
    try:
        row, rows, used = _READERS[command.READS](unit.cursor.execute, command)
        read = _place if command.READS == "visible" else _turn
        turns = {turn[2]: read(turn) for turn in rows} if rows else _NO_TURNS
    except (TypeError, ValueError, OverflowError, sqlite3.OperationalError) as error:
        if isinstance(error, sqlite3.OperationalError) and "UTF-8" not in str(error):
            raise
        what = f"a queued turn of thread {command.thread_id}"
        raise Unreadable(what, f"damaged: {error}") from error
    head, state = _known(unit, command.thread_id, row, turns)
    if used:
        state = state._replace(dispatch_ids=frozenset(used))
    return Loaded(head, state, rows, unit.context(head))


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
    ready = head[6:8] if command.KEEPS_HEAD and before.visible else ready_columns(state)
    text = to_json(state[:SCALARS]).decode()
    after = Head(head[0], 0, state.epoch, STATE_FORM, text, 0, *ready)
    unit.save(head, after, events, command, origin, loaded.context)


def refresh(unit: UnitOfWork, thread_id: str) -> None:
    """Write anew whether a thread gives out claims, after its lifecycle changed."""
    row, rows, _ = _with_first(unit.cursor.execute, _Look(thread_id=thread_id))
    head, state = _unusual(unit, thread_id, row)
    if head.version:
        try:
            state = state._replace(turns={turn[2]: _turn(turn) for turn in rows})
        except (TypeError, ValueError, OverflowError):  # a damaged head is given to nobody
            state = state._replace(turns=_NO_TURNS)
        unit.cursor.execute(UPDATE_READY.sql, (*ready_columns(state), head.stream_id))


def visible_rows(
    cursor: sqlite3.Cursor, thread_id: str, *, after: int = -1, limit: int = EVERYTHING
) -> list[Row]:
    """The rows of a thread's visible queue behind an order."""
    given = {"thread_id": thread_id, "after": after, "limit": limit}
    return cursor.execute(VISIBLE.sql, VISIBLE.arguments(given)).fetchall()


def turn_row(cursor: sqlite3.Cursor, thread_id: str, queued_turn_id: str) -> Row | None:
    """The row of a queued turn, wherever it stands; None if it never was."""
    given = {"thread_id": thread_id, "queued_turn_id": queued_turn_id}
    row: Row | None = cursor.execute(QUEUED_TURN.sql, QUEUED_TURN.arguments(given)).fetchone()
    return row


def ready_columns(state: State) -> tuple[int | None, int | None]:
    """When the turn was appended that a claim would give out, and its not_before."""
    turn = state.next_turn()
    if turn is None:
        return None, None
    not_before = None if turn.not_before is None else to_microseconds(turn.not_before)
    return to_microseconds(turn.created_at), not_before


def _known(
    unit: UnitOfWork, thread_id: str, row: Row | None, turns: dict[str, Turn]
) -> tuple[Head, State]:
    """The head row, and the state that it holds."""
    if row is not None and row[3] == STATE_FORM and row[_HEAD_WIDTH] is None:
        try:
            state = State.from_scalars(from_json(row[4]), row[2], turns)
            return Head(*row[:_HEAD_WIDTH]), state
        except (TypeError, ValueError):  # damaged: the events still know
            row = (*row[:3], NO_FORM, *row[4:])
    head, state = _unusual(unit, thread_id, row)
    return head, state._replace(turns=turns)


def _unusual(unit: UnitOfWork, thread_id: str, row: Row | None) -> tuple[Head, State]:
    """The head row and state of a new queue, of an archived thread's, or of another release's."""
    stream_id = _QUEUE_PREFIX + thread_id
    if row is None:
        found = unit.cursor.execute(LIFE.sql, (_LIFE_PREFIX + thread_id,)).fetchone()
        head, state, life = Head(stream_id), State(), found and found[0]
    else:
        head, life = Head(*row[:_HEAD_WIDTH]), row[_HEAD_WIDTH]
        try:
            known = from_json(head.state) if head.form == STATE_FORM else None
            state = State.from_scalars(known, head.epoch)  # type: ignore[arg-type]
        except (TypeError, ValueError):  # of another form, or damaged: the events still know
            state = _from_events(unit, stream_id)
    if life is not None:
        state = state._replace(lifecycle=lifecycle(unit, thread_id, life))
    return head, state


def lifecycle(unit: UnitOfWork, thread_id: str, stored: str) -> thread_queue.Lifecycle:
    """A thread's lifecycle, from its head row's state; from its events, if that is of no use."""
    try:
        return thread.State.from_stored(decode(stored)).lifecycle
    except (TypeError, ValueError):
        state = thread.State()
        for event in unit.events(thread.stream_id(thread_id)):
            state = thread.evolve(state, event)
        return state.lifecycle


def _from_events(unit: UnitOfWork, stream_id: str) -> State:
    state = State()
    for event in unit.events(stream_id):
        state = thread_queue.pruned(thread_queue.evolve(state, event))
    return state


# What is read for a command: the head row with the thread's life behind it, the rows of single
# turns, and the dispatch ids that were used. As few statements as there can be: each costs 10 µs.
Execute = Callable[[str, Row], sqlite3.Cursor]
Read = tuple[Row | None, list[Row], tuple[str, ...]]


def _alone(execute: Execute, command: Any) -> Read:
    key = (_LIFE_PREFIX + command.thread_id, _QUEUE_PREFIX + command.thread_id)
    return execute(HEAD.sql, key).fetchone(), _NO_ROWS, ()


def _with_first(execute: Execute, command: Any) -> Read:
    given = {"life": _LIFE_PREFIX + command.thread_id, "thread_id": command.thread_id}
    given["stream_id"] = _QUEUE_PREFIX + command.thread_id
    row = execute(HEAD_AND_FIRST.sql, HEAD_AND_FIRST.arguments(given)).fetchone()
    if row is None or row[_HEAD_WIDTH + 1] is None:
        return row, _NO_ROWS, ()
    return row, [row[_HEAD_WIDTH + 1 :]], ()


def _with_dispatch(execute: Execute, command: Any) -> Read:
    given = {"life": _LIFE_PREFIX + command.thread_id, "thread_id": command.thread_id}
    given |= {"stream_id": _QUEUE_PREFIX + command.thread_id, "dispatch_id": command.dispatch_id}
    row = execute(HEAD_AND_DISPATCH.sql, HEAD_AND_DISPATCH.arguments(given)).fetchone()
    return row, _NO_ROWS, (command.dispatch_id,) if row is not None and row[-1] else ()


def _with_turn(execute: Execute, command: Any) -> Read:
    row, _, used = _alone(execute, command)
    given = {"thread_id": command.thread_id, "queued_turn_id": command.queued_turn_id}
    named = execute(QUEUED_TURN.sql, QUEUED_TURN.arguments(given)).fetchall()
    given = {"thread_id": command.thread_id, "after": -1, "limit": 2}
    first_two = execute(VISIBLE.sql, VISIBLE.arguments(given)).fetchall()
    return row, first_two + named, used


def _with_visible(execute: Execute, command: Any) -> Read:
    row, _, used = _alone(execute, command)
    given = {"thread_id": command.thread_id, "after": -1, "limit": EVERYTHING}
    return row, execute(VISIBLE.sql, VISIBLE.arguments(given)).fetchall(), used


_READERS: dict[str, Callable[[Execute, Any], Read]] = {
    "nothing": _alone,
    "head": _with_first,
    "dispatch": _with_dispatch,
    "turn": _with_turn,
    "visible": _with_visible,
}


def _place(row: Row) -> Turn:
    """A visible turn as clearing and reordering need it: also one whose times are damaged."""
    try:
        return _turn(row)
    except (TypeError, ValueError, OverflowError):
        return Turn(row[2], row[1], queue_rows.UNKNOWN_TIME)


def _turn(row: Row) -> Turn:
    turn = queue_rows.TurnRow(*row)
    return Turn(
        turn.queued_turn_id,
        turn.queue_order,
        from_microseconds(turn.created_at),
        turn.state,
        bool(turn.outcome_unknown),
        None if turn.not_before is None else from_microseconds(turn.not_before),
        turn.claims,
    )
