"""The ledger's own tables: the events, the head row of each stream, and what the ledger is.

The head row of a thread's queue is also what `claim_next` and `why_blocked` answer from: ready_at
is when the turn was appended that a claim would give out now, or from not_before on; null if none
would. And it says what is in flight: which turn, its dispatch, its owner, until and since when; and
whether its thread is active, archived or deleted. A thread whose life is known before its queue
has a head row of version 0 for it, so that there is a row on which commands can meet.
Partial indexes hold the claimable threads and those with something in flight only, so that the
cost of a search doesn't grow with the idle and the blocked ones.

`metadata` holds the read models' tables too: it is the whole schema, against which a test compares
what the migrations make.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
)
from sqlalchemy.sql.elements import ColumnElement

from turnledger.projections.plan import TABLES
from turnledger.projections.schema import integer, metadata, text

__all__ = [
    "TABLES",
    "events",
    "ledger",
    "metadata",
    "on_postgresql",
    "positions",
    "stored_events",
    "streams",
    "tracking",
    "unnumbered",
]


def _event_columns() -> tuple[Column[Any], ...]:
    return (
        text("stream_id"),
        integer("version"),
        text("type"),
        integer("schema_version"),
        text("data"),
        text("metadata"),
        integer("recorded_at"),
        Column("hash", LargeBinary, nullable=False),
    )


events = Table(
    "events",
    metadata,
    Column("position", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    *_event_columns(),
    UniqueConstraint("stream_id", "version", name="events_stream_version"),
)

streams = Table(
    "streams",
    metadata,
    text("stream_id", primary_key=True),
    integer("version"),
    integer("epoch"),
    integer("form"),
    text("state"),
    integer("recorded_at"),
    text("lifecycle"),
    integer("ready_at", nullable=True),
    integer("not_before", nullable=True),
    text("in_flight_id", nullable=True),
    text("dispatch_id", nullable=True),
    text("owner", nullable=True),
    integer("expires_at", nullable=True),
    integer("in_flight_at", nullable=True),
    Column("hash", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
_READY = streams.c.ready_at.is_not(None)
READY_NOW = _READY & streams.c.not_before.is_(None)
READY_LATER = _READY & streams.c.not_before.is_not(None)
IN_FLIGHT = streams.c.in_flight_id.is_not(None)


def _partial(name: str, where: ColumnElement[bool], *columns: Any) -> None:
    Index(name, *columns, sqlite_where=where, postgresql_where=where)


_partial("streams_ready", READY_NOW, streams.c.ready_at, streams.c.stream_id)
_partial("streams_later", READY_LATER, streams.c.not_before)
_partial("streams_in_flight", IN_FLIGHT, streams.c.stream_id)

ledger = Table(
    "ledger",
    metadata,
    text("ledger_id", primary_key=True),
    text("generation"),
    integer("created_at"),
    integer("encrypted"),
)

tracking = Table(
    "tracking",
    metadata,
    text("application_name", primary_key=True),
    integer("notification_id"),
)

# On PostgreSQL `events` is a view of these. A command's events get their positions after its
# commit, from whoever reads next; until then they stand in `unnumbered` as well (ADR 14).
on_postgresql = MetaData()

stored_events = Table(
    "stored_events",
    on_postgresql,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    *_event_columns(),
    UniqueConstraint("stream_id", "version", name="stored_events_stream_version"),
)

unnumbered = Table(
    "unnumbered",
    on_postgresql,
    Column("event_id", BigInteger, primary_key=True, autoincrement=False),
)

positions = Table(
    "positions",
    on_postgresql,
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("event_id", BigInteger, nullable=False, unique=True),
)
