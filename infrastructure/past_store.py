"""A ledger's database as of a position, in memory: what was replayed, and nothing changes it.

Nothing of it is ever on a disk, since payloads would be left there.
"""

import sqlite3
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, Literal, NoReturn

from eventsourcing.persistence import StoredEvent, Tracking
from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from turnledger.domain.errors import StoreError, StoreReadOnly, Unreadable
from turnledger.infrastructure.clock import Clock
from turnledger.infrastructure.failures import translated, translating
from turnledger.infrastructure.fair_lock import FairLock
from turnledger.infrastructure.keys import as_it_is
from turnledger.infrastructure.mapper import LedgerEvent
from turnledger.infrastructure.migration import upgrade
from turnledger.infrastructure.recorder import LedgerRecorder
from turnledger.infrastructure.rows import HeadChange
from turnledger.infrastructure.statement import SQLITE, Cursor
from turnledger.infrastructure.store import writing


def empty_database() -> sqlite3.Connection:
    """A database in memory with the schema of this release, for any thread."""
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA temp_store=MEMORY")  # else a large sort would be written to a disk
    for sql in _schema():
        database.execute(sql)
    return database


@cache
def _schema() -> tuple[str, ...]:
    """The statements that make the schema; the migrations are run once in a process."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    engine = create_engine("sqlite+pysqlite://", creator=lambda: database, poolclass=StaticPool)
    try:
        with engine.begin() as connection:
            upgrade(connection)
        found = database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        return tuple(sql for (sql,) in found)
    finally:
        engine.dispose()
        database.close()


class PastStore:
    """A database in memory that nobody changes any more; see `store.Store`.

    Its one connection is for the threads of one process, one after the other.
    """

    dialect = SQLITE
    read_only = True
    writer: FairLock | None = None

    def __init__(
        self, url: str, position: int, database: sqlite3.Connection, doubtful: Mapping[str, str]
    ) -> None:
        """Take what was replayed.

        Args:
            url: Of the ledger that it was.
            position: As of which it is.
            database: Filled.
            doubtful: The streams whose state isn't known, with the reason.
        """
        self.url = f"{url} as of position {position}"
        self._position = position
        self._database = database
        self._doubtful = doubtful
        self._lock = threading.RLock()
        self._closed = threading.Event()
        database.execute("PRAGMA query_only=ON")

    def begin(self, owner: object, *, several: bool = False) -> NoReturn:
        """Refuse: what was can't be changed.

        Raises:
            StoreReadOnly: Always.
        """
        del owner, several
        raise StoreReadOnly(self.url, "what was can't be changed")

    def end(self, error: BaseException | None) -> None:
        """Nothing: nothing was begun."""

    def written(self) -> None:
        """Nothing is."""

    def undo(self, cursor: Cursor, written: Any, *, savepoint: bool) -> bool:
        """Nothing is to be undone."""
        del cursor, written, savepoint
        return True

    def failure(self, error: BaseException) -> Exception | None:
        """What an error of SQLite's means."""
        return translated(error, self.url) if isinstance(error, sqlite3.Error) else None

    @contextmanager
    def reading(
        self, *, snapshot: bool = False, damaged: bool = False
    ) -> Generator[sqlite3.Cursor]:
        """A cursor for queries; all see the one state that there is.

        Args:
            snapshot: Makes no difference.
            damaged: Also text that isn't UTF-8 any more is read, with surrogates in it.

        Raises:
            StoreError: It was closed.
        """
        del snapshot
        with self._lock, translating(self.url):
            self._must_be_open()
            before: Any = self._database.text_factory
            if damaged:
                self._database.text_factory = as_it_is
            try:
                yield self._database.cursor()
            finally:
                self._database.text_factory = before

    def writing(self) -> AbstractContextManager[Cursor]:
        """Refused; see `begin`."""
        return writing(self)

    def recorder(self, clock: Clock) -> "PastRecorder":
        """The `eventsourcing` library's recorder on it."""
        return PastRecorder(self, clock, self._doubtful)

    def number(self, *, beside: bool = False) -> None:
        """Nothing: what was has its positions."""

    def wait_for_change(self, since: int, timeout: float) -> int:
        """Wait in vain, until the time is out or it is closed; nothing comes any more."""
        if self._position <= since:
            self._closed.wait(min(timeout, threading.TIMEOUT_MAX))
        self._must_be_open()
        return self._position

    wait_for_work = wait_for_change

    def last_told(self) -> str:
        """Nothing."""
        return ""

    def stop_waiting(self) -> None:
        """Nothing: nobody is woken here."""

    def _must_be_open(self) -> None:
        if self._closed.is_set():
            raise StoreError(self.url, "the ledger was closed")

    def last_position(self) -> int:
        """The position as of which it is."""
        return self._position

    def examined(self) -> Iterator[tuple[str, Literal["ok", "note", "problem"], str]]:
        """It lives in memory, and not for long."""
        yield "store", "ok", f"in memory, as of position {self._position}"

    def close(self) -> None:
        """Let the memory go."""
        self._closed.set()
        with self._lock:
            self._database.close()


class PastRecorder(LedgerRecorder):
    """Reads what was replayed."""

    def __init__(self, store: PastStore, clock: Clock, doubtful: Mapping[str, str]) -> None:
        """Take the store, a clock, and the streams whose state isn't known."""
        super().__init__(store, clock)
        self._doubtful = doubtful

    def select_events(self, originator_id: Any, **wanted: Any) -> Sequence[StoredEvent]:
        """A stream's events, for a state that isn't known otherwise.

        Raises:
            Unreadable: They don't say what it is.
        """
        reason = self._doubtful.get(str(originator_id))
        if reason is not None:
            raise Unreadable(f"stream {originator_id}", reason)
        return super().select_events(originator_id, **wanted)

    def _insert(
        self,
        cursor: Cursor,
        stored_events: Sequence[LedgerEvent],
        changes: Sequence[HeadChange],
        tracking: Tracking | None,
    ) -> NoReturn:
        del cursor, stored_events, changes, tracking
        raise StoreReadOnly(self.store.url, "what was can't be changed")

    def add_head(self, cursor: Cursor, change: HeadChange) -> NoReturn:
        """Refuse; see the store's `begin`."""
        del cursor, change
        raise StoreReadOnly(self.store.url, "what was can't be changed")
