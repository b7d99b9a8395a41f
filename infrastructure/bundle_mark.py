"""How a bundle can be told from a ledger: by a number in the head of the file."""

import sqlite3

APPLICATION_ID = 0x746C6576  # "tlev", turnledger's evidence
WRITTEN_NO_MORE = (
    "it is a bundle, evidence of a part of a ledger: nothing is written to it; "
    "for reading, open it with read_only=True"
)


def is_bundle(connection: sqlite3.Connection) -> bool:
    """Whether a connection's file is marked as one."""
    mark: int = connection.execute("PRAGMA application_id").fetchone()[0]
    return mark == APPLICATION_ID
