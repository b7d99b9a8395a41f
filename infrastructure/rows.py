"""The rows of the ledger's own tables: their statements, and what they are read as."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from eventsourcing.persistence import Notification
from sqlalchemy import Table, bindparam, func, insert, select, update

from turnledger.domain import inbox, thread, timer
from turnledger.infrastructure.mapper import NO_HASH, LedgerEvent
from turnledger.infrastructure.schema import events, streams, tracking
from turnledger.infrastructure.statement import Row, ServerTime, Statement, statement


class Head(NamedTuple):
    """What a command reads of its stream's head row.

    Attributes:
        version: Of the stream's last event; 0 if there is none.
        form: The version of the state's form.
        state: JSON text.
        recorded_at: Of the last event, in microseconds.
        hash: Of the last event.
        in_flight_at: See `QueueColumns`; likewise in_flight_id.
        is_new: There is no row yet.
    """

    stream_id: str
    version: int = 0
    epoch: int = 0
    form: int = 0
    state: str = "{}"
    recorded_at: int = 0
    hash: bytes = NO_HASH
    in_flight_at: int | None = None
    in_flight_id: str | None = None
    is_new: bool = True


class StoredState(NamedTuple):
    """What a head row holds of its aggregate: the epoch, and the rest as JSON text in a form."""

    epoch: int
    form: int
    state: str


class QueueColumns(NamedTuple):
    """What the head row of a thread's queue says to readers; times in microseconds.

    Attributes:
        ready_at: When the turn was appended that a claim would give out; None if none would.
        not_before: From when on it would.
        in_flight_id: The turn in flight; likewise its dispatch_id, its owner, and expires_at.
        in_flight_at: When the last event of the flight was recorded.
    """

    ready_at: int | None = None
    not_before: int | None = None
    in_flight_id: str | None = None
    dispatch_id: str | None = None
    owner: str | None = None
    expires_at: int | None = None
    in_flight_at: int | None = None


NOTHING_READY = QueueColumns()
_AWAKENING = (f"{inbox.CATEGORY}:", f"{thread.CATEGORY}:", f"{timer.CATEGORY}:")


class HeadChange(NamedTuple):
    """What becomes of a head row; its version, time and hash are those of the last event.

    Attributes:
        queue: What changes for readers; None if nothing does.
        lifecycle: Of the thread, as the command was decided on it.
        same_flight: No more changes for readers than the flight's dispatch and end.
    """

    before: Head
    epoch: int
    form: int
    state: str
    queue: QueueColumns | None = None
    lifecycle: str = "active"
    same_flight: bool = False

    @property
    def may_be_work(self) -> bool:
        """Whether a worker who sleeps should look: a thread is ready, or something has come."""
        if self.queue is not None:
            return self.queue.ready_at is not None
        return self.before.stream_id.startswith(_AWAKENING)


_e, _s, _t = events.c, streams.c, tracking.c

HEAD = (
    *(_s.version, _s.epoch, _s.form, _s.state, _s.recorded_at, _s.hash),
    *(_s.in_flight_at, _s.in_flight_id),
)
HEAD_WIDTH = len(HEAD)
WHOLE_HEAD = (*HEAD, _s.lifecycle, ServerTime())  # as `select`ed: the row, and what time it is


def _inserted(table: Table, *left_out: str) -> Any:
    names = [column.name for column in table.columns if column.name not in left_out]
    return insert(table).values({name: bindparam(name) for name in names})


def _updated(*more: str) -> Any:
    names = ("version", "epoch", "form", "state", "recorded_at", "hash", *more)
    at_version = (
        _s.stream_id == bindparam("stream"),
        _s.version == bindparam("expected"),
        _s.lifecycle == bindparam("lifecycle"),
    )
    changed: list[Any] = [(_s[name], bindparam(name)) for name in names]
    return update(streams).where(*at_version).ordered_values(*changed)


INSERT_EVENT = statement(_inserted(events, "position"))
INSERT_HEAD = statement(_inserted(streams))
UPDATE_HEAD = statement(_updated())
UPDATE_FLIGHT = statement(_updated("dispatch_id", "expires_at", "in_flight_at"))
UPDATE_QUEUE = statement(_updated(*QueueColumns._fields))
SELECT_HASH = statement(
    select(_e.hash)
    .where(_e.stream_id == bindparam("stream_id"))
    .order_by(_e.version.desc())
    .limit(1)
)


def head_write(
    change: HeadChange, version: int, recorded_at: int, chained: bytes
) -> tuple[Statement, Row]:
    """The statement that writes a head row as it is to be, and its arguments in order."""
    before, epoch, form, state, queue, lifecycle, same_flight = change
    new = (version, epoch, form, state, recorded_at)
    blob = bytearray(chained)
    if before.is_new:
        return INSERT_HEAD, (before.stream_id, *new, lifecycle, *(queue or NOTHING_READY), blob)
    key = (before.stream_id, before.version, lifecycle)
    if queue is None:
        return UPDATE_HEAD, (*new, blob, *key)
    if same_flight:
        flight = (queue.dispatch_id, queue.expires_at, queue.in_flight_at)
        return UPDATE_FLIGHT, (*new, blob, *flight, *key)
    return UPDATE_QUEUE, (*new, blob, *queue, *key)


POSITION = statement(
    select(_e.position).where(
        _e.stream_id == bindparam("stream_id"), _e.version == bindparam("version")
    )
)


def behind(*where: Any) -> Any:
    """The query for the events behind a position, some of them at a time."""
    known = select(events).where(_e.position > bindparam("after"), *where)
    return known.order_by(_e.position).limit(bindparam("limit"))


BEHIND = statement(behind())
UNNUMBERED = statement(  # those of the last moments, on PostgreSQL
    select(events).where(_e.position.is_(None)).order_by(_e.recorded_at, _e.stream_id, _e.version)
)
MAX_POSITION = statement(select(func.max(_e.position)))
MAX_TRACKING = statement(
    select(func.max(_t.notification_id)).where(_t.application_name == bindparam("name"))
)
TRACK = statement(_inserted(tracking))
TRACK_FURTHER = statement(
    update(tracking)
    .where(_t.application_name == bindparam("name"), _t.notification_id < bindparam("further"))
    .values(notification_id=bindparam("further"))
)


@dataclass(frozen=True, init=False)
class LedgerNotification(LedgerEvent, Notification):
    """A stored event with its position, as `Notification.id`."""


def as_notification(row: Row) -> LedgerNotification:
    """A whole row of the events table, in the order of its columns."""
    position, stream_id, version, topic, schema_version, data, metadata, recorded_at, _ = row
    return LedgerNotification(
        id=position,
        originator_id=_text(stream_id),
        originator_version=version,
        topic=_text(topic),
        state=_bytes(data),
        schema_version=schema_version,
        metadata=_bytes(metadata),
        recorded_at=recorded_at,
        draft=None,
    )


def _text(stored: object) -> str:
    """Stored text, also where damage left bytes that are none, or no text at all."""
    return stored if isinstance(stored, str) else _bytes(stored).decode(errors="surrogateescape")


def _bytes(stored: object) -> bytes:
    """The stored bytes, also of a column that damage has turned into another type."""
    if isinstance(stored, bytes):
        return stored
    return str(stored).encode(errors="surrogateescape")
