"""The store on PostgreSQL: connections, units of work, and what becomes of a lost answer.

Each thread has a connection of its own, in autocommit. A unit of work that changes one stream is
one SELECT and one statement; one that changes several has a transaction. Nothing takes a lock that
outlives its statement, but for rows in such a transaction: who was second is told so, and decides
again on what is there by then.
"""

import time
import weakref
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from turnledger.domain.errors import StoreReadOnly, StoreUnavailable
from turnledger.infrastructure import numbering, postgresql_health
from turnledger.infrastructure import postgresql_waiting as waiting
from turnledger.infrastructure.clock import Clock
from turnledger.infrastructure.conflict import Conflict, Disconnected, Patience
from turnledger.infrastructure.held import Held, Owner
from turnledger.infrastructure.postgresql_connection import Connections
from turnledger.infrastructure.postgresql_failures import translated
from turnledger.infrastructure.postgresql_recorder import Mark, PostgresqlRecorder
from turnledger.infrastructure.statement import POSTGRESQL, Cursor, Row


class PostgresqlStore(Connections):
    """A database on a server; see `store.Store`."""

    dialect = POSTGRESQL

    # --- units of work

    def begin(self, owner: object, *, several: bool = False) -> Cursor:
        """Begin a unit of work. `end` must follow; see `store.Store`.

        Raises:
            StoreReadOnly: It was opened read-only.
            StoreUnavailable: A command of this thread is under way, and a signal handler or a
                clock gives another one: it would be in the middle of the first.
            Disconnected: The server can't be reached.
        """
        if self.read_only:
            raise StoreReadOnly(self.url, "it was opened read-only")
        held = self.held()
        if held.owner is not None and held.owner() is not None:
            raise StoreUnavailable(self.url, "a command of this very thread is under way")
        held.lock.acquire()
        try:
            self._tidy(held)
            if several:
                held.cursor.execute("BEGIN")
            held.mark = None
            held.owner = weakref.ref(owner)
        except BaseException as error:
            self._end(held, error)
            raise
        return held.cursor

    def end(self, error: BaseException | None) -> None:
        """Commit; or roll back, if something was raised, and say it in turnledger's words.

        Raises:
            Conflict: Nothing was committed, and the same work may succeed.
        """
        self._end(self._local.held, error)

    def _end(self, held: Held, error: BaseException | None) -> None:
        held.owner = None
        try:
            if error is None:
                self._commit(held)
            elif isinstance(error, psycopg.Error):
                failure = translated(error, self.url)
                if isinstance(failure, Disconnected):
                    self.drop(held)
                raise failure from error
        finally:
            with suppress(psycopg.Error):
                self._tidy(held)
            held.lock.release()

    def _commit(self, held: Held) -> None:
        if _status(held) is not TransactionStatus.IDLE:
            try:
                held.cursor.execute("COMMIT")
            except psycopg.Error as error:
                self._settle(held, error, held.mark)
        if held.mark is not None:
            self._announcer.announce()

    def _tidy(self, held: Held) -> None:
        """Roll back what a signal or an exception left behind."""
        if _status(held) in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            held.cursor.execute("ROLLBACK")

    def widen(self) -> None:
        """Make a transaction of the unit of work, since it needs more than one statement."""
        held: Held = self._local.held
        if _status(held) is TransactionStatus.IDLE:
            held.cursor.execute("BEGIN")

    def write(self, sql: str, arguments: Row, mark: Mark) -> bool:
        """Run the statement that changes a stream.

        Returns:
            Whether it did; not if the stream isn't as it was read any more.

        Raises:
            Conflict: Nothing was committed, and the same work may succeed.
        """
        held: Held = self._local.held
        alone = _status(held) is TransactionStatus.IDLE
        if alone and held.mark is not None:
            msg = "a unit of work for one stream changes a second one"
            raise AssertionError(msg)
        held.mark = mark
        try:
            return bool(held.cursor.execute(sql, arguments).fetchone()[0] == 1)
        except psycopg.OperationalError as error:
            if not alone:
                raise
            self._settle(held, error, mark)
            return True

    def _settle(self, held: Held, error: psycopg.Error, mark: Mark | None) -> None:
        """Find out whether a statement was committed whose answer never came.

        Raises:
            Conflict: It wasn't, and never will be.
            StoreUnavailable: The server didn't come back to say.
        """
        failure = translated(error, self.url)
        if not isinstance(failure, Disconnected) or mark is None:
            raise failure from error
        process = held.process
        self.drop(held)
        if not numbering.was_committed(
            self.connect, process, mark, Patience(self._patience), error
        ):
            raise Conflict(str(error)) from error

    @contextmanager
    def writing(self) -> Generator[Cursor]:
        """A transaction from `begin` to `end`."""
        owner = Owner()
        cursor = self.begin(owner, several=True)
        try:
            yield cursor
        except BaseException as error:
            self.end(error)
            raise
        self.end(None)

    @contextmanager
    def reading(self, *, snapshot: bool = False, damaged: bool = False) -> Generator[Cursor]:
        """A cursor for a query; inside a transaction of this thread, it reads what that wrote."""
        del damaged  # the server gives no text that isn't UTF-8
        held = self.answering()
        with held.lock:
            inside = _status(held) is not TransactionStatus.IDLE
            try:
                if snapshot and not inside:
                    held.cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                yield held.cursor
            except psycopg.Error as error:
                raise self._read_failure(held, error) from error
            finally:
                if not inside:
                    with suppress(psycopg.Error):
                        self._tidy(held)

    def _read_failure(self, held: Held, error: psycopg.Error) -> Exception:
        """What a query's failure is: inside a unit of work, that may be done again."""
        failure = translated(error, self.url)
        working = held.owner is not None and held.owner() is not None
        if isinstance(failure, Disconnected):
            self.drop(held)
        return failure if working or not isinstance(failure, Conflict) else self.unavailable(error)

    def recorder(self, clock: Clock) -> PostgresqlRecorder:
        """The `eventsourcing` library's recorder on it."""
        return PostgresqlRecorder(self, clock)

    # --- the log

    def number(self) -> None:
        """Give positions to the committed events that have none yet."""
        if self.read_only:
            return
        with self.reading() as cursor:
            if _status(self._local.held) is TransactionStatus.IDLE:
                numbering.number(cursor)

    def last_position(self) -> int:
        """The position of the last event; 0 if there is none."""
        self.number()
        with self.reading() as cursor:
            position: int = cursor.execute(numbering.LAST).fetchone()[0]
            return position

    def examined(self) -> Iterator[postgresql_health.Examined]:
        """What `doctor` has to say of it."""
        with self.reading() as cursor:
            yield from postgresql_health.examined(cursor, time.time())

    def wait_for_change(self, since: int, timeout: float) -> int:
        """Wait until there is an event behind a position, or the time in seconds is out."""
        try:
            return waiting.wait_for_change(self, self.connect, since, timeout)
        except psycopg.Error as error:
            raise translated(error, self.url) from error


def _status(held: Any) -> TransactionStatus:
    return TransactionStatus(held.driver.info.transaction_status)
