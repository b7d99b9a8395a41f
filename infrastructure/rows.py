"""The rows of the ledger's own tables: their statements, and what they are read as."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from eventsourcing.persistence import Notification
from sqlalchemy import Table, bindparam, func, insert, select, update

from turnledger.infrastructure.mapper import NO_HASH, LedgerEvent
from turnledger.infrastructure.schema import events, streams, tracking
from turnledger.infrastructure.sqlite import DIALECT
from turnledger.projections.plan import compiled


class Head(NamedTuple):
    """A stream's head row: what the next command decides on.

    Attributes:
        version: Of the stream's last event; 0 if there is none.
        form: The version of the state's form.
        state: JSON text.
        recorded_at: Of the last event, in microseconds.
        ready_at: See `schema`; of a thread's queue only. Likewise not_before.
        hash: Of the last event.
    """

    stream_id: str
    version: int = 0
    epoch: int = 0
    form: int = 0
    state: str = "{}"
    recorded_at: int = 0
    ready_at: int | None = None
    not_before: int | None = None
    hash: bytes = NO_HASH


_e, _s, _t = events.c, streams.c, tracking.c


def _inserted(table: Table, *left_out: str) -> Any:
    names = [column.name for column in table.columns if column.name not in left_out]
    return insert(table).values({name: bindparam(name) for name in names})


INSERT_EVENT = compiled(_inserted(events, "position"), DIALECT)
INSERT_HEAD = compiled(_inserted(streams), DIALECT)
UPDATE_HEAD = compiled(
    update(streams)
    .where(_s.stream_id == bindparam("stream"), _s.version == bindparam("expected"))
    .values({c.name: bindparam(c.name) for c in streams.columns if c.name != "stream_id"}),
    DIALECT,
)
SELECT_HASH = compiled(
    select(_e.hash)
    .where(_e.stream_id == bindparam("stream_id"))
    .order_by(_e.version.desc())
    .limit(1),
    DIALECT,
)
MAX_POSITION = compiled(select(func.max(_e.position)), DIALECT)
MAX_TRACKING = compiled(
    select(func.max(_t.notification_id)).where(_t.application_name == bindparam("name")), DIALECT
)
TRACK = compiled(_inserted(tracking), DIALECT)
TRACK_FURTHER = compiled(
    update(tracking)
    .where(_t.application_name == bindparam("name"), _t.notification_id < bindparam("further"))
    .values(notification_id=bindparam("further")),
    DIALECT,
)


@dataclass(frozen=True, init=False)
class LedgerNotification(LedgerEvent, Notification):
    """A stored event with its position, as `Notification.id`."""


Row = tuple[Any, ...]


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
        envelope=None,
    )


def _text(stored: object) -> str:
    """Stored text, also where damage left bytes that are none, or no text at all."""
    return stored if isinstance(stored, str) else _bytes(stored).decode(errors="surrogateescape")


def _bytes(stored: object) -> bytes:
    """The stored bytes, also of a column that damage has turned into another type."""
    if isinstance(stored, bytes):
        return stored
    return str(stored).encode(errors="surrogateescape")
