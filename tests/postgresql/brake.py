"""Writers whose transactions overlap as a test wants: some events are held back until it lets go.

The event's transaction has begun and its row has its number by then, so whatever is written and
committed meanwhile comes behind it in both, and before it in time.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import psycopg

HELD = "held"  # so begin the names of the threads whose events are held back
_LOCK = 7

_TRIGGER = f"""
CREATE FUNCTION wait_for_the_test() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock_shared({_LOCK}); RETURN NEW; END $$;
CREATE TRIGGER held_back BEFORE INSERT ON stored_events FOR EACH ROW
WHEN (NEW.stream_id LIKE 'thread_queue:{HELD}%') EXECUTE FUNCTION wait_for_the_test();
"""
_WAITS = f"""
SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
WHERE datname = current_database() AND locktype = 'advisory' AND objid = {_LOCK} AND NOT granted
"""


class Brake:
    """Holds events back in a database that has turnledger's tables."""

    def __init__(self, beside: "psycopg.Connection[tuple[Any, ...]]") -> None:
        """Take a connection beside the ledger, in autocommit."""
        self._beside = beside
        beside.execute(_TRIGGER.encode())

    @contextmanager
    def holding(self) -> Generator[None]:
        """Let no event of a held thread be committed before the block ends."""
        self._beside.execute(f"SELECT pg_advisory_lock({_LOCK})".encode())
        try:
            yield
        finally:
            self._beside.execute(f"SELECT pg_advisory_unlock({_LOCK})".encode())

    def wait(self) -> None:
        """Return when an event is being held back."""
        while not self._beside.execute(_WAITS.encode()).fetchall():
            pass
