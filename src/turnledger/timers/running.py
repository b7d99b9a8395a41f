"""A small scheduler: it sleeps until the next run or a change, and fires what is due."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from turnledger.domain.errors import StoreError
from turnledger.domain.inbox import InboxMessage
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.glance import Glance
from turnledger.infrastructure.timer_rows import AHEAD

_log = logging.getLogger(__name__)

_LONGEST_WAIT = 86_400.0  # seconds
_BREATH = 0.005  # between two batches: else other processes hardly get at a file
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 60.0  # after errors, and while others are at it

Fire = Callable[[], Sequence[InboxMessage]]
Report = Callable[[Sequence[InboxMessage]], None]


class Ahead(NamedTuple):
    """What a scheduler has to wait for.

    Attributes:
        seconds: Until the next run is due; None if there is none.
        is_idle_ready: An idle-recurring timer can fire at once.
    """

    seconds: float | None
    is_idle_ready: bool

    @property
    def has_come(self) -> bool:
        """Whether something is to be fired now."""
        return self.is_idle_ready or (self.seconds is not None and self.seconds <= 0)


def ahead(backend: Backend) -> Ahead:
    """What a scheduler has to wait for: one look at an index, nothing is written."""

    def look(unit: Glance) -> Ahead:
        unit.read_clock()
        next_run_at, is_idle_ready = unit.run(AHEAD, {}).fetchone()
        seconds = None if next_run_at is None else (next_run_at - unit.stored_now) / 1e6
        return Ahead(seconds, bool(is_idle_ready))

    return backend.look(look)


class _StopNow(BaseException):
    """Ends a wait; whoever catches all exceptions doesn't catch it."""


class Scheduler:
    """Fires a ledger's timers, until it is stopped."""

    def __init__(self, backend: Backend, fire: Fire, report: Report | None) -> None:
        """Take what it works on; `ledger.timers.scheduler` does."""
        self._backend = backend
        self._store = backend.store
        self._fire_due = fire
        self._report = report
        self._is_stopping = self._is_waiting = False
        self._pause = _SHORTEST_PAUSE

    def stop(self) -> None:
        """Let it end; from a signal handler, too: what is under way is finished first.

        Raises:
            _StopNow: It waits, and this ends the wait; `run` returns then.
        """
        self._is_stopping = True
        if self._is_waiting:
            raise _StopNow

    def run(self, *, once: bool = False) -> int:
        """Fire what is due, and wait for the next, again and again.

        Args:
            once: End when nothing is due any more.

        Returns:
            How many messages were posted.
        """
        count = 0
        try:
            while not self._is_stopping:
                fired = self._step(once=once)
                if fired is None:
                    break
                count += fired
        except _StopNow:
            pass
        return count

    def _step(self, *, once: bool) -> int | None:
        """Fire, or wait; None if there is nothing to fire, and it isn't to wait."""
        try:
            position = self._store.last_position()
            to_come = ahead(self._backend)
            if to_come.has_come:
                return self._fire(position)
            if once:
                return None
            self._pause = _SHORTEST_PAUSE
            self._wait(position, _LONGEST_WAIT if to_come.seconds is None else to_come.seconds)
        except StoreError as error:
            _log.warning("%s; trying again in %.1f s", error, self._pause)
            self._sleep(self._longer())
        return 0

    def _fire(self, position: int) -> int:
        messages = self._fire_due()
        if messages:
            if self._report is not None:
                self._report(messages)
            self._pause = _SHORTEST_PAUSE
            self._sleep(_BREATH)
        elif self._store.last_position() == position:  # others are at it, or it can't be read
            self._wait(position, self._longer())
        return len(messages)

    def _wait(self, position: int, seconds: float) -> None:
        self._is_waiting = True
        try:
            if not self._is_stopping:
                self._store.wait_for_change(position, min(seconds, _LONGEST_WAIT))
        finally:
            self._is_waiting = False

    def _sleep(self, seconds: float) -> None:
        self._is_waiting = True
        try:
            if not self._is_stopping:
                time.sleep(seconds)
        finally:
            self._is_waiting = False

    def _longer(self) -> float:
        pause, self._pause = self._pause, min(self._pause * 2, _LONGEST_PAUSE)
        return pause
