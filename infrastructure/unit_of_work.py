"""One transaction: what a command decides on is read in it, what it leads to is saved in it."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any, NamedTuple, Self

from sqlalchemy import bindparam, select

from turnledger.domain.command import Command
from turnledger.domain.errors import Unreadable
from turnledger.domain.event import Envelope, Event, Metadata, Unknown
from turnledger.domain.limits import Context, Limits
from turnledger.infrastructure.application import LedgerApplication
from turnledger.infrastructure.clock import Clock
from turnledger.infrastructure.rows import Head
from turnledger.infrastructure.schema import streams
from turnledger.infrastructure.sqlite import DIALECT, SqliteStore
from turnledger.projections.plan import compiled
from turnledger.projections.schema import from_microseconds, to_microseconds

_log = logging.getLogger(__name__)

CLOCK_STEP_MICROSECONDS = 60_000_000  # a step back by more than this is worth a word

SELECT_HEAD = compiled(
    select(streams).where(streams.c.stream_id == bindparam("stream_id")), DIALECT
)


class Origin(NamedTuple):
    """Where a command comes from, for the metadata of its events."""

    command_id: str
    actor: str | None = None
    correlation_id: str | None = None
    causation_id: str | None = None
    idempotency_key: str | None = None
    scope: str | None = None
    content_hash: str | None = None


class UnitOfWork:
    """A transaction: a context manager, committed at the end, or nothing of it.

    Attributes:
        cursor: The driver's cursor, for reads that belong to the decision.
        now: The reading of the clock by which everything in it is judged.
        stored_now: The same in microseconds.
        limits: The settings that decisions depend on.
    """

    __slots__ = (
        "__weakref__",
        "_application",
        "_clock",
        "_store",
        "cursor",
        "limits",
        "now",
        "stored_now",
    )

    def __init__(
        self, application: LedgerApplication, store: SqliteStore, clock: Clock, limits: Limits
    ) -> None:
        """Take the parts."""
        self._application = application
        self._store = store
        self._clock = clock
        self.limits = limits

    def __enter__(self) -> Self:
        """Begin, and then read the clock: waiting for the lock must not make the reading old."""
        self.cursor = self._store.begin(self)
        try:
            self._read_clock()
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
        """Commit, or roll back what raised."""
        del kind, trace
        self._store.end(error)

    def _read_clock(self) -> None:
        self.now = self._clock()
        self.stored_now = to_microseconds(self.now)

    def head(self, stream_id: str) -> Head:
        """A stream's head row."""
        row = self.cursor.execute(SELECT_HEAD.sql, (stream_id,)).fetchone()
        return Head(*row) if row else Head(stream_id)

    def context(self, head: Head) -> Context:
        """By what a command on a stream is judged, and when its events will be recorded."""
        now = self.now
        if self.stored_now >= head.recorded_at:
            return Context(now, now, self.limits)
        behind = head.recorded_at - self.stored_now
        if behind > CLOCK_STEP_MICROSECONDS:
            _log.warning("the clock is %.1f s behind the last event", behind / 1e6)
        return Context(now, from_microseconds(head.recorded_at), self.limits)

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

    def save(  # noqa: PLR0913, PLR0917 - a decision, whole
        self,
        before: Head,
        after: Head,
        events: Sequence[Event],
        command: Command,
        origin: Origin,
        context: Context,
    ) -> None:
        """Save a command's events in one stream, their read models and the stream's head row.

        Args:
            before: The head row on which the command was decided.
            after: What is to stand in it; version, time and hash are filled in.
            events: At least one.
            command: What they come from, for the record.
            origin: Where the command comes from.
            context: By what it was judged.
        """
        stream_id, version = before.stream_id, before.version
        recorded_at = max(self.stored_now, before.recorded_at)
        metadata = _metadata(command, origin, context)
        envelopes: list[Envelope] = []
        for event in events:
            version += 1
            envelopes.append(Envelope(stream_id, version, event, recorded_at, metadata))
        if origin.idempotency_key is not None:
            receipt = {"scope": origin.scope, "content_hash": origin.content_hash}
            envelopes[0] = envelopes[0]._replace(metadata={**metadata, "receipt": receipt})
        after = after._replace(version=version, recorded_at=recorded_at)
        self._application.save(*envelopes, cursor=self.cursor, heads=((before, after),))


class Glance(UnitOfWork):
    """A snapshot, for questions that take more than one query. Nothing can be saved in it."""

    __slots__ = ("_open",)

    def __enter__(self) -> Self:
        """Begin."""
        with ExitStack() as opened:
            self.cursor = opened.enter_context(self._store.reading(snapshot=True))
            self._read_clock()
            self._open = opened.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""
        self._open.__exit__(kind, error, trace)


def _metadata(command: Command, origin: Origin, context: Context) -> Metadata:
    record: dict[str, Any] = {
        "name": command.NAME,
        "id": origin.command_id,
        "arguments": command.arguments(),
    }
    if context.limits.recorded:
        record["limits"] = context.limits.recorded
    if context.recorded_at is not context.now:
        record["now"] = context.now
    metadata: Metadata = {"command": record}
    if origin[1:5] != _NOBODY:
        given = zip(_NAMES, origin[1:5], strict=True)
        metadata.update((name, value) for name, value in given if value is not None)
    return metadata


_NAMES = ("actor", "correlation_id", "causation_id", "idempotency_key")
_NOBODY = (None, None, None, None)
