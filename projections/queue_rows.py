"""The queries on the queue's read models, and what their rows are read as."""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select, Table, bindparam, null, or_, select, union_all
from sqlalchemy.sql.elements import ColumnElement

from turnledger.domain.payload import decode
from turnledger.domain.thread_queue.values import Evidence, QueuedTurn
from turnledger.projections.dispatches import dispatches
from turnledger.projections.queued_turns import in_flight_turns, settled_turns, visible_queue
from turnledger.projections.schema import from_microseconds

_v, _f, _s = visible_queue.c, in_flight_turns.c, settled_turns.c
_THREAD: Any = bindparam("thread_id")
_ID: Any = bindparam("queued_turn_id")


UNKNOWN_TIME = from_microseconds(0)  # of a row whose times are damaged


class TurnRow(NamedTuple):
    """A row of one of the three tables, and the columns of a claim behind it, as stored."""

    thread_id: str
    queue_order: int
    queued_turn_id: str
    submission: str | None
    submission_version: int
    appended_version: int
    state: Any
    failure: str | None
    altered: int
    outcome_unknown: int
    dispatch_id: str | None
    evidence: str
    attempts: int
    claims: int
    not_before: int | None
    created_at: int
    updated_at: int
    version: int
    owner: str | None
    epoch: int | None
    expires_at: int | None


def _turn(table: Table, *where: ColumnElement[bool]) -> Select[Any]:
    columns = [table.c.get(name, null().label(name)) for name in TurnRow._fields]
    return select(*columns).where(*where)


HEAD_OF_QUEUE = _turn(visible_queue, _v.thread_id == _THREAD).order_by(_v.queue_order).limit(1)

QUEUED_TURN = union_all(
    _turn(visible_queue, _v.thread_id == _THREAD, _v.queued_turn_id == _ID),
    _turn(in_flight_turns, _f.thread_id == _THREAD, _f.queued_turn_id == _ID),
    _turn(settled_turns, _s.thread_id == _THREAD, _s.queued_turn_id == _ID),
)

VISIBLE = (
    _turn(
        visible_queue,
        _v.thread_id == _THREAD,
        _v.queue_order > bindparam("after"),
    )
    .order_by(_v.queue_order)
    .limit(bindparam("limit"))
)

DISPATCH = select(dispatches).where(
    dispatches.c.thread_id == _THREAD, dispatches.c.dispatch_id == bindparam("dispatch_id")
)

STALE = (
    select(_f.thread_id)
    .where(
        or_(
            _f.expires_at <= bindparam("now"),
            _f.expires_at > bindparam("latest"),
            _f.owner == bindparam("owner"),
        ),
        _f.thread_id > bindparam("after"),
    )
    .order_by(_f.thread_id)
    .limit(bindparam("limit"))
)


def as_queued_turn(
    stored: Any, submission: dict[str, Any] | None = None, unreadable: str | None = None
) -> QueuedTurn:
    """A row as the value that callers see.

    Args:
        stored: The columns of a `TurnRow`.
        submission: Of a settled turn, whose row doesn't hold it.
        unreadable: Why that submission can't be read.
    """
    row = TurnRow(*stored)
    failure: Any = None
    evidence: tuple[Evidence, ...] = ()
    times: list[datetime | None] = [None] * 4
    try:
        stored_times = (row.created_at, row.updated_at, row.not_before, row.expires_at)
        times = [_time(stored_time) for stored_time in stored_times]
        if row.submission is not None:
            submission = as_object(row.submission)
        failure = None if row.failure is None else decode(row.failure)
        evidence = tuple(map(_as_evidence, decode(row.evidence)))
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        unreadable = f"damaged: {error}"
    return QueuedTurn(
        thread_id=row.thread_id,
        queued_turn_id=row.queued_turn_id,
        queue_order=row.queue_order,
        submission=submission,
        state=row.state,
        created_at=times[0] or UNKNOWN_TIME,
        updated_at=times[1] or UNKNOWN_TIME,
        failure=failure,
        altered=bool(row.altered),
        outcome_unknown=bool(row.outcome_unknown),
        dispatch_id=row.dispatch_id,
        evidence=evidence,
        attempts=row.attempts,
        not_before=times[2],
        owner=row.owner,
        epoch=row.epoch,
        expires_at=times[3],
        unreadable=unreadable,
    )


def as_object(stored: str) -> dict[str, Any]:
    """A stored submission.

    Raises:
        ValueError: It isn't JSON.
        TypeError: It is no object.
    """
    value = decode(stored)
    if not isinstance(value, dict):
        msg = "the submission is no JSON object"
        raise TypeError(msg)
    return value


def _time(stored: int | None) -> datetime | None:
    return None if stored is None else from_microseconds(stored)


def _as_evidence(item: dict[str, Any]) -> Evidence:
    fields: dict[str, Any] = {**item, "recorded_at": from_microseconds(item["recorded_at"])}
    return Evidence(**fields)
