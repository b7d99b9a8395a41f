"""Waiting for other connections to a file, of whatever process, to commit something."""

import time

from turnledger.infrastructure import rows
from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.statement import SQLITE
from turnledger.infrastructure.store import Store

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.001, 0.005  # seconds between two looks


def last_position(store: Store) -> int:
    """The position of the last event; 0 if there is none."""
    with store.reading() as cursor:
        return cursor.execute(rows.MAX_POSITION[SQLITE].sql).fetchone()[0] or 0


def wait_for_change(store: Store, since: int, timeout: float) -> int:
    """Wait until there is an event behind a position, or the time is out.

    Looks at SQLite's `data_version`, which is in shared memory and changes with every commit of
    another connection; rows are only read when it has changed.

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
        time.sleep(min(pause, left))
        pause = min(pause * 1.1, _LONGEST_PAUSE)


def _data_version(store: Store) -> int:
    with store.reading() as cursor:
        version: int = cursor.execute("PRAGMA data_version").fetchone()[0]
        return version
