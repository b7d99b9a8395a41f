"""Waiting for other connections to a file, of whatever process, to commit something."""

import time
from typing import TYPE_CHECKING

from turnledger.infrastructure import rows
from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.statement import SQLITE

if TYPE_CHECKING:
    from turnledger.infrastructure.sqlite import SqliteStore

_SHORTEST_PAUSE, _GROWTH = 0.001, 1.5  # seconds between two looks
_LONGEST_PAUSE = {True: 0.25, False: 0.005}  # whether one is told of writes


def last_position(store: "SqliteStore") -> int:
    """The position of the last event; 0 if there is none."""
    with store.reading() as cursor:
        return cursor.execute(rows.MAX_POSITION[SQLITE].sql).fetchone()[0] or 0


def wait_for_change(store: "SqliteStore", since: int, timeout: float) -> int:
    """Wait until there is an event behind a position, or the time is out.

    Looks at SQLite's `data_version`, which is in shared memory and changes with every commit of
    another connection; rows are only read when it has changed. A write to the log is a hint to
    look. Its commit can be seen a little later, with FULL when it is on the disk; so the looks
    behind a hint come soon, and then ever less often.

    Returns:
        The last position.
    """
    end, pause, seen = steady() + timeout, _SHORTEST_PAUSE, None
    while True:
        version = _data_version(store)
        if version != seen:
            seen, position = version, last_position(store)
            if position > since:
                return position
        left = end - steady()
        if left <= 0:
            return last_position(store)
        watch = store.held().watched(store.log.path)
        if watch.works and watch.wait(min(pause, left)):
            pause = _SHORTEST_PAUSE
            continue
        if not watch.works:
            time.sleep(min(pause, left))
        pause = min(pause * _GROWTH, _LONGEST_PAUSE[watch.works])


def stop_waiting(store: "SqliteStore") -> None:
    """Nothing is to be done: no connection goes on listening here."""
    del store


def last_told(store: "SqliteStore") -> str:
    """Nothing: who waits is told of every change, and not of which."""
    del store
    return ""


def _data_version(store: "SqliteStore") -> int:
    with store.reading() as cursor:
        version: int = cursor.execute("PRAGMA data_version").fetchone()[0]
        return version
