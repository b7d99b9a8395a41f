"""The tables of runs and operations, a part of the first schema."""

import sqlalchemy as sa
from alembic import op

from turnledger.infrastructure.migrations.parts import TEXT, partial_index


def create_operations() -> None:
    """Make them."""
    op.create_table(
        "runs",
        sa.Column("run_id", TEXT, nullable=False),
        sa.Column("work_item_id", TEXT, nullable=False),
        sa.Column("action_id", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("expires_at", sa.BigInteger, nullable=True),
        sa.Column("evidence", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("run_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("runs_of_work_item", "runs", ["work_item_id", "run_id"])
    _operations()
    op.execute(_OPEN_OPERATIONS)


def _operations() -> None:
    table = "operations"
    op.create_table(
        table,
        sa.Column("key", TEXT, nullable=False),
        sa.Column("run_id", TEXT, nullable=False),
        sa.Column("work_item_id", TEXT, nullable=False),
        sa.Column("action_id", TEXT, nullable=False),
        sa.Column("operation_type", TEXT, nullable=False),
        sa.Column("replay_policy", TEXT, nullable=False),
        sa.Column("execution", TEXT, nullable=False),
        sa.Column("effect", TEXT, nullable=False),
        sa.Column("execution_epoch", sa.BigInteger, nullable=False),
        sa.Column("owner", TEXT, nullable=True),
        sa.Column("run_epoch", sa.BigInteger, nullable=True),
        sa.Column("reason", TEXT, nullable=True),
        sa.Column("completed_version", sa.BigInteger, nullable=True),
        sa.Column("resolved_version", sa.BigInteger, nullable=True),
        sa.Column("evidence", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("updated_at", sa.BigInteger, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("key"),
        sqlite_with_rowid=False,
    )
    op.create_index("operations_of_work_item", table, ["work_item_id", "key"])
    partial_index("operations_open", table, ["work_item_id", "key"], _OPEN)
    running = "execution IN ('running', 'cancel_requested')"
    partial_index("operations_running", table, ["key"], running)
    partial_index("operations_waiting", table, ["key"], "execution = 'not_started'")


_OPEN = "execution != 'quiescent' OR effect = 'unknown'"
_OPEN_OPERATIONS = """
CREATE VIEW open_operations AS
SELECT work_item_id, key, run_id, action_id, operation_type, replay_policy, execution, effect,
       execution_epoch, owner, run_epoch, reason, evidence, created_at, updated_at
FROM operations
WHERE execution != 'quiescent' OR effect = 'unknown'
"""
