"""The queries on the queue's read models, and what their rows are read as."""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, literal_column, or_, select

from turnledger.domain.claim import Evidence
from turnledger.domain.duration import from_microseconds
from turnledger.domain.payload import decode
from turnledger.domain.thread_queue.events import ThreadQueue
from turnledger.domain.thread_queue.state import Turn, TurnState
from turnledger.domain.thread_queue.values import QueuedTurn
from turnledger.infrastructure.schema import events, streams
from turnledger.projections.dispatches import dispatches
from turnledger.projections.queued_turns import LIVE, live, queued_turns

_q, _s, _e = queued_turns.c, streams.c, events.c
_THREAD: Any = bindparam("thread_id")
_STREAM: Any = bindparam("stream_id")
_READABLE = _e.schema_version == literal_column(str(ThreadQueue.Appended.SCHEMA_VERSION))
_VISIBLE = LIVE & _q.queued_turn_id.is_distinct_from(_s.in_flight_id)

UNKNOWN_TIME = from_microseconds(0)  # of a row whose times are damaged


class TurnRow(NamedTuple):
    """A turn's row as stored, with its submission's event, and what is in flight in its thread."""

    thread_id: str
    queued_turn_id: str
    queue_order: int
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
    data: str | None
    in_flight_id: str | None
    in_flight_dispatch_id: str | None
    owner: str | None
    epoch: int | None
    expires_at: int | None
    in_flight_at: int | None

    @property
    def flies(self) -> bool:
        """Whether it is this turn that is in flight."""
        return self.in_flight_id == self.queued_turn_id


_FLYING = (_s.in_flight_id, _s.dispatch_id, _s.owner, _s.epoch, _s.expires_at, _s.in_flight_at)
_TURN = (
    select(*queued_turns.columns, _e.data, *_FLYING)
    .select_from(
        queued_turns.outerjoin(streams, _s.stream_id == _STREAM).outerjoin(
            events, and_(_e.stream_id == _STREAM, _e.version == _q.submission_version, _READABLE)
        )
    )
    .where(_q.thread_id == _THREAD)
)

QUEUED_TURN = _TURN.where(_q.queued_turn_id == bindparam("queued_turn_id"))

VISIBLE = (
    _TURN.where(_VISIBLE, _q.queue_order > bindparam("after"))
    .order_by(_q.queue_order)
    .limit(bindparam("limit"))
)

_other = queued_turns.alias("other")
_FIRST = (
    select(_other.c.queued_turn_id)
    .where(
        _other.c.thread_id == _THREAD,
        live(_other.c),
        _other.c.queued_turn_id.is_distinct_from(_s.in_flight_id),
    )
    .order_by(_other.c.queue_order)
    .limit(literal_column("1"))
    .correlate(streams)
    .scalar_subquery()
)
# A stream's head row with the first visible turn behind it; None in its place, if there is none.
WITH_FIRST = streams.outerjoin(
    queued_turns, and_(_q.thread_id == _THREAD, _q.queued_turn_id == _FIRST)
)
WITH_SUBMISSION = WITH_FIRST.outerjoin(
    events, and_(_e.stream_id == _s.stream_id, _e.version == _q.submission_version, _READABLE)
)
FIRST = (
    _q.queued_turn_id,
    _q.queue_order,
    _q.created_at,
    _q.state,
    _q.outcome_unknown,
    _q.not_before,
    _q.claims,
)
SUBMISSION = (_q.attempts, _e.data)

DISPATCH = select(dispatches).where(
    dispatches.c.thread_id == _THREAD, dispatches.c.dispatch_id == bindparam("dispatch_id")
)

STALE = (
    select(_s.stream_id)
    .where(
        _s.in_flight_id.is_not(None),
        or_(
            _s.expires_at <= bindparam("now"),
            _s.expires_at > bindparam("latest"),
            _s.owner == bindparam("owner"),
        ),
        _s.stream_id > bindparam("after"),
    )
    .order_by(_s.stream_id)
    .limit(bindparam("limit"))
)


def as_queued_turn(row: TurnRow) -> QueuedTurn:
    """A row as the value that callers see."""
    submission: dict[str, Any] | None = None
    failure: Any = None
    evidence: tuple[Evidence, ...] = ()
    times: list[datetime | None] = [None] * 4
    unreadable: str | None = None
    flies = row.flies
    try:
        updated_at = row.in_flight_at if flies else row.updated_at
        expires_at = row.expires_at if flies else None
        stored_times = (row.created_at, updated_at, row.not_before, expires_at)
        times = [_time(stored_time) for stored_time in stored_times]
        submission = submission_in(row.data, row.queued_turn_id)
        failure = None if row.failure is None else decode(row.failure)
        evidence = tuple(map(as_evidence, decode(row.evidence)))
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        unreadable = f"damaged: {error}"
    return QueuedTurn(
        thread_id=row.thread_id,
        queued_turn_id=row.queued_turn_id,
        queue_order=row.queue_order,
        submission=submission,
        state=_state(row),
        created_at=times[0] or UNKNOWN_TIME,
        updated_at=times[1] or UNKNOWN_TIME,
        failure=failure,
        altered=bool(row.altered),
        outcome_unknown=bool(row.outcome_unknown),
        dispatch_id=row.in_flight_dispatch_id if flies else row.dispatch_id,
        evidence=evidence,
        attempts=row.attempts,
        not_before=times[2],
        owner=row.owner if flies else None,
        epoch=row.epoch if flies else None,
        expires_at=times[3] if flies else None,
        unreadable=unreadable,
    )


def as_turn(row: TurnRow) -> Turn:
    """A row as decisions see it."""
    return Turn(
        row.queued_turn_id,
        row.queue_order,
        from_microseconds(row.created_at),
        _state(row),
        bool(row.outcome_unknown),
        _time(row.not_before),
        row.claims,
    )


def as_first(row: tuple[Any, ...]) -> Turn:
    """The columns `FIRST` as decisions see them."""
    turn_id, order, created_at, state, unknown, not_before, claims = row
    times = (from_microseconds(created_at), _time(not_before))
    return Turn(turn_id, order, times[0], state, bool(unknown), times[1], claims)


def submission_in(data: str | None, queued_turn_id: str) -> dict[str, Any]:
    """The submission in a stored event.

    Args:
        data: None if there is no event that this release can read.
        queued_turn_id: Whose it must be.

    Raises:
        ValueError: It isn't JSON.
        TypeError: It is no object.
    """
    if data is None:
        msg = "the event with the submission isn't there, or is of a newer release"
        raise TypeError(msg)
    fields = decode(data)
    mine = isinstance(fields, dict) and fields.get("queued_turn_id") == queued_turn_id
    submission = fields.get("submission") if mine else None
    if not isinstance(submission, dict):
        msg = "the submission is no JSON object"
        raise TypeError(msg)
    return submission


def _state(row: TurnRow) -> TurnState:
    if not row.flies:
        state: TurnState = row.state
        return state
    return "claimed" if row.in_flight_dispatch_id is None else "dispatching"


def _time(stored: int | None) -> datetime | None:
    return None if stored is None else from_microseconds(stored)


def as_evidence(item: dict[str, Any]) -> Evidence:
    """A stored piece of evidence as the value that callers see."""
    fields: dict[str, Any] = {**item, "recorded_at": from_microseconds(item["recorded_at"])}
    return Evidence(**fields)
