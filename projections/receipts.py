"""What each idempotency key did. A receipt outlives what its command created.

The first event of a command that was given a key says so in its metadata: its scope, the key,
and the hash of the command's name and arguments.
"""

from sqlalchemy import PrimaryKeyConstraint, Table, bindparam, insert

from turnledger.projections.schema import integer, metadata, text

receipts = Table(
    "receipts",
    metadata,
    text("scope"),
    text("idempotency_key"),
    text("command"),
    text("command_id"),
    text("content_hash"),
    text("stream_id"),
    integer("version"),
    integer("recorded_at"),
    PrimaryKeyConstraint("scope", "idempotency_key"),
    sqlite_with_rowid=False,
)

INSERT = insert(receipts).values({c.name: bindparam(c.name) for c in receipts.columns})
