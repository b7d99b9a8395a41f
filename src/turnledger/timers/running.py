"""A small scheduler: it sleeps until the next run or a change, and fires what is due."""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from turnledger.domain.errors import StoreError
from turnledger.domain.inbox import InboxMessage
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.glance import Glance
from turnledger.infrastructure.timer_rows import AHEAD

_log = logging.getLogger(__name__)

_LONGEST_WAIT = 60.0  # seconds; then one looks at the clock again, which may have been put forward
_PART = 1.0  # of a wait: then one looks whether another thread has stopped it
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
        self._thread: int | None = None
        self._pause = _SHORTEST_PAUSE

    def stop(self) -> None:
        """Let it end, from another thread or a signal handler; what is under way is finished first.

        A wait ends at once in a handler of the thread that runs it, else within a second.

        Raises:
            _StopNow: In such a handler, which hands it on; `run` returns then.
        """
        self._is_stopping = True
        if self._is_waiting and self._thread == threading.get_ident():
            raise _StopNow

    def run(self, *, once: bool = False) -> int:
        """Fire what is due, and wait for the next, again and again.

        Args:
            once: End when nothing is due any more.

        Returns:
            How many messages were posted.
        """
        count = 0
        self._thread = threading.get_ident()
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
            seconds = _LONGEST_WAIT if to_come.seconds is None else to_come.seconds
            self._wait(position, min(seconds, _LONGEST_WAIT))
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
        else:  # it was skipped, others are at it, or it can't be read
            pause = self._longer()
            if pause > _PART:  # and stays so: no try at each commit, then
                self._sleep(_PART)
            self._wait(position, pause)
        return len(messages)

    def _wait(self, position: int, seconds: float) -> None:
        """Until something is committed behind a position, or the time is out."""

        def has_changed(part: float) -> bool:
            return self._store.wait_for_change(position, part) > position

        self._rest(seconds, has_changed)

    def _sleep(self, seconds: float) -> None:
        def has_slept(part: float) -> bool:
            time.sleep(part)
            return False

        self._rest(seconds, has_slept)

    def _rest(self, seconds: float, is_over: Callable[[float], bool]) -> None:
        """Wait in parts, until one says that it is over, or it is to stop."""
        end = steady() + seconds
        self._is_waiting = True
        try:
            while not self._is_stopping and (left := end - steady()) > 0:
                if is_over(min(left, _PART)):
                    break
        finally:
            self._is_waiting = False

    def _longer(self) -> float:
        pause, self._pause = self._pause, min(self._pause * 2, _LONGEST_PAUSE)
        return pause
