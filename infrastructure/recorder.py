"""The recorder: how the `eventsourcing` library's events get into the tables, and out of them.

One call to `insert_events` writes the events, the head rows of their streams and what the read
models make of them. Inside a unit of work it is part of that transaction, else it makes one.
"""

import sqlite3
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from eventsourcing.persistence import (
    ApplicationRecorder,
    IntegrityError,
    Notification,
    ProcessRecorder,
    StoredEvent,
    Subscription,
    Tracking,
)
from sqlalchemy import Select, select

from turnledger.infrastructure import rows
from turnledger.infrastructure.changes import wait_for_change
from turnledger.infrastructure.clock import Clock
from turnledger.infrastructure.mapper import NO_HASH, LedgerEvent
from turnledger.infrastructure.rows import Head, Row
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.sqlite import DIALECT, SqliteStore
from turnledger.projections.plan import plan_for
from turnledger.projections.schema import to_microseconds

_PAGE = 500
_e = events.c


class LedgerRecorder(ProcessRecorder):
    """The library's recorder on a store."""

    def __init__(self, store: SqliteStore, clock: Clock) -> None:
        """Take the store, and the clock for events that bring no time of their own."""
        self.store = store
        self._clock = clock
        self._plan = plan_for(DIALECT)

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        *,
        cursor: sqlite3.Cursor | None = None,
        heads: Sequence[tuple[Head, Head]] = (),
        tracking: Tracking | None = None,
        **_kwargs: Any,
    ) -> Sequence[int] | None:
        """Write events, and what follows from them.

        Args:
            stored_events: In order; their versions go on from their streams' last ones.
            cursor: Of the transaction under way, if there is one.
            heads: For each stream, its head row before and after (the latter without its hash).
            tracking: How far another application's events have been processed.

        Returns:
            Their positions; None if there were no events, or inside a unit of work.

        Raises:
            IntegrityError: A version or tracking id is taken.
        """
        if cursor is None:
            with self.store.writing() as own:
                return self._insert(own, stored_events, heads, tracking) or None
        self._insert(cursor, stored_events, heads, tracking)
        return None

    def _insert(
        self,
        cursor: sqlite3.Cursor,
        stored_events: Sequence[StoredEvent],
        heads: Sequence[tuple[Head, Head]],
        tracking: Tracking | None,
    ) -> list[int]:
        hashes = {before.stream_id: before.hash for before, _ in heads}
        try:
            positions = [self._insert_event(cursor, event, hashes) for event in stored_events]
            for before, after in heads:
                _write_head(cursor, before, after, hashes[before.stream_id])
            if tracking is not None:
                _insert_tracking(cursor, tracking)
        except sqlite3.IntegrityError as error:
            raise IntegrityError(str(error)) from error
        return positions

    def _insert_event(
        self, cursor: sqlite3.Cursor, stored: StoredEvent, hashes: dict[str, bytes]
    ) -> int:
        event = stored if isinstance(stored, LedgerEvent) else self._plain(stored)
        stream_id = str(event.originator_id)
        previous = hashes.get(stream_id) or _last_hash(cursor, stream_id)
        hashes[stream_id] = chained = event.chained_to(previous)
        row = (
            stream_id,
            event.originator_version,
            event.topic,
            event.schema_version,
            event.state.decode(),
            event.metadata.decode(),
            event.recorded_at,
            bytearray(chained),  # the driver takes it without looking for an adapter first (1 µs)
        )
        cursor.execute(rows.INSERT_EVENT.sql, row)
        self.store.log.uncopied_bytes += len(event.state)
        position = cursor.lastrowid or 0
        if event.envelope is not None:
            self._plan.run(cursor.execute, event.envelope)
        return position

    def _plain(self, stored: StoredEvent) -> LedgerEvent:
        """An event that wasn't made by a command of turnledger's."""
        now = to_microseconds(self._clock())
        added = {"schema_version": 1, "metadata": b"{}", "recorded_at": now, "envelope": None}
        return LedgerEvent(**vars(stored), **added)

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        """A stream's events, in the order of their versions or the other way round."""
        query = select(events).where(_e.stream_id == str(originator_id))
        if gt is not None:
            query = query.where(_e.version > gt)
        if lte is not None:
            query = query.where(_e.version <= lte)
        query = query.order_by(_e.version.desc() if desc else _e.version).limit(limit)
        return [rows.as_notification(row) for row in self.select(query)]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        """Events of all streams, in the order of their positions."""
        query = select(events)
        if start is not None:
            query = query.where(_e.position >= start if inclusive_of_start else _e.position > start)
        if stop is not None:
            query = query.where(_e.position <= stop)
        if topics:
            query = query.where(_e.type.in_(topics))
        query = query.order_by(_e.position).limit(limit)
        return [rows.as_notification(row) for row in self.select(query)]

    def max_notification_id(self) -> int | None:
        """The last position; None if there are no events."""
        return self._one(rows.MAX_POSITION.sql, ())

    def subscribe(
        self, gt: int | None = None, topics: Sequence[str] = ()
    ) -> Subscription[ApplicationRecorder]:
        """Events as they come."""
        return LedgerSubscription(self, gt, topics)

    def insert_tracking(self, tracking: Tracking) -> None:
        """Say how far another application's events have been processed."""
        self.insert_events((), tracking=tracking)

    def max_tracking_id(self, application_name: str) -> int | None:
        """How far another application's events have been processed."""
        return self._one(rows.MAX_TRACKING.sql, (application_name,))

    def select(self, query: Select[Any]) -> list[Row]:
        """The rows that a query selects."""
        ready = query.compile(dialect=DIALECT, compile_kwargs={"render_postcompile": True})
        arguments = tuple(ready.params[name] for name in ready.positiontup or ())
        with self.store.reading(damaged=True) as cursor:
            return cursor.execute(str(ready), arguments).fetchall()

    def _one(self, sql: str, arguments: tuple[Any, ...]) -> int | None:
        with self.store.reading() as cursor:
            value: int | None = cursor.execute(sql, arguments).fetchone()[0]
            return value


class LedgerSubscription(Subscription[LedgerRecorder]):
    """Notifications as they come: those that are there, then each as it is committed."""

    _PATIENCE_SECONDS = 1.0

    def __init__(self, recorder: LedgerRecorder, gt: int | None, topics: Sequence[str]) -> None:
        """Start behind a position."""
        super().__init__(recorder, gt, topics)
        self._buffer: list[Notification] = []

    def __next__(self) -> Notification:
        """The next notification; waits for it until the subscription is stopped."""
        while not self._has_been_stopped:
            if self._buffer:
                notification = self._buffer.pop(0)
                self._last_notification_id = notification.id
                return notification
            self._fill()
        raise StopIteration

    def _fill(self) -> None:
        last = self._last_notification_id or 0
        found = self._recorder.select_notifications(
            last, _PAGE, topics=self._topics, inclusive_of_start=False
        )
        self._buffer = list(found)
        if not found:
            newest = self._recorder.max_notification_id() or 0
            wait_for_change(self._recorder.store, max(last, newest), self._PATIENCE_SECONDS)


def _last_hash(cursor: sqlite3.Cursor, stream_id: str) -> bytes:
    found = cursor.execute(
        rows.SELECT_HASH.sql, rows.SELECT_HASH.arguments({"stream_id": stream_id})
    ).fetchone()
    return found[0] if found else NO_HASH


def _write_head(cursor: sqlite3.Cursor, before: Head, after: Head, chained: bytes) -> None:
    columns, blob = after[1:-1], bytearray(chained)
    if before.version == 0:
        cursor.execute(rows.INSERT_HEAD.sql, (after.stream_id, *columns, blob))
        return
    key = (before.stream_id, before.version)
    cursor.execute(rows.UPDATE_HEAD.sql, (*columns, blob, *key))
    if cursor.rowcount != 1:
        msg = f"stream {after.stream_id} isn't at version {before.version} any more"
        raise IntegrityError(msg)


def _insert_tracking(cursor: sqlite3.Cursor, tracking: Tracking) -> None:
    name, notification_id = tracking.application_name, tracking.notification_id
    arguments = {"name": name, "further": notification_id}
    further = rows.TRACK_FURTHER
    cursor.execute(further.sql, further.arguments(arguments))
    if cursor.rowcount == 0:
        cursor.execute(rows.TRACK.sql, (name, notification_id))
