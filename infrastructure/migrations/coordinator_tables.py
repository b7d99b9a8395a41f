"""The tables of the coordinator, a part of the first schema."""

import sqlalchemy as sa
from alembic import op

from turnledger.infrastructure.migrations.parts import TEXT, partial_index


def create_coordinator() -> None:
    """Make them."""
    op.create_table(
        "coordinator_mailbox",
        sa.Column("turn_id", TEXT, nullable=False),
        sa.Column("work_item_id", TEXT, nullable=False),
        sa.Column("turn_order", sa.BigInteger, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("outcome", TEXT, nullable=True),
        sa.Column("owner", TEXT, nullable=True),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("lease_expires_at", sa.BigInteger, nullable=True),
        sa.Column("not_before", sa.BigInteger, nullable=True),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("attempt_status", TEXT, nullable=True),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("turn_id"),
        sqlite_with_rowid=False,
    )
    mailbox, unsettled = "coordinator_mailbox", "(status NOT IN ('acked', 'cancelled'))"
    op.create_index(f"{mailbox}_order", mailbox, ["work_item_id", "turn_order"])
    partial_index(f"{mailbox}_waiting", mailbox, ["work_item_id", "turn_order"], unsettled)
    partial_index(f"{mailbox}_oldest", mailbox, ["created_at", "turn_id"], unsettled)
    columns = ["turn_id", "lease_expires_at"]
    partial_index(f"{mailbox}_claimed", mailbox, columns, "status = 'claimed'")
    _provider_turns()
    op.create_table(
        "attachments",
        sa.Column("sha256", TEXT, nullable=False),
        sa.Column("turn_id", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("sha256", "turn_id"),
        sqlite_with_rowid=False,
    )


def _provider_turns() -> None:
    table = "in_flight_provider_turns"
    op.create_table(
        table,
        sa.Column("provider_turn_id", TEXT, nullable=False),
        sa.Column("coordinator_turn_id", TEXT, nullable=False),
        sa.Column("work_item_id", TEXT, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("request_hash", TEXT, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("lease_expires_at", sa.BigInteger, nullable=True),
        sa.Column("prepared_at", sa.BigInteger, nullable=False),
        sa.Column("dispatched_at", sa.BigInteger, nullable=True),
        sa.PrimaryKeyConstraint("coordinator_turn_id", "attempt"),
        sqlite_with_rowid=False,
    )
    columns = ["coordinator_turn_id", "lease_expires_at"]
    partial_index(f"{table}_dispatching", table, columns, "status = 'dispatching'")
