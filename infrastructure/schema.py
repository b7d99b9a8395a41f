"""The ledger's own tables: the events, the head row of each stream, and what the ledger is.

The head row of a thread's queue is also what `claim_next` and `why_blocked` answer from: ready_at
is when the turn was appended that a claim would give out now, or from not_before on; null if none
would. Two partial indexes hold the claimable threads only, so that the cost of a search doesn't
grow with the idle and the blocked ones.

`metadata` holds the read models' tables too: it is the whole schema, against which a test compares
what the migrations make.
"""

from sqlalchemy import Column, Index, Integer, LargeBinary, Table, UniqueConstraint

from turnledger.projections.plan import TABLES
from turnledger.projections.schema import integer, metadata, text

__all__ = ["TABLES", "events", "ledger", "metadata", "streams", "tracking"]

events = Table(
    "events",
    metadata,
    Column("position", Integer, primary_key=True),
    text("stream_id"),
    integer("version"),
    text("type"),
    integer("schema_version"),
    text("data"),
    text("metadata"),
    integer("recorded_at"),
    Column("hash", LargeBinary, nullable=False),
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
    integer("ready_at", nullable=True),
    integer("not_before", nullable=True),
    Column("hash", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
_READY = streams.c.ready_at.is_not(None)
READY_NOW = _READY & streams.c.not_before.is_(None)
READY_LATER = _READY & streams.c.not_before.is_not(None)
Index("streams_ready", streams.c.ready_at, streams.c.stream_id, sqlite_where=READY_NOW)
Index("streams_later", streams.c.not_before, sqlite_where=READY_LATER)

ledger = Table(
    "ledger",
    metadata,
    text("ledger_id", primary_key=True),
    text("generation"),
    integer("created_at"),
)

tracking = Table(
    "tracking",
    metadata,
    text("application_name", primary_key=True),
    integer("notification_id"),
)
