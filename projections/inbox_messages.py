"""Where each message stands: one row for each, from its posting on, for ever.

The content is in the event whose version `posted_version` names, and nowhere else. Partial indexes
hold what waits, what is in flight and what is undelivered, each in the order of (queued_at,
arrival), so that the cost of a search doesn't grow with what is settled.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Index,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    bindparam,
    func,
    insert,
    null,
    update,
)
from sqlalchemy import literal_column as sql

from turnledger.domain.evidence import Evidence
from turnledger.domain.inbox.events import Inbox
from turnledger.projections.evidence import NONE, keeping
from turnledger.projections.schema import Reactions, Step, count, integer, metadata, text

inbox_messages = Table(
    "inbox_messages",
    metadata,
    text("thread_id"),
    text("message_id"),
    integer("arrival"),
    integer("posted_version"),
    integer("queued_at"),
    text("source"),
    text("delivery"),
    text("state"),
    text("reason", nullable=True),
    count("claims"),
    count("deliveries"),
    text("owner", nullable=True),
    integer("epoch", nullable=True),
    integer("expires_at", nullable=True),
    text("evidence"),
    integer("created_at"),
    integer("updated_at"),
    integer("version"),
    PrimaryKeyConstraint("thread_id", "message_id"),
    UniqueConstraint("message_id", name="inbox_messages_message_id"),
    sqlite_with_rowid=False,
)
_m = inbox_messages.c


def _in(state: str) -> Any:
    return _m.state == sql(f"'{state}'")


WAITING, IN_FLIGHT, UNDELIVERED = _in("pending"), _in("claimed"), _in("expired")
PLACE = (_m.queued_at, _m.arrival)


def _partial(name: str, where: Any, *columns: Any, unique: bool = False) -> None:
    Index(name, *columns, unique=unique, sqlite_where=where, postgresql_where=where)


_partial("inbox_messages_waiting", WAITING, _m.thread_id, *PLACE)
_partial("inbox_messages_in_flight", IN_FLIGHT, _m.thread_id, unique=True)
_partial("inbox_messages_undelivered", UNDELIVERED, _m.thread_id, *PLACE)

_THREAD: Any = bindparam("thread_id")
_THIS = (_m.thread_id == _THREAD, _m.message_id == bindparam("message_id"))
_STAMP: dict[str, Any] = {"updated_at": bindparam("recorded_at"), "version": bindparam("version")}
_HELD = ("owner", "epoch", "expires_at")
_FREE: dict[str, Any] = {name: null() for name in _HELD}


def _parameters(*names: str) -> dict[str, Any]:
    return {name: bindparam(name) for name in names}


def _becomes(state: str, **changes: Any) -> Step:
    """The message that the event names has another state now."""
    changed = {"state": sql(f"'{state}'"), **changes, **_STAMP}
    return Step(update(inbox_messages).where(*_THIS).values(**changed))


def _posted() -> Step:
    said, now = (bindparam(name, type_=BigInteger()) for name in ("queued_at", "created_at"))
    new: dict[str, Any] = {
        **_parameters("thread_id", "message_id", "arrival", "source", "delivery", "created_at"),
        "posted_version": bindparam("version"),
        "queued_at": func.coalesce(said, now),
        "state": sql("'pending'"),
        "reason": null(),
        "claims": sql("0"),
        "deliveries": sql("0"),
        **_FREE,
        "evidence": NONE,
        **_STAMP,
    }
    return Step(insert(inbox_messages).values(new))


def _cleared(where: Any) -> Step:
    ended = {"state": sql("'deleted'"), **_FREE, **_STAMP}
    return Step(update(inbox_messages).where(_m.thread_id == _THREAD, where).values(**ended))


_CLAIMED = _becomes("claimed", **_parameters(*_HELD, "claims", "deliveries"))
_RELEASED = _becomes("pending", deliveries=_m.deliveries - sql("1"), **_FREE)
_EXPIRED = _becomes("expired", **_parameters("reason", "deliveries"), **_FREE)

ON: Reactions = {
    Inbox.Posted: (_posted(),),
    Inbox.Claimed: (_CLAIMED,),
    Inbox.Confirmed: (_becomes("confirmed", **_FREE),),
    Inbox.Released: (_RELEASED,),
    Inbox.Recovered: (_becomes("pending", **_FREE),),
    Inbox.Expired: (_EXPIRED,),
    Inbox.Requeued: (_becomes("pending", reason=null(), claims=sql("0")),),
    Inbox.Deleted: (_becomes("deleted"),),
    Inbox.Rejected: (_becomes("rejected", **_parameters("reason")),),
    Inbox.Cleared: tuple(map(_cleared, (WAITING, IN_FLIGHT, UNDELIVERED))),
    Evidence.KeptOfMessage: (keeping(inbox_messages, *_THIS),),
}
