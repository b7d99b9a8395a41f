"""The queries on the inbox's read model, and what their rows are read as."""

from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, literal_column, or_, select

from turnledger.domain.duration import from_microseconds
from turnledger.domain.inbox import Inbox, InboxMessage, Message
from turnledger.domain.payload import decode
from turnledger.infrastructure.queue_rows import UNKNOWN_TIME, as_evidence
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import Cursor, run, statement
from turnledger.projections.inbox_messages import (
    IN_FLIGHT,
    PLACE,
    UNDELIVERED,
    WAITING,
    inbox_messages,
)

_m, _e = inbox_messages.c, events.c
_STREAM: Any = bindparam("stream_id")
_READABLE = _e.schema_version == literal_column(str(Inbox.Posted.SCHEMA_VERSION))

_WITH_CONTENT = (
    select(*inbox_messages.columns, _e.data)
    .select_from(
        inbox_messages.outerjoin(
            events, and_(_e.stream_id == _STREAM, _e.version == _m.posted_version, _READABLE)
        )
    )
    .where(_m.thread_id == bindparam("thread_id"))
)
_MESSAGE = statement(_WITH_CONTENT.where(_m.message_id == bindparam("message_id")))
_OLDEST = statement(_WITH_CONTENT.where(WAITING).order_by(*PLACE).limit(literal_column("1")))
_WAITING = statement(_WITH_CONTENT.where(WAITING).order_by(*PLACE))
_UNDELIVERED = statement(_WITH_CONTENT.where(UNDELIVERED).order_by(*PLACE))
_PLACE_OF = statement(
    select(_m.thread_id, _m.posted_version).where(_m.message_id == bindparam("message_id"))
)
STALE = statement(
    select(_m.thread_id)
    .where(
        IN_FLIGHT,
        or_(_m.expires_at <= bindparam("now"), _m.expires_at > bindparam("latest")),
        _m.thread_id > bindparam("after"),
    )
    .order_by(_m.thread_id)
    .limit(bindparam("limit"))
)


class MessageRow(NamedTuple):
    """A message's row as stored, with the event of its posting."""

    thread_id: str
    message_id: str
    arrival: int
    posted_version: int
    queued_at: int
    source: str
    delivery: str
    state: Any
    reason: str | None
    claims: int
    deliveries: int
    owner: str | None
    epoch: int | None
    expires_at: int | None
    evidence: str
    created_at: int
    updated_at: int
    version: int
    data: str | None = None


class Posting(NamedTuple):
    """What only the event of a posting holds."""

    content: Any
    instructions: Any
    metadata: dict[str, Any]


class InboxRows:
    """The rows of one thread's inbox, as a transaction sees them."""

    def __init__(self, cursor: Cursor, dialect: str, thread_id: str, stream_id: str) -> None:
        """Take where to look."""
        self._cursor = cursor
        self._dialect = dialect
        self._given = {"thread_id": thread_id, "stream_id": stream_id}

    def message(self, message_id: str) -> MessageRow | None:
        """One message, wherever it stands; None if it never was."""
        return self._one(_MESSAGE, message_id=message_id)

    def oldest(self) -> MessageRow | None:
        """The oldest message that waits."""
        return self._one(_OLDEST)

    def waiting(self) -> list[MessageRow]:
        """The messages that wait, in order."""
        return self._all(_WAITING)

    def undelivered(self) -> list[MessageRow]:
        """Those that are kept as undelivered, in order."""
        return self._all(_UNDELIVERED)

    def _one(self, what: Any, **more: str) -> MessageRow | None:
        row = run(self._cursor, self._dialect, what, {**self._given, **more}).fetchone()
        return None if row is None else MessageRow(*row)

    def _all(self, what: Any) -> list[MessageRow]:
        found = run(self._cursor, self._dialect, what, self._given).fetchall()
        return [MessageRow(*row) for row in found]


def place_of(cursor: Cursor, dialect: str, message_id: str) -> tuple[str, int] | None:
    """In which thread a message is, and the version of its posting; None if it never was."""
    found: tuple[str, int] | None = run(
        cursor, dialect, _PLACE_OF, {"message_id": message_id}
    ).fetchone()
    return found


def as_message(row: MessageRow) -> Message:
    """A row as decisions see it."""
    return Message(
        row.message_id,
        row.arrival,
        from_microseconds(row.queued_at),
        row.delivery,
        row.state,
        row.claims,
        row.deliveries,
    )


def as_inbox_message(row: MessageRow) -> InboxMessage:
    """A row as the value that callers see."""
    posting = Posting(None, None, {})
    evidence: Any = ()
    times: list[Any] = [None] * 4
    unreadable: str | None = None
    try:
        stored_times = (row.queued_at, row.created_at, row.updated_at, row.expires_at)
        times = [None if one is None else from_microseconds(one) for one in stored_times]
        posting = posting_in(row)
        evidence = tuple(map(as_evidence, decode(row.evidence)))
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        unreadable = f"damaged: {error}"
    return InboxMessage(
        thread_id=row.thread_id,
        message_id=row.message_id,
        **posting._asdict(),
        source=row.source,
        delivery=row.delivery,
        queued_at=times[0] or UNKNOWN_TIME,
        arrival=row.arrival,
        state=row.state,
        created_at=times[1] or UNKNOWN_TIME,
        updated_at=times[2] or UNKNOWN_TIME,
        reason=row.reason,
        deliveries=row.deliveries,
        evidence=evidence,
        owner=row.owner,
        epoch=row.epoch,
        expires_at=times[3],
        unreadable=unreadable,
    )


def posting_in(row: MessageRow) -> Posting:
    """What the stored event says beside the row.

    Raises:
        ValueError: It isn't JSON.
        TypeError: It is of another form.
    """
    if row.data is None:
        msg = "the event with the content isn't there, or is of a newer release"
        raise TypeError(msg)
    fields = decode(row.data)
    if not isinstance(fields, dict) or fields.get("message_id") != row.message_id:
        msg = "the event isn't the posting of this message"
        raise TypeError(msg)
    metadata = fields.get("metadata")
    if "content" not in fields or not isinstance(metadata, dict):
        msg = "the event has no content"
        raise TypeError(msg)
    return Posting(fields["content"], fields.get("instructions"), metadata)
