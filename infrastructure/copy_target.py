"""The store that a ledger is copied into: events, what follows from them, and at last its name."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from sqlalchemy import Boolean, Table, bindparam, delete, insert, select

from turnledger.domain.errors import StoreError
from turnledger.domain.event import Envelope
from turnledger.domain.settings import Settings
from turnledger.infrastructure import ledger_row, rows
from turnledger.infrastructure.ledger_row import LedgerRow
from turnledger.infrastructure.schema import TABLES, events, streams, tracking
from turnledger.infrastructure.sqlite import SqliteStore
from turnledger.infrastructure.statement import (
    DIALECTS,
    POSTGRESQL,
    Cursor,
    Row,
    Statement,
    run,
    statement,
)
from turnledger.infrastructure.store import Store
from turnledger.infrastructure.transaction import transact
from turnledger.projections.plan import plan_for, receipt_in

_e = events.c
_HASHES = statement(
    select(_e.position, _e.hash)
    .where(_e.position > bindparam("after"))
    .order_by(_e.position)
    .limit(bindparam("limit"))
)
_ON_SQLITE = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_ON_POSTGRESQL = """
WITH event AS (
    INSERT INTO stored_events
        (stream_id, version, type, schema_version, data, metadata, recorded_at, hash)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING id
)
INSERT INTO positions (position, event_id) SELECT %s, id FROM event
"""
_ANALYZE = ", ".join(["ANALYZE stored_events", "positions", "streams", *(t.name for t in TABLES)])


def _insert(table: Table) -> Statement:
    return statement(insert(table).values({c.name: bindparam(c.name) for c in table.columns}))


_INSERTS = {table.name: _insert(table) for table in (*TABLES, streams, tracking)}


class CopiedEvent(NamedTuple):
    """An event on its way.

    Attributes:
        row: As it is stored, with its position.
        envelope: For the read models; None if its stream can't be replayed.
    """

    row: Row
    envelope: Envelope | None


class ThreadRows(NamedTuple):
    """A table's rows about a thread that can't be replayed.

    Attributes:
        key: The column that names the thread, and what stands there.
        rows: All that there are, as the source has them.
    """

    table: Table
    key: tuple[str, str]
    rows: list[Row]


class CopyTarget:
    """Writes batches of events, each with its read models in one transaction."""

    def __init__(self, store: Store, settings: Settings, ledger: LedgerRow) -> None:
        """Take an open store, and which ledger is copied into it."""
        self.store = store
        self._settings = settings
        self._ledger = ledger
        self._plan = plan_for(DIALECTS[store.dialect])

    def is_finished(self) -> bool:
        """Whether the ledger is whole there already.

        Raises:
            StoreError: Another ledger is there.
        """
        with self.store.reading() as cursor:
            known = ledger_row.known(cursor)
            if known is not None and known != self._ledger and ledger_row.has_events(cursor):
                raise self._taken(known)
        return known == self._ledger

    def hashes(self, after: int, limit: int) -> list[tuple[int, bytes]]:
        """The positions and hashes of the events that are there behind a position."""
        given = {"after": after, "limit": limit}
        with self.store.reading(damaged=True) as cursor:
            found: list[tuple[int, bytes]] = run(
                cursor, self.store.dialect, _HASHES, given
            ).fetchall()
            return found

    def write(self, batch: Sequence[CopiedEvent]) -> None:
        """Write events behind those that are there.

        Raises:
            StoreError: Another ledger is there by now.
        """

        def work(cursor: Cursor) -> None:
            self._reserve(cursor)
            last = run(cursor, self.store.dialect, rows.MAX_POSITION, {}).fetchone()[0] or 0
            rest = [event for event in batch if event.row[0] > last]
            with self._together(cursor):
                self._write_events(cursor, [event.row for event in rest])
                for event in rest:
                    if event.envelope is not None:
                        self._project(cursor, event.envelope)

        transact(self.store, self._settings, work)

    def finish(
        self,
        heads: Callable[[], Iterable[Row]],
        unread: Iterable[ThreadRows],
        tracked: list[Row],
        check: Callable[[], None],
    ) -> None:
        """Write what isn't of single events, and last of all which ledger it is.

        Args:
            heads: The head rows.
            unread: What can't be had by replaying, as the source has it.
            tracked: The rows of `tracking`.
            check: Looks at all of it from inside the transaction; what it raises ends it.

        Raises:
            StoreError: Another ledger is there by now.
        """

        def work(cursor: Cursor) -> None:
            if ledger_row.known(cursor) == self._ledger:
                return  # it was committed, but the answer was lost
            self._reserve(cursor)
            for table, (column, name), found in unread:
                mine = delete(table).where(table.c[column] == bindparam("name"))
                run(cursor, self.store.dialect, statement(mine), {"name": name})
                self._insert(cursor, table, found)
            self._insert(cursor, streams, heads())
            self._insert(cursor, tracking, tracked)
            if self.store.dialect == POSTGRESQL:
                cursor.execute(_ANALYZE)
            check()
            ledger_row.enter(cursor, self.store.dialect, self._ledger)

        transact(self.store, self._settings, work)

    def _reserve(self, cursor: Cursor) -> None:
        """Let nobody use it before it is finished. A ledger without any event is taken over."""
        ledger_row.lock(cursor, self.store.dialect)
        known = ledger_row.known(cursor)
        if known is None:
            return
        if ledger_row.has_events(cursor):
            raise self._taken(known)
        cursor.execute("DELETE FROM ledger")
        cursor.execute("DELETE FROM tracking")

    def _taken(self, known: LedgerRow) -> StoreError:
        if known == self._ledger:
            reason = "the ledger was copied into it before, and its source went on since"
        else:
            reason = f"another ledger is in it, {known.ledger_id} of generation {known.generation}"
        return StoreError(self.store.url, f"{reason}; give a new file or an empty database")

    def _write_events(self, cursor: Cursor, written: list[Row]) -> None:
        if self.store.dialect == POSTGRESQL:
            cursor.executemany(_ON_POSTGRESQL, [(*row[1:], row[0]) for row in written])
            return
        cursor.executemany(_ON_SQLITE, written)
        if isinstance(self.store, SqliteStore):
            self.store.log.uncopied_bytes += sum(len(row[5]) for row in written)

    def _project(self, cursor: Cursor, envelope: Envelope) -> None:
        stream_id, version, event, recorded_at, metadata = envelope
        self._plan.run(cursor.execute, stream_id, version, event, recorded_at)
        receipt = receipt_in(metadata)
        if receipt is not None:
            self._plan.keep(cursor.execute, receipt, stream_id, version, recorded_at)

    def _insert(self, cursor: Cursor, table: Table, found: Iterable[Row]) -> None:
        ready = _INSERTS[table.name][self.store.dialect]
        names = [column.name for column in table.columns]
        flags = [name for name in names if isinstance(table.c[name].type, Boolean)]

        def arguments(row: Row) -> Row:
            given = dict(zip(names, row, strict=True))
            return ready.arguments({**given, **{name: bool(given[name]) for name in flags}})

        cursor.executemany(ready.sql, map(arguments, found))

    def _together(self, cursor: Cursor) -> AbstractContextManager[Any]:
        """Don't wait for the server's answer to each statement."""
        if self.store.dialect == POSTGRESQL:
            pipeline: AbstractContextManager[Any] = cursor.connection.pipeline()
            return pipeline
        return nullcontext()
