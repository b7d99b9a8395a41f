"""The events for an export, page by page: no snapshot is held while a page is written."""

from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import bindparam

from turnledger.domain.payload import decode, encode
from turnledger.exporting.event import ExportedEvent
from turnledger.exporting.redaction import Hook, redacted
from turnledger.infrastructure.about import positions_in, rows_at
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.rows import behind
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import EVERYTHING, Row, run, statement
from turnledger.infrastructure.subject import Subject, streams_of

_FIRST_PAGE = 100  # rows
_LARGEST_PAGE = 2_000
_PAGE_BYTES = 2 * 1024 * 1024

_e = events.c
_PAGE = statement(behind(_e.position <= bindparam("until"), _e.recorded_at >= bindparam("since")))


class Selection(NamedTuple):
    """Which events are wanted, and how.

    Attributes:
        after: Those behind this position,
        until: up to this one,
        since: recorded at this time or later, in microseconds,
        thread_id: and about this thread; None for all.
        hook: Sees all contents; None if they stay as they are.
    """

    after: int
    until: int
    since: int
    thread_id: str | None
    hook: Hook | None


class Source:
    """Gives the wanted events."""

    def __init__(self, backend: Backend, wanted: Selection) -> None:
        """Take the ledger, and what is wanted of it."""
        self._backend = backend
        self._store = backend.store
        self._wanted = wanted
        self._limit = _FIRST_PAGE

    def pages(self) -> Iterator[list[ExportedEvent]]:
        """The events, some at a time, in the order of their positions."""
        rows = self._all() if self._wanted.thread_id is None else self._of(self._wanted.thread_id)
        for page in rows:
            size = sum(len(str(row[5])) + len(str(row[6])) for row in page)
            fitting = _PAGE_BYTES * len(page) // max(size, 1)
            self._limit = max(1, min(_LARGEST_PAGE, fitting, 4 * self._limit))
            yield self._opened(page)

    def _all(self) -> Iterator[list[Row]]:
        _, until, since, *_ = self._wanted
        after = self._wanted.after
        while True:
            given = {"after": after, "until": until, "since": since, "limit": self._limit}
            with self._store.reading(damaged=True) as cursor:
                page: list[Row] = run(cursor, self._store.dialect, _PAGE, given).fetchall()
            if not page:
                return
            yield page
            after = page[-1][0]

    def _of(self, thread_id: str) -> Iterator[list[Row]]:
        after, until, since, *_ = self._wanted
        dialect = self._store.dialect
        with self._store.reading(snapshot=True, damaged=True) as cursor:
            streams = streams_of(cursor, dialect, Subject("thread", thread_id))
            limits = {"after": after, "until": until, "limit": EVERYTHING}
            places = array("q", positions_in(cursor, dialect, streams, **limits))
        start = 0
        while start < len(places):
            some = places[start : start + self._limit]
            start += len(some)
            with self._store.reading(damaged=True) as cursor:
                page = [row for row in rows_at(cursor, dialect, some) if row[7] >= since]
            if page:
                yield page

    def _opened(self, page: list[Row]) -> list[ExportedEvent]:
        events = [_event(row) for row in page]
        if self._backend.contents.is_encrypted:
            events = self._unsealed(events)
        hook = self._wanted.hook
        return events if hook is None else [redacted(event, hook) for event in events]

    def _unsealed(self, events: list[ExportedEvent]) -> list[ExportedEvent]:
        sealed = [(_value(event.data), _value(event.metadata)) for event in events]
        opened = self._backend.contents.opened(sealed)
        return [
            event._replace(
                data=None if event.data is None else encode(data),
                metadata=None if event.metadata is None else encode(metadata),
            )
            for event, (data, metadata) in zip(events, opened, strict=True)
        ]


def _event(row: Row) -> ExportedEvent:
    position, stream_id, version, kind, schema_version, data, metadata, recorded_at, chained = row
    return ExportedEvent(
        position,
        _name(stream_id),
        version,
        _name(kind),
        schema_version,
        _json(data),
        _json(metadata),
        recorded_at,
        bytes(chained),
    )


def _name(stored: Any) -> str:
    """A name as text that can be written, also a damaged one."""
    text = str(stored)
    return text if text.isascii() else text.encode(errors="replace").decode()


def _json(stored: Any) -> str | None:
    """Stored JSON text on one line; None if it is none."""
    text = str(stored)
    try:
        value = decode(text)
    except ValueError:
        return None
    return encode(value) if "\n" in text or "\r" in text else text


def _value(text: str | None) -> Any:
    return None if text is None else decode(text)
