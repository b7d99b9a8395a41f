"""`ledger.log`: every event once, in the order of its position."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select

from turnledger.domain.duration import from_microseconds
from turnledger.domain.errors import InvalidPayload, OtherGeneration
from turnledger.domain.event import Unknown
from turnledger.domain.identifier import LARGEST, check_count
from turnledger.domain.payload import decode
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import Row

_PAGE = 500
_PATIENCE_SECONDS = 3_600.0  # no reader waits longer than this without looking again


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in the log of one generation of a ledger."""

    position: int
    generation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedEvent:
    """A stored event, as it is.

    Attributes:
        position: In the ledger; from 1 on, without gaps.
        version: In its stream; likewise.
        data: The event's fields as JSON; None if they can't be read.
        metadata: The command that led to it, who gave it, and its keys.
        hash: Chains it to the event before it in its stream; hex.
        unreadable: What this release can't read of it, if anything. It is kept all the same.
        cursor: Give this as `after` to go on behind it.
    """

    position: int
    stream_id: str
    version: int
    type: str
    schema_version: int
    data: Any
    metadata: Any
    recorded_at: datetime
    hash: str
    unreadable: str | None
    cursor: Cursor


class Log:
    """The queries of `ledger.log`."""

    def __init__(self, backend: Backend) -> None:
        """Take what the ledger's services share."""
        self._backend = backend

    def read(
        self,
        after: int | Cursor = 0,
        *,
        limit: int = 1_000,
        streams: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
    ) -> list[RecordedEvent]:
        """Events behind a position, in order.

        Args:
            after: A position, or the cursor of an event; 0 is the start.
            limit: At most so many.
            streams: Only of these streams.
            types: Only of these types.

        Raises:
            OtherGeneration: The cursor is of before a restore.
        """
        position = self.start(after)
        query = select(events).where(events.c.position > position)
        if streams is not None:
            query = query.where(events.c.stream_id.in_(_names("streams", streams)))
        if types is not None:
            query = query.where(events.c.type.in_(_names("types", types)))
        return self.find(query.order_by(events.c.position).limit(check_count("limit", limit)))

    def follow(
        self,
        after: int | Cursor = 0,
        *,
        streams: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
    ) -> Iterator[RecordedEvent]:
        """Events behind a position, then each as it is committed, for ever.

        Raises:
            OtherGeneration: The cursor is of before a restore.
        """
        position = self.start(after)
        while True:
            newest = self._backend.store.wait_for_change(position, _PATIENCE_SECONDS)
            while position < newest:
                page, position = self.page(position, newest, streams=streams, types=types)
                yield from page

    def page(
        self,
        position: int,
        newest: int,
        *,
        streams: Sequence[str] | None,
        types: Sequence[str] | None,
    ) -> tuple[list[RecordedEvent], int]:
        """The next events behind a position that aren't newer than another one.

        Returns:
            The events, and the position behind which the next ones are.
        """
        page = self.read(position, limit=_PAGE, streams=streams, types=types)
        full = len(page) == _PAGE and page[-1].position < newest
        behind = page[-1].position if full else newest
        return [event for event in page if event.position <= newest], behind

    def find(self, query: Select[Any]) -> list[RecordedEvent]:
        """The events that a query on the events table selects."""
        rows = self._backend.recorder.select(query, beside=True)
        return self._backend.contents.opened([self.as_event(row) for row in rows])

    def start(self, after: int | Cursor) -> int:
        """The position behind which a reader begins.

        Raises:
            OtherGeneration: The cursor is of before a restore.
        """
        if isinstance(after, Cursor):
            if after.generation != self._backend.generation:
                raise OtherGeneration(after.generation, self._backend.generation)
            return after.position
        if not isinstance(after, int) or isinstance(after, bool) or after < 0:
            raise InvalidPayload("after", f"must be a position or a cursor, not {after!r}")
        return min(after, LARGEST)

    def as_event(self, row: Row) -> RecordedEvent:
        """A whole row of the events table, for readers."""
        position, stream_id, version, kind, schema_version, data, metadata, at, chained = row
        read = REGISTRY.read(str(kind), schema_version, str(data))
        return RecordedEvent(
            position=position,
            stream_id=str(stream_id),
            version=version,
            type=str(kind),
            schema_version=schema_version,
            data=_json(data),
            metadata=_json(metadata),
            recorded_at=from_microseconds(at),
            hash=bytes(chained).hex(),
            unreadable=read.reason if isinstance(read, Unknown) else None,
            cursor=Cursor(position, self._backend.generation),
        )


def _names(name: str, given: Sequence[str]) -> list[str]:
    """A list of names to look for; what no name can be is refused."""
    if isinstance(given, str):
        raise InvalidPayload(name, "must be a list of names, not one")
    try:
        return [text for text in given if text.encode() or text == ""]
    except (TypeError, AttributeError, UnicodeEncodeError) as error:
        raise InvalidPayload(name, "must be a list of names") from error


def _json(stored: object) -> Any:
    try:
        return decode(str(stored))
    except ValueError:
        return None
