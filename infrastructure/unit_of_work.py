"""One transaction: what a command decides on is read in it, what it leads to is saved in it."""

import logging
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, Self

from eventsourcing.persistence import IntegrityError
from sqlalchemy import bindparam, select

from turnledger.domain.command import RecordedCommand
from turnledger.domain.duration import from_microseconds, to_microseconds
from turnledger.domain.errors import StoreDamaged, StoreError, StoreUnavailable, Unreadable
from turnledger.domain.event import Draft, Event, Unknown
from turnledger.domain.limits import Context, Limits
from turnledger.infrastructure.application import LedgerApplication
from turnledger.infrastructure.clock import Clock
from turnledger.infrastructure.conflict import Conflict
from turnledger.infrastructure.origin import Origin, recorded, with_receipt
from turnledger.infrastructure.rows import HEAD_WIDTH, WHOLE_HEAD, Head, HeadChange
from turnledger.infrastructure.schema import streams
from turnledger.infrastructure.statement import (
    SQLITE,
    Cursor,
    Row,
    ServerTime,
    Statement,
    statement,
)
from turnledger.infrastructure.store import Store
from turnledger.projections.schema import Parameters

_log = logging.getLogger(__name__)

CLOCK_STEP_MICROSECONDS = 60_000_000  # a step back by more than this is worth a word

SELECT_HEAD = statement(select(*WHOLE_HEAD).where(streams.c.stream_id == bindparam("stream_id")))
SERVER_TIME = statement(select(ServerTime()))


class UnitOfWork:
    """A transaction: a context manager, committed at the end, or nothing of it.

    Attributes:
        cursor: The driver's cursor, for reads that belong to the decision; see `run`.
        dialect: The store's.
        now: The reading of the clock by which everything in it is judged.
        stored_now: The same in microseconds.
        limits: The settings that decisions depend on.
        lost: Why nothing of the transaction may be kept, whatever comes after.
    """

    __slots__ = (
        "__weakref__",
        "_application",
        "_clock",
        "_several",
        "_store",
        "cursor",
        "dialect",
        "limits",
        "lost",
        "now",
        "stored_now",
    )

    def __init__(
        self,
        application: LedgerApplication,
        store: Store,
        clock: Clock | None,
        limits: Limits,
        *,
        several: bool = False,
    ) -> None:
        """Take the parts.

        Args:
            application: Saves what was decided.
            store: Where.
            clock: None if the server's is the one that counts.
            limits: The settings that decisions depend on.
            several: More than one stream may be changed in it.
        """
        self._application = application
        self._store = store
        self._clock = clock
        self._several = several
        self.dialect = store.dialect
        self.limits = limits
        self.lost: StoreError | None = None

    def __enter__(self) -> Self:
        """Begin, and then read the clock: waiting for the lock must not make the reading old."""
        self.cursor = self._store.begin(self, several=self._several)
        try:
            self._read_host_clock()
        except BaseException as error:
            self._store.end(error)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit, or roll back what raised.

        Raises:
            StoreError: The transaction is lost, though the block went on.
        """
        lost = self.lost if error is None else None
        self._store.end(error or lost)
        if lost is not None:
            raise lost

    def joined(self, *, savepoint: bool) -> "Joined":
        """A part of its transaction; see there."""
        parts = (self._application, self._store, self._clock, self.limits)
        return Joined(self, savepoint, *parts)

    def run(self, what: Statement, given: Parameters) -> Cursor:
        """Run a statement that belongs to the decision."""
        ready = what[self.dialect]
        return self.cursor.execute(ready.sql, ready.arguments(given))

    def _read_host_clock(self) -> None:
        if self._clock is not None:
            self.now = now = self._clock()
            self.stored_now = to_microseconds(now)

    def read_clock(self) -> None:
        """Read the server's clock, if that is the one that counts."""
        if self._clock is None:
            self.take_time(self.run(SERVER_TIME, {}).fetchone()[0])

    def take_time(self, stored_now: int) -> None:
        """Judge by the server's clock, as it was read with a head row."""
        self.stored_now = stored_now
        self.now = from_microseconds(stored_now)

    def head(self, stream_id: str) -> Head:
        """A stream's head row."""
        return self.as_head(stream_id, self.run(SELECT_HEAD, {"stream_id": stream_id}).fetchone())

    def as_head(self, stream_id: str, row: Row | None) -> Head:
        """What was read with `WHOLE_HEAD`; it sets the time."""
        if row is None:
            self.read_clock()
            return Head(stream_id)
        if self._clock is None:
            self.take_time(row[HEAD_WIDTH + 1])
        known: Any = (*row[:HEAD_WIDTH], False)
        return Head(stream_id, *known)

    def context(self, head: Head) -> Context:
        """By what a command on a stream is judged, and when its events will be recorded."""
        now = self.now
        if self.stored_now >= head.recorded_at:
            return Context(now, now, self.limits)
        behind = head.recorded_at - self.stored_now
        if behind > CLOCK_STEP_MICROSECONDS:
            _log.warning("the clock is %.1f s behind the last event", behind / 1e6)
        return Context(now, from_microseconds(head.recorded_at), self.limits)

    def recorded_at(self, head: Head) -> int:
        """When the next events of a stream will be recorded: never before those that are there."""
        return max(self.stored_now, head.recorded_at)

    def add_head(self, change: HeadChange) -> None:
        """Write the head row of a stream that has no events yet; see the recorder's."""
        self._application.ledger_recorder.add_head(self.cursor, change)

    def events(self, stream_id: str) -> Iterator[Event]:
        """A stream's events, for a head row that another release wrote.

        Raises:
            Unreadable: One of them can't be read.
        """
        for envelope in self._application.envelopes(stream_id):
            event = envelope.event
            if isinstance(event, Unknown):
                place = f"version {envelope.originator_version} of stream {stream_id}"
                raise Unreadable(place, event.reason)
            yield event

    def save(
        self,
        change: HeadChange,
        events: Sequence[Event],
        command: RecordedCommand,
        origin: Origin,
        context: Context,
    ) -> None:
        """Save a command's events in one stream, their read models and the stream's head row.

        Args:
            change: What becomes of the head row on which the command was decided.
            events: At least one.
            command: What they come from, for the record.
            origin: Where the command comes from.
            context: By what it was judged.

        Raises:
            StoreDamaged: Where one command writes at a time, what it would write is there already.
        """
        head = change.before
        stream_id, version, recorded_at = head.stream_id, head.version, self.recorded_at(head)
        metadata = recorded(command, origin, context)
        receipt = None if origin.idempotency_key is None else origin.receipt(command)
        drafts: list[Draft] = []
        for event in events:
            version += 1
            if receipt is None:
                drafts.append(Draft(stream_id, version, event, recorded_at, metadata))
            else:
                marked = with_receipt(metadata, receipt)
                drafts.append(Draft(stream_id, version, event, recorded_at, marked, receipt))
                receipt = None
        try:
            self._application.save(*drafts, cursor=self.cursor, changes=(change,))
        except IntegrityError as error:
            if self.dialect != SQLITE:
                raise  # somebody else was first
            reason = f"a head row doesn't fit its events: {error}"
            raise StoreDamaged(self._store.url, reason) from error


class Joined(UnitOfWork):
    """A part of another one's transaction, which is undone alone if it raises.

    A command that changes one stream writes only when all is decided, so that there is nothing to
    undo when it is refused; it needs no savepoint. If the database fails it in the middle of its
    writing, the transaction is lost.
    """

    __slots__ = ("_outer", "_savepoint", "_written")

    def __init__(self, outer: UnitOfWork, savepoint: bool, *parts: Any) -> None:  # noqa: FBT001
        """Take the one around it, whether to set a savepoint, and its parts."""
        super().__init__(*parts)
        self._outer = outer
        self._savepoint = savepoint
        self.cursor = outer.cursor

    def __enter__(self) -> Self:
        """Begin, and read the clock.

        Raises:
            StoreError: The transaction is lost.
        """
        if self._outer.lost is not None:
            raise self._outer.lost
        self._read_host_clock()
        self._written = self._store.written()
        if self._savepoint:
            try:
                self.cursor.execute("SAVEPOINT command")
            except Exception as error:
                raise self._lose(error) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave it to the transaction; or undo what raised.

        Raises:
            StoreError: What raised was the driver's, or the transaction is lost.
        """
        raised = error or self.lost
        if raised is None:
            if self._savepoint:
                self.cursor.execute("RELEASE SAVEPOINT command")
            return
        undone = self._store.undo(self.cursor, self._written, savepoint=self._savepoint)
        failure = self._store.failure(raised)
        if not undone or isinstance(failure, Conflict):
            lost = self._lose(raised)
            if isinstance(raised, Exception):
                raise lost from raised
        elif failure is not None:
            raise failure from raised
        elif error is None:
            raise raised  # the block went on as if nothing were lost

    def _lose(self, error: BaseException) -> StoreError:
        """Let nothing of the transaction be kept."""
        failure = self._store.failure(error)
        if not isinstance(failure, StoreError):
            message = f"{failure or error}; nothing of the transaction was kept, do it again"
            failure = StoreUnavailable(self._store.url, message)
        self._outer.lost = failure
        return failure
