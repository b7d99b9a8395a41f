"""The queries on the coordinator's read models, and what their rows are read as."""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import bindparam, or_, select, union

from turnledger.domain import coordinator_turn
from turnledger.domain.coordinator_turn import RecoverableTurn
from turnledger.domain.duration import from_microseconds
from turnledger.infrastructure.queue_rows import UNKNOWN_TIME
from turnledger.infrastructure.schema import events, streams
from turnledger.infrastructure.statement import statement
from turnledger.projections.attachments import attachments
from turnledger.projections.coordinator_mailbox import (
    CLAIMED,
    PLACE,
    UNSETTLED,
    coordinator_mailbox,
)
from turnledger.projections.in_flight_provider_turns import (
    DISPATCHING,
    in_flight_provider_turns,
)

_m, _p, _e = coordinator_mailbox.c, in_flight_provider_turns.c, events.c

_LIMIT: Any = bindparam("limit")


def _over(lease: Any) -> Any:
    """A lease that is over, or ends further ahead than any lease may."""
    return or_(lease <= bindparam("now"), lease > bindparam("latest"))


_FREE = or_(~CLAIMED, _over(_m.lease_expires_at))
_DUE = or_(_m.not_before.is_(None), _m.not_before <= bindparam("now"))
_READY = select(_m.turn_id, _m.turn_order, _m.created_at).where(UNSETTLED, _FREE, _DUE)

READY_OF_WORK_ITEM = statement(
    _READY.where(_m.work_item_id == bindparam("work_item_id"), _m.turn_order > bindparam("order"))
    .order_by(_m.turn_order)
    .limit(_LIMIT)
)
READY = statement(
    _READY.where(
        _m.created_at >= bindparam("created_at"),
        or_(_m.created_at > bindparam("created_at"), _m.turn_id > bindparam("turn_id")),
    )
    .order_by(*PLACE)
    .limit(_LIMIT)
)
KEEP = statement(
    select(streams.c.version)
    .where(streams.c.stream_id == bindparam("stream_id"))
    .with_for_update(skip_locked=True)
)
RECOVERABLE = statement(
    select(*coordinator_mailbox.columns)
    .where(UNSETTLED, _FREE, _DUE)
    .order_by(*PLACE)
    .limit(_LIMIT)
)

_unanswered = select(_p.coordinator_turn_id.label("turn_id")).where(
    DISPATCHING,
    or_(_p.lease_expires_at.is_(None), _over(_p.lease_expires_at)),
    _p.coordinator_turn_id > bindparam("after"),
)
_expired = select(_m.turn_id).where(
    CLAIMED, _over(_m.lease_expires_at), _m.turn_id > bindparam("after")
)
_stale = union(_unanswered, _expired).subquery("stale")
STALE = statement(select(_stale.c.turn_id).order_by(_stale.c.turn_id).limit(_LIMIT))

TURN = statement(select(*coordinator_mailbox.columns).where(_m.turn_id == bindparam("turn_id")))
_STATUS = bindparam("status", type_=_m.status.type)
_wished = or_(_STATUS.is_(None), _m.status == _STATUS)
_LISTED = select(*coordinator_mailbox.columns).where(_wished)
LIST = statement(
    _LISTED.where(_m.work_item_id == bindparam("work_item_id")).order_by(_m.turn_order)
)
LIST_ALL = statement(_LISTED.order_by(_m.work_item_id, _m.turn_order))
MESSAGE = statement(
    select(_e.data).where(_e.stream_id == bindparam("stream_id"), _e.version == bindparam("first"))
)
REFERRED = statement(
    select(attachments.c.turn_id).where(attachments.c.sha256 == bindparam("sha256")).limit(_LIMIT)
)
ATTACHED = statement(
    select(_e.data).where(_e.type == bindparam("type"), _e.data.like(bindparam("pattern")))
)


class MailboxRow(NamedTuple):
    """A turn's row as stored."""

    turn_id: str
    work_item_id: str
    turn_order: int
    status: Any
    kind: str
    target: str
    outcome: Any
    owner: str | None
    epoch: int
    lease_expires_at: int | None
    not_before: int | None
    attempt: int
    attempt_status: Any
    created_at: int
    updated_at: int
    version: int


def as_recoverable(row: MailboxRow) -> RecoverableTurn:
    """A row as those see it who look for work."""
    return RecoverableTurn(
        turn_id=row.turn_id,
        work_item_id=row.work_item_id,
        status=row.status,
        attempt=row.attempt or None,
        attempt_status=row.attempt_status,
        created_at=time_or_unknown(row.created_at),
    )


def time_or_unknown(stored: int) -> datetime:
    """A stored time; 1970, if it is damaged."""
    try:
        return from_microseconds(stored)
    except (TypeError, OverflowError):
        return UNKNOWN_TIME


def stream_of(turn_id: str) -> str:
    """The stream of a turn."""
    return coordinator_turn.stream_id(turn_id)
