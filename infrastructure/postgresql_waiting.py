"""Waiting for other processes to commit something on the same server."""

from collections.abc import Callable
from typing import Any

import psycopg

from turnledger.infrastructure.announcer import CHANNEL
from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.store import Store

_LOOK_SECONDS = 0.5  # how often one looks, should an announcement have been lost


def wait_for_change(
    store: Store, connect: Callable[[], psycopg.Connection[Any]], since: int, timeout: float
) -> int:
    """Wait until there is an event behind a position, or the time in seconds is out.

    It listens before it looks, so that nothing is committed between the two unseen.

    Returns:
        The last position.

    Raises:
        psycopg.Error: The server says no.
    """
    position, end = store.last_position(), steady() + timeout
    if position > since or timeout <= 0:
        return position
    with connect() as listener:
        listener.execute(f"LISTEN {CHANNEL}")
        while (position := store.last_position()) <= since and (left := end - steady()) > 0:
            for _ in listener.notifies(timeout=min(left, _LOOK_SECONDS), stop_after=1):
                pass
    return position
