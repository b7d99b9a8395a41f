"""The first schema: events, heads, and the read models of the queue and the inbox."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from turnledger.infrastructure.migrations.coordinator_tables import create_coordinator
from turnledger.infrastructure.migrations.event_tables import create_events
from turnledger.infrastructure.migrations.operation_tables import create_operations
from turnledger.infrastructure.migrations.parts import TEXT as _TEXT
from turnledger.infrastructure.migrations.parts import partial_index as _partial_index
from turnledger.infrastructure.migrations.views import create_views

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    create_events()
    _heads()
    _queue()
    _inbox()
    _timers()
    create_coordinator()
    create_operations()
    _registers()
    create_views()


def _heads() -> None:
    op.create_table(
        "streams",
        sa.Column("stream_id", _TEXT, primary_key=True, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("form", sa.BigInteger, nullable=False),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("recorded_at", sa.BigInteger, nullable=False),
        sa.Column("lifecycle", _TEXT, nullable=False),
        sa.Column("ready_at", sa.BigInteger, nullable=True),
        sa.Column("not_before", sa.BigInteger, nullable=True),
        sa.Column("in_flight_id", _TEXT, nullable=True),
        sa.Column("dispatch_id", _TEXT, nullable=True),
        sa.Column("owner", _TEXT, nullable=True),
        sa.Column("expires_at", sa.BigInteger, nullable=True),
        sa.Column("in_flight_at", sa.BigInteger, nullable=True),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    _partial_index(
        "streams_ready",
        "streams",
        ["ready_at", "stream_id"],
        "ready_at IS NOT NULL AND not_before IS NULL",
    )
    _partial_index(
        "streams_later",
        "streams",
        ["not_before"],
        "ready_at IS NOT NULL AND not_before IS NOT NULL",
    )
    _partial_index("streams_in_flight", "streams", ["stream_id"], "in_flight_id IS NOT NULL")


def _queue() -> None:
    op.create_table(
        "queued_turns",
        sa.Column("thread_id", _TEXT, nullable=False),
        sa.Column("queued_turn_id", _TEXT, nullable=False),
        sa.Column("queue_order", sa.BigInteger, nullable=False),
        sa.Column("submission_version", sa.BigInteger, nullable=False),
        sa.Column("appended_version", sa.BigInteger, nullable=False),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("failure", _TEXT, nullable=True),
        sa.Column("altered", sa.Boolean, nullable=False),
        sa.Column("outcome_unknown", sa.Boolean, nullable=False),
        sa.Column("dispatch_id", _TEXT, nullable=True),
        sa.Column("evidence", _TEXT, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("claims", sa.Integer, nullable=False),
        sa.Column("not_before", sa.BigInteger, nullable=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("thread_id", "queued_turn_id"),
        sqlite_with_rowid=False,
    )
    _partial_index(
        "queued_turns_live",
        "queued_turns",
        ["thread_id", "queue_order"],
        "(state NOT IN ('acked', 'deleted'))",
        unique=True,
    )
    on_postgresql = op.get_bind().dialect.name == "postgresql"
    submission = _SUBMISSION_ON_POSTGRESQL if on_postgresql else _SUBMISSION_ON_SQLITE
    op.execute(_VISIBLE_QUEUE.replace("SUBMISSION", submission))
    op.execute(_IN_FLIGHT_TURNS)


_SUBMISSION_ON_SQLITE = (
    "CASE WHEN json_valid(event.data) THEN json_extract(event.data, '$.submission') END"
)
_SUBMISSION_ON_POSTGRESQL = "(event.data::json -> 'submission')::text"
_VISIBLE_QUEUE = """
CREATE VIEW visible_queue AS
SELECT turn.thread_id, turn.queue_order, turn.queued_turn_id,
       SUBMISSION AS submission,
       turn.state, turn.failure, turn.altered, turn.outcome_unknown, turn.dispatch_id,
       turn.evidence, turn.attempts, turn.not_before, turn.created_at, turn.updated_at
FROM queued_turns AS turn
LEFT JOIN streams AS stream ON stream.stream_id = 'thread_queue:' || turn.thread_id
LEFT JOIN events AS event
    ON event.stream_id = stream.stream_id AND event.version = turn.submission_version
    AND event.schema_version = 1
WHERE turn.state NOT IN ('acked', 'deleted')
    AND (stream.in_flight_id IS NULL OR turn.queued_turn_id <> stream.in_flight_id)
"""

_IN_FLIGHT_TURNS = """
CREATE VIEW in_flight_turns AS
SELECT substr(stream_id, length('thread_queue:') + 1) AS thread_id,
       in_flight_id AS queued_turn_id, dispatch_id, owner, epoch, expires_at
FROM streams
WHERE in_flight_id IS NOT NULL
"""


def _columns(kind: Any, *names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    """Columns of one kind that stand side by side."""
    return [sa.Column(name, kind, nullable=nullable) for name in names]


def _inbox() -> None:
    op.create_table(
        "inbox_messages",
        *_columns(_TEXT, "thread_id", "message_id"),
        *_columns(sa.BigInteger, "arrival", "posted_version", "queued_at"),
        *_columns(_TEXT, "source", "delivery", "state"),
        *_columns(_TEXT, "reason", nullable=True),
        *_columns(sa.Integer, "claims", "deliveries"),
        *_columns(_TEXT, "owner", nullable=True),
        *_columns(sa.BigInteger, "epoch", "expires_at", nullable=True),
        *_columns(_TEXT, "evidence"),
        *_columns(sa.BigInteger, "created_at", "updated_at", "version"),
        sa.PrimaryKeyConstraint("thread_id", "message_id"),
        sa.UniqueConstraint("message_id", name="inbox_messages_message_id"),
        sqlite_with_rowid=False,
    )
    place = ["thread_id", "queued_at", "arrival"]
    _partial_index("inbox_messages_waiting", "inbox_messages", place, "state = 'pending'")
    _partial_index("inbox_messages_undelivered", "inbox_messages", place, "state = 'expired'")
    flying = "state = 'claimed'"
    _partial_index("inbox_messages_in_flight", "inbox_messages", ["thread_id"], flying, unique=True)


def _timers() -> None:
    op.create_table(
        "due_timers",
        sa.Column("timer_id", _TEXT, nullable=False),
        sa.Column("thread_id", _TEXT, nullable=False),
        sa.Column("next_run_at", sa.BigInteger, nullable=True),
        sa.Column("due", sa.Boolean, nullable=False),
        sa.Column("last_run_at", sa.BigInteger, nullable=True),
        sa.Column("runs", sa.BigInteger, nullable=False),
        sa.Column("paused", sa.Boolean, nullable=False),
        *_columns(_TEXT, "trigger", "delivery", "content", "instructions", "metadata", "source"),
        sa.Column("client_id", _TEXT, nullable=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("state", _TEXT, nullable=False),
        sa.Column("error", _TEXT, nullable=True),
        sa.Column("idle", sa.Boolean, nullable=False),
        sa.Column("archived", sa.Boolean, nullable=False),
        sa.Column("unarchived_at", sa.BigInteger, nullable=True),
        sa.Column("message_id", _TEXT, nullable=True),
        sa.Column("time_zone_data", _TEXT, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("timer_id"),
        sqlite_with_rowid=False,
    )
    live = "state IN ('scheduled', 'error')"
    fires = "state = 'scheduled' AND paused = false AND archived = false"
    columns = ["thread_id", "created_at", "timer_id"]
    _partial_index("due_timers_planned", "due_timers", ["next_run_at"], f"{fires} AND idle = false")
    _partial_index("due_timers_idle", "due_timers", ["thread_id"], f"{fires} AND idle = true")
    _partial_index("due_timers_live", "due_timers", columns, live)
    _partial_index(
        "due_timers_zoned", "due_timers", ["time_zone_data"], f"{live} AND time_zone_data != ''"
    )
    op.create_index("due_timers_of_thread", "due_timers", ["thread_id", "timer_id"])


def _registers() -> None:
    op.create_table(
        "dispatches",
        sa.Column("thread_id", _TEXT, nullable=False),
        sa.Column("dispatch_id", _TEXT, nullable=False),
        sa.Column("queued_turn_id", _TEXT, nullable=False),
        sa.Column("owner", _TEXT, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("thread_id", "dispatch_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "receipts",
        sa.Column("scope", _TEXT, nullable=False),
        sa.Column("idempotency_key", _TEXT, nullable=False),
        sa.Column("command", _TEXT, nullable=False),
        sa.Column("command_id", _TEXT, nullable=False),
        sa.Column("content_hash", _TEXT, nullable=False),
        sa.Column("stream_id", _TEXT, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("recorded_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("scope", "idempotency_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tracking",
        sa.Column("application_name", _TEXT, primary_key=True, nullable=False),
        sa.Column("notification_id", sa.BigInteger, nullable=False),
    )
