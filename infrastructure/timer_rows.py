"""The queries on the timers' read model, and what their rows are read as."""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import bindparam, func, literal_column, select, union_all

from turnledger.domain import thread_queue
from turnledger.domain.duration import from_microseconds
from turnledger.domain.errors import InvalidTrigger
from turnledger.domain.payload import decode
from turnledger.domain.timer import Content, ScheduledTimer
from turnledger.domain.trigger import Trigger, as_trigger
from turnledger.infrastructure.queue_rows import UNKNOWN_TIME
from turnledger.infrastructure.schema import streams
from turnledger.infrastructure.statement import statement
from turnledger.projections.due_timers import IDLE, LIVE, PLANNED, ZONED, due_timers
from turnledger.projections.inbox_messages import IN_FLIGHT, UNDELIVERED, WAITING, inbox_messages
from turnledger.projections.queued_turns import LIVE as LIVE_TURN
from turnledger.projections.queued_turns import queued_turns

_t, _m = due_timers.c, inbox_messages.c
_NOW: Any = bindparam("now")
_LIMIT: Any = bindparam("limit")
_THREAD: Any = bindparam("thread_id")
_QUEUE: Any = literal_column(f"'{thread_queue.stream_id('')}'")

# The least recently run first. What is found is kept from others until the end of the unit, by
# the row of its thread; what others are just busy with is passed over.
_ORDER = (func.coalesce(_t.last_run_at, literal_column("-1")), _t.created_at, _t.timer_id)
_WITH_THREAD = due_timers.join(streams, streams.c.stream_id == _QUEUE.concat(_t.thread_id))
_FOUND = select(_t.thread_id, _t.timer_id).select_from(_WITH_THREAD)
_HAS_WORK = (
    select(literal_column("1"))
    .where(queued_turns.c.thread_id == _t.thread_id, LIVE_TURN)
    .correlate(due_timers)
    .exists()
)
_HOLDS_MESSAGE = (
    select(literal_column("1"))
    .where(_m.message_id == _t.message_id, WAITING | IN_FLIGHT | UNDELIVERED)
    .correlate(due_timers)
    .exists()
)


def _scan(*where: Any) -> Any:
    found = _FOUND.where(*where).order_by(*_ORDER).limit(_LIMIT)
    return statement(found.with_for_update(of=streams, skip_locked=True))


DUE = _scan(PLANNED, _t.next_run_at <= _NOW)
UNMARKED = _scan(PLANNED, _t.next_run_at <= _NOW, ~_t.due)
_IS_READY = (IDLE, ~_HAS_WORK, ~_HOLDS_MESSAGE)
IDLE_READY = _scan(*_IS_READY)
AHEAD = statement(
    select(
        select(func.min(_t.next_run_at)).where(PLANNED).scalar_subquery(),
        select(_t.timer_id).where(*_IS_READY).exists(),
    )
)
TIMER = statement(
    select(*due_timers.columns, _HAS_WORK, _HOLDS_MESSAGE).where(
        _t.timer_id == bindparam("timer_id")
    )
)
LIVE_TIMERS = statement(
    select(*due_timers.columns).where(_t.thread_id == _THREAD, LIVE).order_by(*_ORDER[1:])
)
COUNT = statement(select(func.count()).where(_t.thread_id == _THREAD, LIVE))


def _zoned(other: Any) -> Any:
    return select(_t.thread_id, _t.timer_id).where(ZONED, other).limit(_LIMIT)


_data: Any = bindparam("time_zone_data")
OTHER_ZONES = statement(
    union_all(
        select(_zoned(_t.time_zone_data < _data).subquery("older")),
        select(_zoned(_t.time_zone_data > _data).subquery("newer")),
    )
)


class TimerRow(NamedTuple):
    """A timer's row as stored."""

    timer_id: str
    thread_id: str
    next_run_at: int | None
    due: int
    last_run_at: int | None
    runs: int
    paused: int
    trigger: str
    delivery: str
    content: str
    instructions: str
    metadata: str
    source: str
    client_id: str | None
    created_at: int
    state: str
    error: str | None
    idle: int
    archived: int
    unarchived_at: int | None
    message_id: str | None
    time_zone_data: str
    version: int


def said_in(row: TimerRow) -> Content:
    """What a timer says when it fires.

    Raises:
        ValueError: It isn't JSON.
        TypeError: It is of another form.
    """
    metadata = decode(row.metadata)
    if not isinstance(metadata, dict):
        msg = "the metadata is no JSON object"
        raise TypeError(msg)
    content, instructions = decode(row.content), decode(row.instructions)
    return Content(content, instructions, metadata, row.source, row.client_id)


def as_scheduled_timer(row: TimerRow) -> ScheduledTimer:
    """A row as the value that callers see."""
    said = Content()
    times: list[datetime | None] = [None] * 3
    trigger: Trigger | None = None
    unreadable: str | None = None
    try:
        stored = (row.created_at, row.next_run_at, row.last_run_at)
        times = [_time(one) for one in stored]
        said = said_in(row)
        trigger = as_trigger(decode(row.trigger))
    except (ValueError, TypeError, OverflowError, InvalidTrigger) as error:
        unreadable = f"damaged: {error}"
    return ScheduledTimer(
        timer_id=row.timer_id,
        thread_id=row.thread_id,
        state=row.state,
        trigger=trigger,
        **said._asdict(),
        created_at=times[0] or UNKNOWN_TIME,
        next_run_at=times[1],
        due=bool(row.due),
        last_run_at=times[2],
        runs=row.runs,
        paused=bool(row.paused),
        delivery=row.delivery,
        error=row.error,
        unreadable=unreadable,
    )


def _time(stored: int | None) -> datetime | None:
    return None if stored is None else from_microseconds(stored)
