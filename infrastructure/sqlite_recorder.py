"""The recorder on SQLite: statement by statement, in the transaction under way."""

import sqlite3
from collections.abc import Sequence

from eventsourcing.persistence import IntegrityError, Tracking

from turnledger.infrastructure import rows
from turnledger.infrastructure.clock import Clock
from turnledger.infrastructure.mapper import NO_HASH, LedgerEvent
from turnledger.infrastructure.recorder import LedgerRecorder
from turnledger.infrastructure.rows import HeadChange, head_write
from turnledger.infrastructure.statement import DIALECTS, SQLITE, Cursor
from turnledger.infrastructure.store import Store
from turnledger.infrastructure.write_ahead_log import WriteAheadLog
from turnledger.projections.plan import Plan, plan_for

_INSERT_EVENT = rows.INSERT_EVENT[SQLITE].sql


class SqliteRecorder(LedgerRecorder):
    """Writes events into a file."""

    def __init__(self, store: Store, clock: Clock, log: WriteAheadLog) -> None:
        """Take the store, a clock, and the log, which is told how much is written."""
        super().__init__(store, clock)
        self._plan: Plan = plan_for(DIALECTS[SQLITE])
        self._log = log

    def _insert(
        self,
        cursor: Cursor,
        stored_events: Sequence[LedgerEvent],
        changes: Sequence[HeadChange],
        tracking: Tracking | None,
    ) -> None:
        last = {change.before.stream_id: change.before.hash for change in changes}
        try:
            for event in stored_events:
                self._insert_event(cursor, event, last)
            for change in changes:
                self._write_head(cursor, change, stored_events[-1], last[change.before.stream_id])
            if tracking is not None:
                self._insert_tracking(cursor, tracking)
        except sqlite3.IntegrityError as error:
            raise IntegrityError(str(error)) from error

    def add_head(self, cursor: Cursor, change: HeadChange) -> None:
        """Write the head row of a stream that has no events yet."""
        write, arguments = head_write(change, 0, 0, NO_HASH)
        cursor.execute(write[SQLITE].sql, arguments)

    def _insert_event(self, cursor: Cursor, event: LedgerEvent, last: dict[str, bytes]) -> None:
        stream_id, version = str(event.originator_id), event.originator_version
        data, metadata, recorded_at = event.state, event.metadata, event.recorded_at
        previous = last.get(stream_id) or self._last_hash(cursor, stream_id)
        last[stream_id] = chained = event.chained_to(previous)
        row = (
            *(stream_id, version, event.topic, event.schema_version),
            *(data.decode(), metadata.decode(), recorded_at),
            bytearray(chained),  # the driver takes it without looking for an adapter first (1 µs)
        )
        execute = cursor.execute
        execute(_INSERT_EVENT, row)
        self._log.uncopied_bytes += len(data)
        draft = event.draft
        if draft is not None:
            self._plan.run(execute, stream_id, version, draft.event, recorded_at)
            if draft.receipt is not None:
                self._plan.keep(execute, draft.receipt, stream_id, version, recorded_at)

    def _write_head(
        self, cursor: Cursor, change: HeadChange, event: LedgerEvent, chained: bytes
    ) -> None:
        version, recorded_at = event.originator_version, event.recorded_at
        write, arguments = head_write(change, version, recorded_at, chained)
        cursor.execute(write[SQLITE].sql, arguments)
        if cursor.rowcount != 1:
            before = change.before
            msg = f"stream {before.stream_id} isn't at version {before.version} any more"
            raise IntegrityError(msg)
