"""The order of the log on PostgreSQL: positions without gaps, given after the commit.

Who reads `position > last` while others write misses what commits late with an early number. So
a command's events get no position with their commit. Whoever reads the log next gives positions
to all events that are there: what is committed later gets a later one, however early it began.

They are given in the order of the events' ids. An event's id is taken after the one before it in
its stream was committed, so the order within a stream is that of its versions.
"""

from collections.abc import Callable
from typing import Any

import psycopg

from turnledger.infrastructure.conflict import Disconnected, Patience
from turnledger.infrastructure.postgresql_recorder import Mark
from turnledger.infrastructure.statement import Cursor

LAST = "SELECT coalesce(max(position), 0) FROM positions"

_NEWEST = "SELECT max(event_id) FROM unnumbered"
LOCK = "SELECT pg_advisory_xact_lock(hashtext('turnledger numbering'), 'positions'::regclass::int)"
_BATCH = 50_000
_NUMBER = """
WITH chosen AS MATERIALIZED (
    SELECT event_id, row_number() OVER (ORDER BY event_id) AS place
    FROM unnumbered ORDER BY event_id LIMIT BATCH
), gone AS (
    DELETE FROM unnumbered USING chosen WHERE unnumbered.event_id = chosen.event_id
)
INSERT INTO positions (position, event_id)
SELECT (LAST) + place, event_id FROM chosen
""".replace("LAST", LAST).replace("BATCH", str(_BATCH))


def number(cursor: Cursor) -> None:
    """Give positions to what has none. One process at a time; any may do it."""
    newest = cursor.execute(_NEWEST).fetchone()[0]
    while newest is not None:
        cursor.execute("BEGIN")
        cursor.execute(LOCK)
        full = cursor.execute(_NUMBER).rowcount == _BATCH
        cursor.execute("COMMIT")
        if not full:
            return


def was_committed(
    connect: Callable[[], psycopg.Connection[Any]],
    process: tuple[int, Any],
    mark: Mark,
    patience: Patience,
    lost: psycopg.Error,
) -> bool:
    """Find out whether a statement was committed whose answer never came; see `outcome`.

    Raises:
        StoreUnavailable: The server didn't come back to say.
    """
    while True:
        try:
            with connect() as connection:
                return outcome(connection, process, mark)
        except psycopg.Error as again:
            reason = f"whether the last command was carried out can't be told: {lost}"
            patience.wait("of the command", Disconnected(f"{reason}; {again}"))


def outcome(connection: psycopg.Connection[Any], process: tuple[int, Any], mark: Mark) -> bool:
    """Whether a statement was committed whose answer never came; after this, it never will be.

    Args:
        connection: A new one.
        process: The server's process that ran it, and when that was started.
        mark: What it wrote.
    """
    while connection.execute(_END_OF_PROCESS, process).fetchone():
        connection.execute("SELECT pg_sleep(0.01)")
    found = connection.execute(_COMMITTED, (mark.stream_id, mark.version)).fetchone()
    if found is None or found[0].encode() != mark.metadata:
        return False
    # What was committed here may not have reached a synchronous standby; what is written now
    # is only answered when it has, and all before it.
    connection.execute("SELECT pg_logical_emit_message(true, 'turnledger', '')")
    return True


PROCESS = "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()"
_END_OF_PROCESS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s AND backend_start = %s
"""
_COMMITTED = "SELECT metadata FROM stored_events WHERE stream_id = %s AND version = %s"
