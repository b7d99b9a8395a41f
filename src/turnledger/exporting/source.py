"""The events for an export, page by page: no snapshot is held while a page is written."""

from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import bindparam

from turnledger.domain.duration import EARLIEST, LATEST
from turnledger.domain.errors import Unreadable
from turnledger.domain.payload import decode, encode, is_json
from turnledger.exporting.event import REPEATED, Page, page_of
from turnledger.exporting.redaction import Hook, redacted
from turnledger.infrastructure.about import positions_in, rows_at
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.pages import rows_of
from turnledger.infrastructure.rows import behind
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import EVERYTHING, Row, statement
from turnledger.infrastructure.subject import Subject, streams_of

_FIRST_PAGE = 100  # rows
_LARGEST_PAGE = 500  # so that a page fits into the processor's caches
_PAGE_BYTES = 2 * 1024 * 1024
_LARGEST_VERSION = 2**31 - 1  # of a schema; as Parquet has it
_HASH_BYTES = 32

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

    def pages(self) -> Iterator[Page]:
        """The events, some at a time, in the order of their positions."""
        rows = self._all() if self._wanted.thread_id is None else self._of(self._wanted.thread_id)
        for some in rows:
            page = _columns(some)
            size = sum(map(len, filter(None, (*page.data, *page.metadata))))
            fitting = _PAGE_BYTES * len(some) // max(size, 1)
            self._limit = max(1, min(_LARGEST_PAGE, fitting, 4 * self._limit))
            yield self._opened(page)

    def _all(self) -> Iterator[list[Row]]:
        _, until, since, *_ = self._wanted
        after = self._wanted.after
        while True:
            given = {"after": after, "until": until, "since": since, "limit": self._limit}
            page = rows_of(self._store, _PAGE, given)
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

    def _opened(self, page: Page) -> Page:
        if self._backend.contents.is_encrypted:
            page = self._unsealed(page)
        hook = self._wanted.hook
        return page if hook is None else page_of(redacted(one, hook) for one in page.events())

    def _unsealed(self, page: Page) -> Page:
        sealed = list(zip(map(_value, page.data), map(_value, page.metadata), strict=True))
        opened = self._backend.contents.opened(sealed)
        data, metadata = zip(*opened, strict=True)
        return page._replace(
            data=list(map(_text, page.data, data)),
            metadata=list(map(_text, page.metadata, metadata)),
        )


def _columns(rows: list[Row]) -> Page:
    """The columns of some rows.

    Raises:
        Unreadable: The number, the time or the stream of an event is damaged.
    """
    positions, stream_ids, versions, types, schema_versions, data, metadata, times, hashes = zip(
        *rows, strict=True
    )
    if not _are_sound(stream_ids, versions, schema_versions, times):
        raise _damage(rows)
    return Page(
        positions,
        list(map(_name, stream_ids)),
        versions,
        list(map(_name, types)),
        schema_versions,
        list(map(_json, data)),
        list(map(_json, metadata)),
        times,
        list(map(_hash, hashes)),
    )


def _are_sound(
    stream_ids: Sequence[Any],
    versions: Sequence[Any],
    schema_versions: Sequence[Any],
    times: Sequence[Any],
) -> bool:
    """Whether all have a name, whole numbers, and times that can be told."""
    numbers = {*map(type, versions), *map(type, schema_versions), *map(type, times)}
    return (
        all(stream_ids)
        and numbers == {int}
        and -_LARGEST_VERSION <= min(schema_versions) <= max(schema_versions) <= _LARGEST_VERSION
        and EARLIEST <= min(times) <= max(times) <= LATEST
    )


def _damage(rows: list[Row]) -> Unreadable:
    """What is to be said of the first event of which not even that is known."""
    wrong = (row[0] for row in rows if not _are_sound((row[1],), (row[2],), (row[4],), (row[7],)))
    reason = "damaged: its stream, its numbers or its time are none"
    return Unreadable(f"event {next(wrong)}", reason)


def _hash(stored: Any) -> bytes | None:
    """A hash; None for what can't be one."""
    chained = bytes(stored) if isinstance(stored, bytes | memoryview) else b""
    return chained if len(chained) == _HASH_BYTES else None


@lru_cache(maxsize=REPEATED, typed=True)
def _name(stored: Any) -> str:
    """A name as text that can be written, also a damaged one."""
    text = str(stored)
    return text if text.isascii() else text.encode(errors="replace").decode()


def _json(stored: Any) -> str | None:
    """Stored JSON text on one line; None if it is none."""
    text = str(stored)
    if not is_json(text):
        return None
    return encode(decode(text)) if "\n" in text or "\r" in text else text


def _value(text: str | None) -> Any:
    return None if text is None else decode(text)


def _text(sealed: str | None, opened: Any) -> str | None:
    return None if sealed is None else encode(opened)
