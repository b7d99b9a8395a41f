"""The recorder on PostgreSQL: a command's events and all that follows from them in one statement.

Its first part writes the stream's head row, guarded by the version and the thread's life on which
the command was decided. Every other part does something only if that one did. So one journey to
the server is the whole transaction, and nobody waits for a lock of ours.

A unit of work that changes several streams has a transaction of its own, and the same statements
in it.
"""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, Protocol

import psycopg
from eventsourcing.persistence import IntegrityError, Tracking

from turnledger.infrastructure.clock import Clock
from turnledger.infrastructure.conflict import Conflict
from turnledger.infrastructure.mapper import NO_HASH, LedgerEvent
from turnledger.infrastructure.recorder import LedgerRecorder
from turnledger.infrastructure.rows import HeadChange, head_write
from turnledger.infrastructure.statement import DIALECTS, POSTGRESQL, Cursor, Row, guarded
from turnledger.infrastructure.store import Store
from turnledger.projections.plan import Plan, plan_for

_COLUMNS = "stream_id, version, type, schema_version, data, metadata, recorded_at, hash"
_VALUES = "(%s::text, %s::bigint, %s::text, %s::bigint, %s::text, %s::text, %s::bigint, %s::bytea)"
_MOST_PARTS = 40  # in one statement; a longer one takes longer to plan than to run

Part = tuple[str, Row]


class Mark(NamedTuple):
    """By what one finds out whether a statement was committed whose answer never came.

    Attributes:
        version: Of the last event that it writes.
        metadata: Of that event; the command's id is in it.
        wakes: It may give workers something to do.
    """

    stream_id: str
    version: int
    metadata: bytes
    wakes: bool = False

    @property
    def work(self) -> str | None:
        """The stream, if it may give workers something to do."""
        return self.stream_id if self.wakes else None


class Database(Store, Protocol):
    """What the recorder needs of the store beside the rest."""

    def write(self, sql: str, arguments: Row, mark: Mark) -> bool:
        """Run the statement that changes a stream; whether it did."""
        ...

    def widen(self) -> None:
        """Make a transaction of the unit of work, since it needs more than one statement."""
        ...


class PostgresqlRecorder(LedgerRecorder):
    """Writes events into a database that many workers share."""

    def __init__(self, store: Database, clock: Clock) -> None:
        """Take the store and a clock."""
        super().__init__(store, clock)
        self._database = store
        self._plan: Plan = plan_for(DIALECTS[POSTGRESQL])

    def _insert(
        self,
        cursor: Cursor,
        stored_events: Sequence[LedgerEvent],
        changes: Sequence[HeadChange],
        tracking: Tracking | None,
    ) -> None:
        try:
            if changes:
                for change in changes:
                    self._write(cursor, change, stored_events)
            else:
                self._write_alone(cursor, stored_events)
            if tracking is not None:
                self._insert_tracking(cursor, tracking)
        except psycopg.errors.UniqueViolation as error:
            if not changes:
                raise IntegrityError(str(error)) from error
            raise Conflict(str(error)) from error

    def add_head(self, cursor: Cursor, change: HeadChange) -> None:
        """Write the head row of a stream that has no events yet."""
        write, arguments = head_write(change, 0, 0, NO_HASH)
        cursor.execute(f"{write[POSTGRESQL].sql} ON CONFLICT (stream_id) DO NOTHING", arguments)
        if cursor.rowcount != 1:
            raise Conflict(f"stream {change.before.stream_id} came to be in the meantime")

    def _write(self, cursor: Cursor, change: HeadChange, events: Sequence[LedgerEvent]) -> None:
        before = change.before
        mine = [event for event in events if event.originator_id == before.stream_id]
        chained, written, parts = before.hash, [], []
        for event in mine:
            chained = event.chained_to(chained)
            written.append(_row(event, chained))
            parts += self._parts(event)
        last = mine[-1]
        head, arguments = head_write(change, last.originator_version, last.recorded_at, chained)
        new = " ON CONFLICT (stream_id) DO NOTHING" if before.is_new else ""
        together, later = parts[:_MOST_PARTS], parts[_MOST_PARTS:]
        sql = _one_statement(
            head[POSTGRESQL].sql + new, len(written), tuple(part for part, _ in together)
        )
        values = (value for row in written for value in row)
        everything = (*arguments, *values, *(value for _, row in together for value in row))
        if later:
            self._database.widen()
        version, wakes = last.originator_version, change.may_be_work
        mark = Mark(before.stream_id, version, last.metadata, wakes)
        if not self._database.write(sql, everything, mark):
            raise Conflict(f"stream {before.stream_id} isn't at version {before.version} any more")
        for part, row in later:
            cursor.execute(part, row)

    def _parts(self, event: LedgerEvent) -> list[Part]:
        """What the read models make of an event."""
        parts: list[Part] = []
        draft, stream_id = event.draft, str(event.originator_id)
        place = (stream_id, event.originator_version)

        def collect(sql: str, arguments: Row) -> None:
            parts.append((sql, arguments))

        if draft is not None:
            self._plan.run(collect, *place, draft.event, event.recorded_at)
            if draft.receipt is not None:
                self._plan.keep(collect, draft.receipt, *place, event.recorded_at)
        return parts

    def _write_alone(self, cursor: Cursor, events: Sequence[LedgerEvent]) -> None:
        """Events that no command of turnledger's made: without a head row or read models."""
        last: dict[str, bytes] = {}
        for event in events:
            stream_id = str(event.originator_id)
            previous = last.get(stream_id) or self._last_hash(cursor, stream_id)
            last[stream_id] = chained = event.chained_to(previous)
            cursor.execute(_EVENT_ALONE, _row(event, chained))


_NUMBERED = """
INSERT INTO unnumbered (event_id) SELECT id FROM event
"""
_ALONE = "INSERT INTO stored_events (COLUMNS) VALUES VALUES_OF_ONE"
_BEHIND_HEAD = "INSERT INTO stored_events (COLUMNS) SELECT given.* FROM head, (VALUES ALL) AS given"
_WRITTEN = "RETURNING id"
_EVENT_ALONE = " ".join(
    [
        "WITH event AS (",
        _ALONE.replace("COLUMNS", _COLUMNS).replace("VALUES_OF_ONE", _VALUES),
        _WRITTEN,
        ")",
        _NUMBERED,
    ]
)


@cache
def _one_statement(head: str, events: int, parts: tuple[str, ...]) -> str:
    """The statement that writes a head row, so many events, and what follows from them."""
    values = ", ".join([_VALUES] * events)
    written = _BEHIND_HEAD.replace("COLUMNS", _COLUMNS).replace("ALL", values)
    expressions = [
        f"head AS ({head} RETURNING 1)",
        f"event AS ({written} {_WRITTEN})",
        f"number AS ({_NUMBERED})",
        *(f"part_{place} AS ({guarded(part)})" for place, part in enumerate(parts)),
    ]
    return " ".join(["WITH", ", ".join(expressions), "SELECT count(*) FROM head"])


def _row(event: LedgerEvent, chained: bytes) -> Row:
    return (
        *(str(event.originator_id), event.originator_version, event.topic, event.schema_version),
        *(event.state.decode(), event.metadata.decode(), event.recorded_at, chained),
    )
