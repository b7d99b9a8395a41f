"""Events on their way into a file: plain columns, since a million of them pass by."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from turnledger.domain.duration import from_microseconds
from turnledger.domain.payload import decode

REPEATED = 4_096  # names that are remembered, since most events bring known ones
_SECOND = 1_000_000  # microseconds


class ExportedEvent(NamedTuple):
    """A stored event.

    Attributes:
        data: JSON text on one line; None if it can't be read. Likewise metadata.
        recorded_at: Microseconds since 1970, UTC.
        hash: 32 bytes; None in a redacted export, since it would let contents be guessed.
    """

    position: int
    stream_id: str
    version: int
    type: str
    schema_version: int
    data: str | None
    metadata: str | None
    recorded_at: int
    hash: bytes | None

    def fields(self) -> dict[str, Any]:
        """What happened, as it was recorded; empty if it can't be read."""
        return _object(self.data)

    def context(self) -> dict[str, Any]:
        """Who wished it, and how; empty if it can't be read."""
        return _object(self.metadata)


class Page(NamedTuple):
    """Some events, column by column: most formats need no object for each; see `ExportedEvent`."""

    positions: Sequence[int]
    stream_ids: Sequence[str]
    versions: Sequence[int]
    types: Sequence[str]
    schema_versions: Sequence[int]
    data: Sequence[str | None]
    metadata: Sequence[str | None]
    times: Sequence[int]
    hashes: Sequence[bytes | None]

    def events(self) -> Iterator[ExportedEvent]:
        """Event by event."""
        return map(ExportedEvent._make, zip(*self, strict=True))


def page_of(events: Iterable[ExportedEvent]) -> Page:
    """Some events, at least one, in columns."""
    return Page._make(zip(*events, strict=True))


def _object(text: str | None) -> dict[str, Any]:
    value = None if text is None else decode(text)
    return value if isinstance(value, dict) else {}


def iso(microseconds: int) -> str:
    """A stored time in ISO 8601, always with six digits behind the point."""
    return f"{_whole(microseconds // _SECOND)}.{microseconds % _SECOND:06d}Z"


@lru_cache(maxsize=64)
def _whole(second: int) -> str:
    """A second; many events are of the same one."""
    return from_microseconds(second * _SECOND).strftime("%Y-%m-%dT%H:%M:%S")


@lru_cache(maxsize=REPEATED)
def category_and_id(stream_id: str) -> tuple[str, str]:
    """What a stream is of, and the id of that: `thread_queue`, `chat-1`."""
    category, _, name = stream_id.partition(":")
    return category, name
