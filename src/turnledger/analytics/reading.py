"""The events as analytics want them: page by page, in order, no more than is needed."""

from collections.abc import Container, Iterator
from typing import Any, NamedTuple

from sqlalchemy import bindparam, case, literal_column, null, select

from turnledger.domain.duration import EARLIEST, LATEST
from turnledger.domain.payload import decode
from turnledger.history import subject_of
from turnledger.infrastructure.about import positions_in, rows_at
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.rows import MAX_POSITION
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import Cursor, Row, run, statement
from turnledger.infrastructure.subject import streams_of

_PAGE = 2_000
_e = events.c
_FAILED = "thread_queue.failed"
_METADATA: Any = case((_e.type == literal_column(f"'{_FAILED}'"), _e.metadata), else_=null())
_BEHIND = statement(
    select(
        _e.position, _e.stream_id, _e.type, _e.schema_version, _e.data, _METADATA, _e.recorded_at
    )
    .where(_e.position > bindparam("after"), _e.position <= bindparam("newest"))
    .order_by(_e.position)
    .limit(bindparam("limit"))
)
_VERSION = 1  # of every event type that is read here


class Seen(NamedTuple):
    """An event, as far as analytics need it.

    Attributes:
        type: Such as `thread_queue.acked`.
        name: What its stream is about: a thread, or an id.
        fields: What it says.
        recorded_at: Microseconds since 1970, UTC.
        command: Which command led to it; only of failures of queued turns.
    """

    type: str
    name: str
    fields: dict[str, Any]
    recorded_at: int
    command: str | None


class Reading:
    """One pass over the events of a ledger, or of a part of it.

    Attributes:
        events: How many were looked at so far.
        unread: How many of them couldn't be read: of a newer release, or damaged.
    """

    def __init__(
        self, backend: Backend, *, thread_id: str | None, work_item_id: str | None
    ) -> None:
        """Take what the ledger's services share, and what it is about; None is all.

        Raises:
            InvalidInput: An id can't be one; or both are given.
        """
        names = {"thread_id": thread_id, "work_item_id": work_item_id}
        given = {name: value for name, value in names.items() if value is not None}
        self._backend = backend
        self._subject = subject_of(**given) if given else None
        self.events = 0
        self.unread = 0

    def seen(self, types: Container[str]) -> Iterator[Seen]:
        """The events of some types, in order."""
        for page in self._pages():
            self.events += len(page)
            for _, stream_id, kind, version, data, said, recorded_at in page:
                if kind in types:
                    try:
                        _check_time(recorded_at)
                        fields = _fields(kind, version, data)
                        command = decode(said)["command"]["name"] if said else None
                    except (ValueError, TypeError, KeyError):
                        self.unread += 1
                    else:
                        name = stream_id.partition(":")[2]
                        yield Seen(kind, name, fields, recorded_at, command)

    def _pages(self) -> Iterator[list[Row]]:
        """Up to what is there at the beginning; no snapshot is held meanwhile."""
        store, position = self._backend.store, 0
        store.number(beside=True)
        with store.reading(damaged=True) as cursor:
            newest = run(cursor, store.dialect, MAX_POSITION, {}).fetchone()[0] or 0
        while position < newest:
            with store.reading(snapshot=True, damaged=True) as cursor:
                page, position = self._page(cursor, position, newest)
            if page:
                yield page

    def _page(self, cursor: Cursor, after: int, newest: int) -> tuple[list[Row], int]:
        """The next events behind a position, and how far that goes."""
        dialect = self._backend.store.dialect
        if self._subject is None:
            given = {"after": after, "newest": newest, "limit": _PAGE}
            page = run(cursor, dialect, _BEHIND, given).fetchall()
        else:
            streams = streams_of(cursor, dialect, self._subject)
            span = {"after": after, "until": newest, "limit": _PAGE}
            found = positions_in(cursor, dialect, streams, **span)
            page = [_of_row(row) for row in rows_at(cursor, dialect, found)]
        return page, page[-1][0] if len(page) == _PAGE else newest


def _of_row(row: Row) -> Row:
    """The columns that are read, of a whole row."""
    position, stream_id, _, kind, version, data, metadata, recorded_at, _ = row
    said = metadata if kind == _FAILED else None
    return position, stream_id, kind, version, data, said, recorded_at


def _check_time(recorded_at: Any) -> None:
    if type(recorded_at) is not int or not EARLIEST <= recorded_at <= LATEST:
        msg = f"{recorded_at!r} is no time"
        raise ValueError(msg)


def _fields(kind: str, version: int, data: str) -> dict[str, Any]:
    """What an event says, in its latest form.

    Raises:
        ValueError: It can't be read.
    """
    said = decode(data)
    if version != _VERSION:
        version, said = REGISTRY.upcast(kind, version, said)
    if version != _VERSION or not isinstance(said, dict):
        msg = f"this release doesn't know {kind} version {version}"
        raise ValueError(msg)
    return said
