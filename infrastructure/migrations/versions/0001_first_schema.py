"""The first schema: events, heads, and the read models of the queue."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_TURN = (
    ("thread_id", sa.Text, False),
    ("queue_order", sa.BigInteger, False),
    ("queued_turn_id", sa.Text, False),
    ("submission", sa.Text, True),
    ("submission_version", sa.BigInteger, False),
    ("appended_version", sa.BigInteger, False),
    ("state", sa.Text, False),
    ("failure", sa.Text, True),
    ("altered", sa.Boolean, False),
    ("outcome_unknown", sa.Boolean, False),
    ("dispatch_id", sa.Text, True),
    ("evidence", sa.Text, False),
    ("attempts", sa.Integer, False),
    ("claims", sa.Integer, False),
    ("not_before", sa.BigInteger, True),
    ("created_at", sa.BigInteger, False),
    ("updated_at", sa.BigInteger, False),
    ("version", sa.BigInteger, False),
)


def upgrade() -> None:
    """Make the tables."""
    _truth()
    _queue()
    _registers()


def _truth() -> None:
    op.create_table(
        "events",
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("stream_id", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("schema_version", sa.BigInteger, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("recorded_at", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("stream_id", "version", name="events_stream_version"),
    )
    for action in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER events_no_{action.lower()} BEFORE {action} ON events "
            "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END"
        )
    op.create_table(
        "streams",
        sa.Column("stream_id", sa.Text, primary_key=True, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("form", sa.BigInteger, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("recorded_at", sa.BigInteger, nullable=False),
        sa.Column("ready_at", sa.BigInteger, nullable=True),
        sa.Column("not_before", sa.BigInteger, nullable=True),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "streams_ready",
        "streams",
        ["ready_at", "stream_id"],
        sqlite_where=sa.text("ready_at IS NOT NULL AND not_before IS NULL"),
    )
    op.create_index(
        "streams_later",
        "streams",
        ["not_before"],
        sqlite_where=sa.text("ready_at IS NOT NULL AND not_before IS NOT NULL"),
    )
    op.create_table(
        "ledger",
        sa.Column("ledger_id", sa.Text, primary_key=True, nullable=False),
        sa.Column("generation", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
    )


def _turns(name: str, *more: sa.schema.SchemaItem) -> None:
    columns = [sa.Column(column, kind, nullable=null) for column, kind, null in _TURN]
    op.create_table(name, *columns, *more, sqlite_with_rowid=False)


def _queue() -> None:
    _turns("visible_queue", sa.PrimaryKeyConstraint("thread_id", "queue_order"))
    id_columns = ["thread_id", "queued_turn_id"]
    op.create_index("visible_queue_id", "visible_queue", id_columns, unique=True)
    _turns(
        "in_flight_turns",
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("thread_id"),
    )
    _turns("settled_turns", sa.PrimaryKeyConstraint("thread_id", "queued_turn_id"))


def _registers() -> None:
    op.create_table(
        "dispatches",
        sa.Column("thread_id", sa.Text, nullable=False),
        sa.Column("dispatch_id", sa.Text, nullable=False),
        sa.Column("queued_turn_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("thread_id", "dispatch_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "receipts",
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("idempotency_key", sa.Text, nullable=False),
        sa.Column("command", sa.Text, nullable=False),
        sa.Column("command_id", sa.Text, nullable=False),
        sa.Column("content_hash", sa.Text, nullable=False),
        sa.Column("stream_id", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("recorded_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("scope", "idempotency_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tracking",
        sa.Column("application_name", sa.Text, primary_key=True, nullable=False),
        sa.Column("notification_id", sa.BigInteger, nullable=False),
    )
