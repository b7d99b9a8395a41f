"""The events, and what the ledger is: a part of the first schema."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from turnledger.infrastructure.migrations.parts import TEXT


def create_events() -> None:
    """Make them, on the store of this migration."""
    if op.get_bind().dialect.name == "postgresql":
        _on_postgresql()
    else:
        op.create_table(
            "events",
            sa.Column("position", sa.Integer, primary_key=True),
            *_event_columns(),
            sa.UniqueConstraint("stream_id", "version", name="events_stream_version"),
        )
        for action in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER events_no_{action.lower()} BEFORE {action} ON events "
                "BEGIN SELECT RAISE(ABORT, 'events are append-only'); END"
            )
    op.create_table(
        "ledger",
        sa.Column("ledger_id", TEXT, primary_key=True, nullable=False),
        sa.Column("generation", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("encrypted", sa.BigInteger, nullable=False),
    )


def _event_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column("stream_id", TEXT, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("schema_version", sa.BigInteger, nullable=False),
        sa.Column("data", TEXT, nullable=False),
        sa.Column("metadata", TEXT, nullable=False),
        sa.Column("recorded_at", sa.BigInteger, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
    ]


def _on_postgresql() -> None:
    op.create_table(
        "stored_events",
        sa.Column("id", sa.BigInteger, sa.Identity(always=True), primary_key=True),
        *_event_columns(),
        sa.UniqueConstraint("stream_id", "version", name="stored_events_stream_version"),
    )
    op.create_table(
        "unnumbered",
        sa.Column("event_id", sa.BigInteger, primary_key=True, autoincrement=False),
    )
    op.create_table(
        "positions",
        sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("event_id", sa.BigInteger, nullable=False, unique=True),
    )
    for statement in (_APPEND_ONLY, _NO_CHANGE, _NO_TRUNCATE, _EVENTS):
        op.execute(statement)


_APPEND_ONLY = """
CREATE FUNCTION events_are_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'events are append-only'; END $$
"""
_NO_CHANGE = """
CREATE TRIGGER stored_events_no_change BEFORE UPDATE OR DELETE ON stored_events
FOR EACH ROW EXECUTE FUNCTION events_are_append_only()
"""
_NO_TRUNCATE = """
CREATE TRIGGER stored_events_no_truncate BEFORE TRUNCATE ON stored_events
FOR EACH STATEMENT EXECUTE FUNCTION events_are_append_only()
"""
_EVENTS = """
CREATE VIEW events AS
SELECT place.position, event.stream_id, event.version, event.type, event.schema_version,
       event.data, event.metadata, event.recorded_at, event.hash
FROM stored_events AS event LEFT JOIN positions AS place ON place.event_id = event.id
"""
