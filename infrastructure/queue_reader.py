"""What is read for a command on a thread's queue.

The head row, single turns, and the dispatch ids that were used. As few statements as there can
be: each costs 10 µs, or a journey to the server.
"""

from collections.abc import Callable
from typing import Any

from sqlalchemy import bindparam, select

from turnledger.domain.thread_queue import Turn
from turnledger.infrastructure import queue_rows
from turnledger.infrastructure.queue_rows import TurnRow
from turnledger.infrastructure.rows import WHOLE_HEAD
from turnledger.infrastructure.schema import streams
from turnledger.infrastructure.statement import EVERYTHING, Row, statement
from turnledger.infrastructure.unit_of_work import UnitOfWork

Read = tuple[Row | None, dict[str, Turn], frozenset[str]]

WIDTH = len(WHOLE_HEAD)
FIRST = WIDTH + len(queue_rows.FIRST)

_NO_TURNS: dict[str, Turn] = {}
_UNUSED: frozenset[str] = frozenset()

_HEAD = select(*WHOLE_HEAD).where(streams.c.stream_id == bindparam("stream_id"))
_WITH_FIRST = _HEAD.add_columns(*queue_rows.FIRST).select_from(queue_rows.WITH_FIRST)

HEAD_ALONE = statement(_HEAD)
HEAD_AND_FIRST = statement(_WITH_FIRST)
HEAD_AND_WORK = statement(
    _HEAD.add_columns(*queue_rows.FIRST, *queue_rows.SUBMISSION).select_from(
        queue_rows.WITH_SUBMISSION
    )
)
HEAD_AND_DISPATCH = statement(_HEAD.add_columns(queue_rows.DISPATCH.exists()))
QUEUED_TURN = statement(queue_rows.QUEUED_TURN)
VISIBLE = statement(queue_rows.VISIBLE)
DISPATCH = statement(queue_rows.DISPATCH)


def _alone(unit: UnitOfWork, stream_id: str, _command: Any) -> Read:
    return unit.run(HEAD_ALONE, {"stream_id": stream_id}).fetchone(), _NO_TURNS, _UNUSED


def _with_first(unit: UnitOfWork, stream_id: str, command: Any) -> Read:
    given = {"stream_id": stream_id, "thread_id": command.thread_id}
    row = unit.run(HEAD_AND_FIRST, given).fetchone()
    return row, first_turn(row[WIDTH:]) if row is not None else _NO_TURNS, _UNUSED


def _with_work(unit: UnitOfWork, stream_id: str, command: Any) -> Read:
    given = {"stream_id": stream_id, "thread_id": command.thread_id}
    row = unit.run(HEAD_AND_WORK, given).fetchone()
    return row, first_turn(row[WIDTH:FIRST]) if row is not None else _NO_TURNS, _UNUSED


def _with_dispatch(unit: UnitOfWork, stream_id: str, command: Any) -> Read:
    given = {"stream_id": stream_id, "thread_id": command.thread_id}
    row = unit.run(HEAD_AND_DISPATCH, {**given, "dispatch_id": command.dispatch_id}).fetchone()
    used = row is not None and row[-1]
    return row, _NO_TURNS, frozenset((command.dispatch_id,)) if used else _UNUSED


def _with_turn(unit: UnitOfWork, stream_id: str, command: Any) -> Read:
    """The turn that the command names, and the first two: one of them is the head after it."""
    row, _, used = _alone(unit, stream_id, command)
    given = {"thread_id": command.thread_id, "stream_id": stream_id}
    found = unit.run(VISIBLE, {**given, "after": -1, "limit": 2}).fetchall()
    named = {**given, "queued_turn_id": command.queued_turn_id}
    found += unit.run(QUEUED_TURN, named).fetchall()
    return row, {one[1]: queue_rows.as_turn(TurnRow(*one)) for one in found}, used


def _with_visible(unit: UnitOfWork, stream_id: str, command: Any) -> Read:
    row, _, used = _alone(unit, stream_id, command)
    given = {"thread_id": command.thread_id, "stream_id": stream_id}
    found = unit.run(VISIBLE, {**given, "after": -1, "limit": EVERYTHING}).fetchall()
    return row, {one[1]: _place(TurnRow(*one)) for one in found}, used


READERS: dict[str, Callable[[UnitOfWork, str, Any], Read]] = {
    "nothing": _alone,
    "head": _with_first,
    "work": _with_work,
    "dispatch": _with_dispatch,
    "turn": _with_turn,
    "visible": _with_visible,
}


def first_turn(columns: Row) -> dict[str, Turn]:
    """The turn in the columns of the first one, if there is one."""
    return _NO_TURNS if columns[0] is None else {columns[0]: queue_rows.as_first(columns)}


def _place(row: TurnRow) -> Turn:
    """A visible turn as clearing and reordering need it: also one whose times are damaged."""
    try:
        return queue_rows.as_turn(row)
    except (TypeError, ValueError, OverflowError):
        return Turn(row.queued_turn_id, row.queue_order, queue_rows.UNKNOWN_TIME)
