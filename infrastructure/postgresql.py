"""The store on PostgreSQL: connections, units of work, and what becomes of a lost answer.

Each thread has a connection of its own, in autocommit. A unit of work that changes one stream is
one SELECT and one statement; one that changes several has a transaction. Nothing takes a lock that
outlives its statement, but for rows in such a transaction: who was second is told so, and decides
again on what is there by then.
"""

import time
import weakref
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from turnledger.domain.errors import StoreError, StoreReadOnly, StoreUnavailable
from turnledger.infrastructure import numbering, postgresql_health
from turnledger.infrastructure import postgresql_questions as questions
from turnledger.infrastructure import postgresql_waiting as waiting
from turnledger.infrastructure.clock import Clock
from turnledger.infrastructure.conflict import Conflict, Disconnected, Interrupted, Patience
from turnledger.infrastructure.fair_lock import FairLock
from turnledger.infrastructure.held import Held
from turnledger.infrastructure.postgresql_connection import Connections
from turnledger.infrastructure.postgresql_failures import translated
from turnledger.infrastructure.postgresql_questions import (
    Questions,
    Written,
    begin_snapshot,
    number,
    status,
)
from turnledger.infrastructure.postgresql_recorder import Mark, PostgresqlRecorder
from turnledger.infrastructure.statement import POSTGRESQL, Cursor, Row
from turnledger.infrastructure.store import writing

Answer = TypeVar("Answer")


class PostgresqlStore(Connections):
    """A database on a server; see `store.Store`."""

    dialect = POSTGRESQL
    writer: FairLock | None = None

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
            held.mark, held.settled, held.wakes = None, False, None
            held.owner = weakref.ref(owner)
            self._local.working = held
        except BaseException as error:
            self._end(held, error)
            raise
        return held.cursor

    def end(self, error: BaseException | None) -> None:
        """Commit; or roll back, if something was raised, and say it in turnledger's words.

        Raises:
            Conflict: Nothing was committed, and the same work may succeed.
        """
        self._end(self._local.working, error)

    def _end(self, held: Held, error: BaseException | None) -> None:
        held.owner = self._local.working = None
        try:
            if error is None:
                self._commit(held)
            elif isinstance(error, psycopg.Error):
                raise self._failure(held, error) from error
        finally:
            with suppress(psycopg.Error):
                self._tidy(held)
            held.lock.release()

    def _commit(self, held: Held) -> None:
        if not held.settled and status(held) is not TransactionStatus.IDLE:
            try:
                held.cursor.execute("COMMIT")
            except psycopg.Error as error:
                self._settle(held, error, held.mark)
        if held.mark is not None:
            self._announcer.announce(held.wakes)

    def _tidy(self, held: Held) -> None:
        """Roll back what a signal or an exception left behind."""
        if status(held) in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            held.cursor.execute("ROLLBACK")

    def widen(self) -> None:
        """Make a transaction of the unit of work, since it needs more than one statement."""
        held: Held = self._local.working
        if status(held) is TransactionStatus.IDLE:
            held.cursor.execute("BEGIN")

    def write(self, sql: str, arguments: Row, mark: Mark) -> bool:
        """Run the statement that changes a stream.

        Returns:
            Whether it did; not if the stream isn't as it was read any more.

        Raises:
            Conflict: Nothing was committed, and the same work may succeed.
        """
        held: Held = self._local.working
        alone = status(held) is TransactionStatus.IDLE
        if alone and held.mark is not None:
            msg = "a unit of work for one stream changes a second one"
            raise AssertionError(msg)
        if alone:
            held.mark = mark  # it may be committed though no answer comes
        try:
            written = bool(held.cursor.execute(sql, arguments).fetchone()[0] == 1)
        except psycopg.OperationalError as error:
            if not alone:
                raise
            self._settle(held, error, mark)
            held.wakes = mark.work
            return True
        if written:
            held.mark, held.wakes = mark, held.wakes or mark.work
            held.writes += 1
        return written

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
        held.settled = True

    def written(self) -> Written:
        """What was written in the unit of work that is under way."""
        return questions.written(self._local.working)

    def undo(self, cursor: Cursor, written: Written, *, savepoint: bool) -> bool:
        """Undo what was written since; see `store.Store`."""
        del cursor  # the connection's
        return questions.undo(self._local.working, written, savepoint=savepoint)

    def failure(self, error: BaseException) -> Exception | None:
        """What an error of psycopg's means."""
        if not isinstance(error, psycopg.Error):
            return None
        return self._failure(self._local.working, error)

    def writing(self) -> AbstractContextManager[Cursor]:
        """A transaction from `begin` to `end`."""
        return writing(self)

    # --- questions

    @contextmanager
    def reading(self, *, snapshot: bool = False, damaged: bool = False) -> Generator[Cursor]:
        """A cursor for queries; inside a unit of work or a snapshot, it reads what that reads.

        A query whose connection breaks is asked again, but not those of a snapshot.

        Raises:
            StoreUnavailable: The connection broke in the middle of a snapshot.
            Conflict: It broke in the middle of a unit of work.
        """
        del damaged  # the server gives no text that isn't UTF-8
        if (held := self._working()) is not None:
            yield from self._inside(held)
        elif not snapshot:
            yield Questions(self.ask)
        else:
            yield from self._snapshot(self.ask(begin_snapshot))

    def _inside(self, held: Held) -> Generator[Cursor]:
        try:
            yield held.cursor
        except psycopg.Error as error:
            failure = self._failure(held, error)
            if isinstance(failure, Conflict):
                raise Interrupted(self.url, str(failure)) from error
            raise failure from error

    def _snapshot(self, held: Held) -> Generator[Cursor]:
        with held.lock:
            self._local.working = held
            try:
                yield held.cursor
            except psycopg.Error as error:
                failure = self._failure(held, error)
                known = isinstance(failure, StoreError)
                raise (failure if known else self.unavailable(error)) from error
            except Conflict as error:  # from a question inside it
                raise self.unavailable(error) from error
            finally:
                self._local.working = None
                with suppress(psycopg.Error):
                    self._tidy(held)

    def ask(self, question: Callable[[Held], Answer]) -> Answer:
        """Ask the server, again and again until it answers.

        Args:
            question: Changes nothing, or what may be done twice.

        Raises:
            StoreUnavailable: It didn't answer within the busy_timeout.
        """
        patience: Patience | None = None
        while True:
            try:
                return self._asked(question)
            except Conflict as conflict:
                patience = patience or Patience(self._patience)
                patience.wait(self.url, conflict)

    def _asked(self, question: Callable[[Held], Answer]) -> Answer:
        held = self.held()
        with held.lock:
            try:
                return question(held)
            except psycopg.Error as error:
                failure = self._failure(held, error)
                with suppress(psycopg.Error):
                    self._tidy(held)
                raise failure from error

    def _working(self) -> Held | None:
        """This thread's connection, if a unit of work or a snapshot is under way on it."""
        held: Held | None = getattr(self._local, "working", None)
        if held is None or (held.owner is not None and held.owner() is None):
            return None
        return held

    def _failure(self, held: Held, error: psycopg.Error) -> StoreError | Conflict:
        """What went wrong on a connection, in turnledger's words; it is dropped if it is over."""
        failure = translated(error, self.url)
        if isinstance(failure, Disconnected):
            self.drop(held)
        return failure

    def recorder(self, clock: Clock) -> PostgresqlRecorder:
        """The `eventsourcing` library's recorder on it."""
        return PostgresqlRecorder(self, clock)

    # --- the log

    def number(self, *, beside: bool = False) -> None:
        """Give positions to the committed events that have none yet; see `store.Store`."""
        if self.read_only:
            return
        if self._working() is None:
            self.ask(number)
        elif beside:
            with self.connect() as another:
                numbering.number(another.cursor())

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

    wait_for_change = waiting.wait_for_change
    wait_for_work = waiting.wait_for_work
    stop_waiting, last_told = waiting.stop_waiting, waiting.last_told
