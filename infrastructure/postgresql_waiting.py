"""Waiting for other processes to commit something on the same server."""

import time
from collections.abc import Callable
from typing import Any

import psycopg

from turnledger.infrastructure.announcer import CHANNEL
from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.conflict import Conflict
from turnledger.infrastructure.postgresql_failures import translated
from turnledger.infrastructure.store import Store

_LOOK_SECONDS = 0.5  # how often one looks, should an announcement have been lost

Connect = Callable[[], psycopg.Connection[Any]]


def wait_for_change(store: Store, connect: Connect, since: int, timeout: float) -> int:
    """Wait until there is an event behind a position, or the time in seconds is out.

    Where one can't listen, one looks every now and then: the server may be there again, or be
    another one, soon.

    Returns:
        The last position.

    Raises:
        StoreError: The server says no.
    """
    position, end = store.last_position(), steady() + timeout
    while position <= since and (left := end - steady()) > 0:
        try:
            with connect() as listener:
                return _listen(store, listener, since, end)
        except psycopg.Error as error:
            failure = translated(error, store.url)
            if not isinstance(failure, Conflict):
                raise failure from error
        time.sleep(min(left, _LOOK_SECONDS))
        position = store.last_position()
    return position


def _listen(store: Store, listener: psycopg.Connection[Any], since: int, end: float) -> int:
    """Listen before looking, so that nothing is committed between the two unseen."""
    listener.execute(f"LISTEN {CHANNEL}")
    while (position := store.last_position()) <= since and (left := end - steady()) > 0:
        for _ in listener.notifies(timeout=min(left, _LOOK_SECONDS), stop_after=1):
            pass
    return position
