"""Waiting for other processes to commit something on the same server."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from turnledger.domain.errors import StoreError
from turnledger.infrastructure.announcer import CHANNEL, WORK_CHANNEL
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


def wait_for_work(store: Store, since: int, timeout: float) -> int:
    """Wait until somebody announces that there may be something to do, or the time is out.

    The connection goes on listening when this returns, until `stop_waiting`: what is announced
    while its thread looks for something to do ends the next wait. One that didn't listen may have
    missed something, so its first wait is over at once.

    Args:
        store: Whose thread's connection listens.
        since: What the last call returned; -1 before the first.
        timeout: In seconds.

    Returns:
        One more if there may be something to do; else `since`.

    Raises:
        StoreError: The server says no.
    """
    end = steady() + timeout
    while True:
        if store.ask(_listen_for_work):
            return since + 1
        left = end - steady()
        if store.ask(partial(_hear, max(0.0, min(left, _LOOK_SECONDS)))):
            return since + 1
        if left <= _LOOK_SECONDS:
            return since


def _listen_for_work(held: Held) -> bool:
    """Returns whether it didn't listen yet."""
    if held.listens_for_work:
        return False
    held.cursor.execute(f"LISTEN {WORK_CHANNEL}")
    held.listens_for_work = True
    return True


def _hear(seconds: float, held: Held) -> bool:
    held.told = ""
    for heard in held.driver.notifies(timeout=seconds, stop_after=1):
        held.told = heard.payload
        return True
    return False


def last_told(store: Store) -> str:
    """The stream with which there may be something to do, if the last wait for work was told."""
    return str(store.ask(lambda held: held.told))


def stop_waiting(store: Store) -> None:
    """Let this thread's connection hear nothing more, as long as nobody waits on it."""
    with suppress(StoreError, Conflict):
        store.ask(_stop_listening_for_work)


def _stop_listening_for_work(held: Held) -> None:
    if held.listens_for_work:
        held.listens_for_work = False
        held.cursor.execute(f"UNLISTEN {WORK_CHANNEL}")
