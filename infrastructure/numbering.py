"""The order of the log on PostgreSQL: positions without gaps, given after the commit.

Who reads `position > last` while others write misses what commits late with an early number. So
a command's events get no position with their commit. Whoever reads the log next gives positions
to all events whose transactions, and all those before them, are over: no other can come before
them any more. An event is never numbered before the one before it in its stream.

A row's own xmin says which transaction it is of, so that nothing of it is stored: a restored dump
goes on where it was.
"""

import time
from collections.abc import Callable
from typing import Any

import psycopg

from turnledger.infrastructure.announcer import ANNOUNCER
from turnledger.infrastructure.conflict import Disconnected, Patience
from turnledger.infrastructure.postgresql_recorder import Mark
from turnledger.infrastructure.statement import Cursor

_PAUSES_SECONDS = (0.0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032)

LAST = "SELECT coalesce(max(position), 0) FROM positions"

_LOCK = "SELECT pg_advisory_xact_lock(hashtext('turnledger numbering'), 'positions'::regclass::int)"

# age() counts back from the newest transaction: the greater, the earlier. `begun` is that of the
# latest transaction in the stream so far, so that what is behind it isn't numbered before it.
#
# A transaction that is under way in another database of the server can't write here, and those
# that only announce something don't.
_NUMBER = """
WITH horizon AS MATERIALIZED (
    SELECT coalesce(
        (
            SELECT running FROM pg_snapshot_xip(snapshot) AS running
            WHERE NOT EXISTS (
                SELECT FROM pg_stat_activity AS other
                WHERE other.backend_xid = running::xid AND (
                    other.datname <> current_database() OR other.application_name = 'ANNOUNCER'
                )
            )
            ORDER BY running LIMIT 1
        ),
        pg_snapshot_xmax(snapshot)
    )::xid AS first_open
    FROM pg_current_snapshot() AS snapshot
), seen AS MATERIALIZED (
    SELECT stream_id, version, event_id,
           min(age(xmin)) OVER so_far AS begun,
           max(event_id) OVER so_far AS latest_id
    FROM unnumbered
    WINDOW so_far AS (PARTITION BY stream_id ORDER BY version)
), chosen AS MATERIALIZED (
    SELECT stream_id, version, event_id,
           row_number() OVER (ORDER BY begun DESC, latest_id, version) AS place
    FROM seen
    WHERE begun > age((SELECT first_open FROM horizon))
), gone AS (
    DELETE FROM unnumbered USING chosen
    WHERE unnumbered.stream_id = chosen.stream_id AND unnumbered.version = chosen.version
)
INSERT INTO positions (position, event_id)
SELECT (LAST) + place, event_id FROM chosen
""".replace("LAST", LAST).replace("ANNOUNCER", ANNOUNCER)


_NEWEST = "SELECT max(event_id) FROM unnumbered"
_LEFT = "SELECT EXISTS (SELECT FROM unnumbered WHERE event_id <= %s)"


def number(cursor: Cursor) -> None:
    """Give positions to what may have them. One process at a time; any may do it.

    Who has just committed something expects to read it. So if an older transaction is in its way
    it is waited for, a little.
    """
    newest = cursor.execute(_NEWEST).fetchone()[0]
    for pause in _PAUSES_SECONDS:
        if newest is None or not cursor.execute(_LEFT, (newest,)).fetchone()[0]:
            return
        time.sleep(pause)
        cursor.execute("BEGIN")
        cursor.execute(_LOCK)
        cursor.execute(_NUMBER)
        cursor.execute("COMMIT")


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
