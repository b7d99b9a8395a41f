"""Events to stored rows and back.

A row holds an event's data and metadata as JSON text, and a hash that chains it to the one
before it in its stream. The registry refuses to write what it doesn't know; on reading, what it
doesn't know is kept as it is.
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import Any

from eventsourcing.persistence import JSONTranscoder, Mapper, StoredEvent
from pydantic_core import to_json

from turnledger.domain.errors import Unreadable
from turnledger.domain.event import Draft, Envelope, EventRegistry, Unknown
from turnledger.domain.payload import decode
from turnledger.infrastructure.statement import Row

_LENGTH = struct.Struct(">Q").pack

NO_HASH = bytes(32)  # what the first event of a stream is chained to


def chain_hash(  # noqa: D417, PLR0913, PLR0917 - the parts of the format, in its order
    previous: bytes,
    stream: bytes,
    version: bytes,
    topic: bytes,
    schema_version: bytes,
    recorded_at: bytes,
    metadata: bytes,
    data: bytes,
) -> bytes:
    """The SHA-256 of the previous event's hash and the length-prefixed stored bytes.

    Args:
        previous: The hash of the event before it in its stream, or 32 zero bytes. The rest is the
            row: text as UTF-8, numbers as decimal digits, each preceded by its length in 8 bytes,
            big-endian.
    """
    size = _LENGTH
    # fmt: off
    parts = (
        previous,
        size(len(stream)), stream, size(len(version)), version,
        size(len(topic)), topic, size(len(schema_version)), schema_version,
        size(len(recorded_at)), recorded_at,
        size(len(metadata)), metadata, size(len(data)), data,
    )
    # fmt: on
    return hashlib.sha256(b"".join(parts)).digest()


@dataclass(frozen=True, init=False)
class LedgerEvent(StoredEvent):
    """A stored event with the columns that turnledger adds.

    Attributes:
        schema_version: The version of the event type's form.
        metadata: JSON text as bytes.
        recorded_at: Microseconds since 1970, UTC.
        draft: What it was made of, for the read models.
    """

    schema_version: int
    metadata: bytes
    recorded_at: int
    draft: Draft | None = None

    def __init__(self, **fields: Any) -> None:
        """Take the fields at once: a frozen dataclass's own way costs 3 µs for so many."""
        self.__dict__.update(fields)

    def chained_to(self, previous: bytes) -> bytes:
        """The hash of this event behind another one."""
        return chain_hash(
            previous,
            str(self.originator_id).encode(errors="surrogateescape"),
            b"%d" % self.originator_version,
            self.topic.encode(errors="surrogateescape"),
            b"%d" % self.schema_version,
            b"%d" % self.recorded_at,
            self.metadata,
            self.state,
        )


class LedgerMapper(Mapper[str]):
    """The mapper that the application uses, on a registry of event types."""

    def __init__(self, registry: EventRegistry) -> None:
        """Take the registry."""
        super().__init__(JSONTranscoder())
        self._registry = registry

    def to_stored_event(self, domain_event: Any) -> LedgerEvent:
        """Write a draft, or an envelope.

        Raises:
            Unreadable: The registry doesn't know its event type.
        """
        stream_id, version, event, recorded_at, metadata = domain_event[:5]
        if type(event) not in self._registry.writable:
            kind = f"{type(event).__name__} of stream {stream_id}"
            raise Unreadable(kind, "its type isn't registered")
        written = isinstance(domain_event, Draft)
        return LedgerEvent(
            originator_id=stream_id,
            originator_version=version,
            topic=event.TOPIC,
            state=event.__pydantic_serializer__.to_json(event),
            schema_version=event.SCHEMA_VERSION,
            metadata=metadata.encode() if written else to_json(metadata),
            recorded_at=recorded_at,
            draft=domain_event if written else None,
        )

    def to_domain_event(self, stored_event: StoredEvent) -> Any:
        """Read a row as an envelope; its event is `Unknown` if it can't be read."""
        schema_version = getattr(stored_event, "schema_version", 1)
        recorded_at = getattr(stored_event, "recorded_at", 0)
        text = stored_event.state.decode(errors="replace")
        event = self._registry.read(stored_event.topic, schema_version, text)
        return Envelope(
            str(stored_event.originator_id),
            stored_event.originator_version,
            event,
            recorded_at,
            _metadata(getattr(stored_event, "metadata", b"{}")),
        )

    def to_replay(self, row: Row) -> Envelope:
        """Likewise a whole row of the events table, whose columns are of their types.

        Its metadata is read only if it says of a receipt: that alone is replayed.
        """
        _, stream_id, version, topic, schema_version, data, said, recorded_at, _ = row
        event = self._registry.read(topic, schema_version, data)
        metadata = _metadata(said) if '"receipt"' in said else {}
        return Envelope(stream_id, version, event, recorded_at, metadata)


def damaged(position: int, row: Row) -> Envelope:
    """A row whose columns aren't those of an event: nothing of it is known."""
    unknown = Unknown(str(row[3]), 0, "", f"event {position} is damaged")
    return Envelope(str(row[1]), 0, unknown, 0, {})


def _metadata(stored: bytes | str) -> dict[str, Any]:
    try:
        metadata = decode(stored)
    except (ValueError, TypeError):
        text = stored if isinstance(stored, str) else stored.decode(errors="replace")
        return {"unreadable": text}
    return metadata if isinstance(metadata, dict) else {"unreadable": metadata}
