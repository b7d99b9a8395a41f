"""Waiting for other processes to commit something on the same server."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from turnledger.domain.errors import StoreError
from turnledger.infrastructure.announcer import CHANNEL
from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.conflict import Conflict
from turnledger.infrastructure.held import Held

_LOOK_SECONDS = 0.5  # how often one looks, should an announcement have been lost


class Store(Protocol):
    """What one waits on."""

    def ask(self, question: Callable[[Held], Any]) -> Any:
        """Ask the server, again and again until it answers."""
        ...

    def last_position(self) -> int:
        """The position of the last event."""
        ...


def wait_for_change(store: Store, since: int, timeout: float) -> int:
    """Wait until there is an event behind a position, or the time in seconds is out.

    It listens on the thread's own connection, and before each look, so that nothing is committed
    between the two unseen. The connection is a new one, if the server has gone meanwhile.

    Returns:
        The last position.

    Raises:
        StoreError: The server says no.
    """
    position, end = store.last_position(), steady() + timeout
    if position > since or timeout <= 0:
        return position
    try:
        while True:
            store.ask(_listen)
            position = store.last_position()
            left = end - steady()
            if position > since or left <= 0:
                return position
            store.ask(partial(_wait, min(left, _LOOK_SECONDS)))
    finally:
        with suppress(StoreError, Conflict):
            store.ask(_stop_listening)


def _listen(held: Held) -> None:
    if not held.listens:
        held.cursor.execute(f"LISTEN {CHANNEL}")
        held.listens = True


def _wait(seconds: float, held: Held) -> None:
    """Until somebody announces something; also what was announced since the last wait."""
    for _ in held.driver.notifies(timeout=seconds, stop_after=1):
        pass


def _stop_listening(held: Held) -> None:
    """The server keeps announcements for whoever listens, as long as it doesn't read them."""
    if held.listens:
        held.listens = False
        held.cursor.execute(f"UNLISTEN {CHANNEL}")
