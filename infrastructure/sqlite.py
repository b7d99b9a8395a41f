"""The store on SQLite: connections, transactions and checkpoints.

Each thread has a connection of its own, made through SQLAlchemy's engine; hot statements run on
the driver's cursor. Writers of one process queue for a fair lock, those of other processes for
SQLite's own. SQLite's automatic checkpoints are off: before 3.51.3 a passive checkpoint that
races a writer can corrupt a database, so ours run while we hold the write lock (ADR 4).
"""

import math
import sqlite3
import threading
import weakref
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from time import CLOCK_MONOTONIC, clock_gettime
from typing import Literal

from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool, StaticPool

from turnledger.domain.errors import StoreError, StoreReadOnly, StoreReplaced, StoreUnavailable
from turnledger.domain.settings import Settings
from turnledger.infrastructure import changes
from turnledger.infrastructure.clock import Clock
from turnledger.infrastructure.failures import translated, translating
from turnledger.infrastructure.fair_lock import FairLock
from turnledger.infrastructure.file_system import shared_file_system
from turnledger.infrastructure.forking import tell_of_forks
from turnledger.infrastructure.held import Held
from turnledger.infrastructure.keys import as_it_is
from turnledger.infrastructure.sqlite_connection import connect
from turnledger.infrastructure.sqlite_recorder import SqliteRecorder
from turnledger.infrastructure.statement import SQLITE, Cursor
from turnledger.infrastructure.store import writing
from turnledger.infrastructure.write_ahead_log import WriteAheadLog

_FORKED_WITHIN = "it was forked in the middle of a transaction; only a new process can write"

FILE_CHECK_SECONDS = 0.5  # how often the path is looked at


class SqliteStore:
    """A ledger's database file; see `store.Store`."""

    dialect = SQLITE

    def __init__(self, path: Path, settings: Settings, *, read_only: bool = False) -> None:
        """Remember where it is; nothing is opened yet."""
        self.path = path
        self.url = f"sqlite:///{path}"
        self.settings = settings
        self.read_only = read_only
        self._patience = settings.busy_timeout.total_seconds()
        self.shared = shared_file_system(path)
        self.engine = create_engine("sqlite+pysqlite://", creator=self.connect, poolclass=NullPool)
        self._file: tuple[int, int] | None = None
        self._checked_at = self._looked_at = -math.inf  # by a writer, by a reader
        self.log = WriteAheadLog(path, self)
        self._closed = False
        self._held: weakref.WeakSet[Held] = weakref.WeakSet()
        self._forked_within = False
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        self._local = threading.local()
        self.writer: FairLock | None
        self.writer = self._lock = FairLock()

    def connections(self) -> Iterable[Held]:
        """Those of all threads."""
        return list(self._held)

    def after_fork(self) -> None:
        """In a child: use connections of its own.

        A lock that the parent had then looks like the child's own to SQLite, for ever.
        """
        if any(held.driver.in_transaction for held in self._held):
            self._forked_within = True
        self._held = weakref.WeakSet()
        self._begin()

    # --- connections

    def connect(self) -> sqlite3.Connection:
        """A new connection, configured."""
        return connect(self.path, self.settings, read_only=self.read_only, shared=self.shared)

    def held(self) -> Held:
        """This thread's connection."""
        held: Held | None = getattr(self._local, "held", None)
        return self._new_held() if held is None else held

    def _new_held(self) -> Held:
        if self._closed:
            raise StoreError(self.url, "the ledger was closed")
        with translating(self.url):
            held = Held(self.engine.raw_connection())
        self.check_file()  # it may have been opened on another file, and is forgotten then
        self._local.held = held
        self._held.add(held)
        return held

    @contextmanager
    def core_connection(self) -> Generator[Connection]:
        """This thread's connection as SQLAlchemy Core sees it; `writing` begins and commits."""
        held = self.held()
        engine = create_engine(
            "sqlite+pysqlite://",
            creator=lambda: held.driver,
            poolclass=StaticPool,
            pool_reset_on_return=None,
            isolation_level="AUTOCOMMIT",
        )
        for name in ("do_commit", "do_rollback"):
            setattr(engine.dialect, name, lambda _connection: None)
        yield engine.connect()

    def recorder(self, clock: Clock) -> SqliteRecorder:
        """The `eventsourcing` library's recorder on it."""
        return SqliteRecorder(self, clock, self.log)

    def examined(self) -> Iterator[tuple[str, Literal["ok", "note", "problem"], str]]:
        """Nothing: `doctor` looks at the file itself."""
        return iter(())

    def number(self, *, beside: bool = False) -> None:
        """Nothing: an event has its position from the start."""

    def wait_for_change(self, since: int, timeout: float) -> int:
        """Wait until there is an event behind a position; see `changes`."""
        return changes.wait_for_change(self, since, timeout)

    wait_for_work = changes.wait_for_change  # here one is told of every change
    stop_waiting, last_told = changes.stop_waiting, changes.last_told

    def last_position(self) -> int:
        """The position of the last event; 0 if there is none."""
        return changes.last_position(self)

    def close(self) -> None:
        """Close every thread's connection."""
        self._closed = True
        with suppress(StoreReplaced):
            self.check_file()
        for held in list(self._held):
            held.close()
        self._held.clear()
        self._local = threading.local()
        self.engine.dispose()

    # --- transactions

    def begin(self, owner: object, *, several: bool = False) -> sqlite3.Cursor:
        """Begin a transaction that holds the one write lock. `end` must follow.

        Args:
            owner: Lives as long as the transaction: what is left of a dead one's is rolled back.
            several: Makes no difference here.

        Raises:
            StoreError: The database says no.
            StoreUnavailable: A command of this thread is under way, and a signal handler or a
                clock gives another one: it would be in the middle of the first.
        """
        del several
        held = self.held()
        if held.owner is not None and held.owner() is not None:
            raise StoreUnavailable(self.url, "a command of this very thread is under way")
        held.lock.acquire()
        try:
            if held.driver.in_transaction:  # a signal cut the end of the last one short
                held.driver.rollback()
            self._wait_for_turn()
            held.cursor.execute("BEGIN IMMEDIATE")
            held.owner = weakref.ref(owner)
        except BaseException as error:
            self._end(held, error)
            raise
        cursor: sqlite3.Cursor = held.cursor
        return cursor

    def end(self, error: BaseException | None) -> None:
        """Commit; or roll back, if something was raised, and say it in turnledger's words.

        Raises:
            StoreError: The database says no.
        """
        self._end(self.held(), error)

    def _end(self, held: Held, error: BaseException | None) -> None:
        held.owner = None
        try:
            if error is None:
                held.cursor.execute("COMMIT")
                self.log.committed(held)
        except sqlite3.Error as failure:
            raise translated(failure, self.url) from failure
        finally:
            try:
                if held.driver.in_transaction:
                    held.driver.rollback()
            finally:
                self._lock.release()
                held.lock.release()
        if isinstance(error, sqlite3.Error):
            raise translated(error, self.url) from error

    def written(self) -> int:
        """How many rows were changed on this thread's connection."""
        changed: int = self.held().driver.total_changes
        return changed

    def undo(self, cursor: Cursor, written: int, *, savepoint: bool) -> bool:
        """Undo what was written since; see `store.Store`."""
        if not cursor.connection.in_transaction:  # SQLite gave it up: the disk is full, say
            return False
        if not savepoint:
            return written == self.written()
        cursor.execute("ROLLBACK TO SAVEPOINT command")
        cursor.execute("RELEASE SAVEPOINT command")
        return True

    def failure(self, error: BaseException) -> Exception | None:
        """What an error of SQLite's means."""
        return translated(error, self.url) if isinstance(error, sqlite3.Error) else None

    def writing(self) -> AbstractContextManager[Cursor]:
        """A transaction from `begin` to `end`."""
        return writing(self)

    @contextmanager
    def reading(
        self, *, snapshot: bool = False, damaged: bool = False
    ) -> Generator[sqlite3.Cursor]:
        """A cursor for a query; inside a transaction of this thread, it reads what that wrote.

        Args:
            snapshot: Several queries see one state of the database.
            damaged: Also text that isn't UTF-8 any more is read, with surrogates in it.
        """
        held = self.held()
        with held.lock, translating(self.url):
            inside = held.driver.in_transaction
            now = clock_gettime(CLOCK_MONOTONIC)
            if not inside and now - self._looked_at > FILE_CHECK_SECONDS:
                self.check_file()
                self._looked_at = now
            try:
                if damaged:
                    held.driver.text_factory = as_it_is
                if snapshot and not inside:
                    held.cursor.execute("BEGIN")
                yield held.cursor
            finally:
                held.driver.text_factory = str
                if held.driver.in_transaction and not inside:
                    held.driver.rollback()

    def _wait_for_turn(self) -> None:
        """Be this process's writer, on the file that is open.

        Raises:
            StoreReadOnly: It was opened read-only; StoreError: see `after_fork`.
            StoreUnavailable: Other threads didn't let go of the lock.
            StoreReplaced: See `check_file`.
        """
        if self.read_only:
            raise StoreReadOnly(self.url, "it was opened read-only")
        if self._forked_within:
            raise StoreError(self.url, _FORKED_WITHIN)
        if not self._lock.acquire(self._patience):
            raise StoreUnavailable(self.url, "its other threads write without a break")
        now = clock_gettime(CLOCK_MONOTONIC)
        if now - self._checked_at > FILE_CHECK_SECONDS:
            self.check_file()
            self._checked_at = now

    def check_file(self) -> None:
        """Refuse to go on if the path leads to another file than the one that is open.

        Raises:
            StoreReplaced: It does.
        """
        try:
            status = self.path.stat()
            file = (status.st_dev, status.st_ino)
        except OSError:
            file = None
        if self._file is None:
            self._file = file
        elif file != self._file:
            self._checked_at = self._looked_at = -math.inf  # the next one is told as well
            while self._held:
                self._held.pop().abandon()
            reason = "the file is gone" if file is None else "the path leads to another file now"
            raise StoreReplaced(self.url, reason)
