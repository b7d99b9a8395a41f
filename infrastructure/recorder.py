"""The recorder: how the `eventsourcing` library's events get into the tables, and out of them.

One call to `insert_events` writes the events, the head rows of their streams and what the read
models make of them. Inside a unit of work it is part of that transaction, else it makes one.
"""

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from eventsourcing.persistence import (
    ApplicationRecorder,
    Notification,
    ProcessRecorder,
    StoredEvent,
    Subscription,
    Tracking,
)
from sqlalchemy import Select, select

from turnledger.domain.duration import to_microseconds
from turnledger.infrastructure import rows
from turnledger.infrastructure.clock import Clock
from turnledger.infrastructure.mapper import NO_HASH, LedgerEvent
from turnledger.infrastructure.rows import HeadChange
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import DIALECTS, Cursor, Row, Statement, run
from turnledger.infrastructure.store import Store
from turnledger.projections.schema import Parameters

_PAGE = 500
_e = events.c


class LedgerRecorder(ProcessRecorder):
    """The library's recorder on a store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Take the store, and the clock for events that bring no time of their own."""
        self.store = store
        self._clock = clock

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        *,
        cursor: Cursor | None = None,
        changes: Sequence[HeadChange] = (),
        tracking: Tracking | None = None,
        **_kwargs: Any,
    ) -> Sequence[int] | None:
        """Write events, and what follows from them.

        Args:
            stored_events: In order; their versions go on from their streams' last ones.
            cursor: Of the transaction under way, if there is one.
            changes: What becomes of each stream's head row.
            tracking: How far another application's events have been processed.

        Returns:
            Their positions; None if there were no events, or inside a unit of work.

        Raises:
            IntegrityError: A version or tracking id is taken.
        """
        events = [e if isinstance(e, LedgerEvent) else self._plain(e) for e in stored_events]
        if cursor is not None:
            self._insert(cursor, events, changes, tracking)
            return None
        with self.store.writing() as own:
            self._insert(own, events, changes, tracking)
        return self._positions(events) or None

    def _positions(self, stored_events: Sequence[LedgerEvent]) -> list[int]:
        self.store.number()
        places = [(str(e.originator_id), e.originator_version) for e in stored_events]
        found = ({"stream_id": stream_id, "version": version} for stream_id, version in places)
        with self.store.reading() as cursor:
            ask = partial(run, cursor, self.store.dialect, rows.POSITION)
            return [ask(place).fetchone()[0] for place in found]

    @abstractmethod
    def _insert(
        self,
        cursor: Cursor,
        stored_events: Sequence[LedgerEvent],
        changes: Sequence[HeadChange],
        tracking: Tracking | None,
    ) -> None:
        """Write events, their head rows and what the read models make of them."""

    @abstractmethod
    def add_head(self, cursor: Cursor, change: HeadChange) -> None:
        """Write the head row of a stream that has no events yet.

        Raises:
            Conflict: There is one.
        """

    def _last_hash(self, cursor: Cursor, stream_id: str) -> bytes:
        """The hash of a stream's last event."""
        given = {"stream_id": stream_id}
        found = run(cursor, self.store.dialect, rows.SELECT_HASH, given).fetchone()
        return bytes(found[0]) if found else NO_HASH

    def _insert_tracking(self, cursor: Cursor, tracking: Tracking) -> None:
        """Say how far another application's events have been processed; never less far."""
        name, further = tracking.application_name, tracking.notification_id
        dialect = self.store.dialect
        run(cursor, dialect, rows.TRACK_FURTHER, {"name": name, "further": further})
        if cursor.rowcount == 0:
            run(cursor, dialect, rows.TRACK, {"application_name": name, "notification_id": further})

    def _plain(self, stored: StoredEvent) -> LedgerEvent:
        """An event that wasn't made by a command of turnledger's."""
        now = to_microseconds(self._clock())
        added = {"schema_version": 1, "metadata": b"{}", "recorded_at": now, "draft": None}
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
        return self._one(rows.MAX_POSITION, {})

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
        return self._one(rows.MAX_TRACKING, {"name": application_name})

    def select(self, query: Select[Any], *, beside: bool = False) -> list[Row]:
        """The rows that a query selects.

        Args:
            query: On events.
            beside: Within a unit of work, too, all that is committed has its position.
        """
        dialect = DIALECTS[self.store.dialect]
        ready = query.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
        arguments = tuple(ready.params[name] for name in ready.positiontup or ())
        self.store.number(beside=beside)
        with self.store.reading(damaged=True) as cursor:
            found: list[Row] = cursor.execute(str(ready), arguments).fetchall()
            return found

    def _one(self, what: Statement, given: Parameters) -> int | None:
        self.store.number()
        with self.store.reading() as cursor:
            value: int | None = run(cursor, self.store.dialect, what, given).fetchone()[0]
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
            self._recorder.store.wait_for_change(max(last, newest), self._PATIENCE_SECONDS)
