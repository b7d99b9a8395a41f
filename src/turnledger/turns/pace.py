"""What the loop of a worker does beside claiming, and for how long it waits."""

import logging
from typing import NamedTuple

from turnledger.domain.errors import StoreError, StoreReadOnly
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.outlook import Outlook, outlook
from turnledger.queue import Queue
from turnledger.timers import Timers

_log = logging.getLogger("turnledger.turns")

_RECOVER_SECONDS = 2.0  # so often one looks for claims that are over
_LONGEST_WAIT = 30.0  # then one looks at the clock again, which may have been put forward
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 30.0  # after errors, and while others fire the timers


class Round(NamedTuple):
    """What a look around came to.

    Attributes:
        is_ready: A claim can be had.
        seconds: So long one may wait, if it can't.
    """

    is_ready: bool
    seconds: float


class Pace:
    """Looks around for a worker: what is to do, which claims are over, which timers are due."""

    def __init__(self, backend: Backend, queue: Queue, timers: Timers, owner: str) -> None:
        """Take where to look, and for whom."""
        self._backend = backend
        self._queue = queue
        self._timers = timers
        self._owner = owner
        self._recover_at = 0.0
        self._fire_at = 0.0
        self._fire_pause = self._pause = _SHORTEST_PAUSE

    def look(self) -> Round:
        """Recover and fire what is to be, and say whether there is something to claim.

        Raises:
            StoreError: The database says no.
        """
        if steady() >= self._recover_at:
            self._queue.recover()
            self._recover_at = steady() + _RECOVER_SECONDS
        seen = outlook(self._backend)
        if seen.is_timer_due and steady() >= self._fire_at:
            self._fire()
            seen = outlook(self._backend)
        self._pause = _SHORTEST_PAUSE
        return Round(seen.is_ready, self._wait(seen))

    def failed(self, error: StoreError) -> float:
        """How long to wait after an error, in seconds: longer each time.

        Raises:
            StoreError: It won't pass.
        """
        if not (error.retryable or isinstance(error, StoreReadOnly)):
            raise error
        pause, self._pause = self._pause, min(self._pause * 2, _LONGEST_PAUSE)
        _log.warning("%s; looking again in %.1f s", error, pause)
        return pause

    def _fire(self) -> None:
        if self._timers.fire_due(self._owner):
            self._fire_pause, self._fire_at = _SHORTEST_PAUSE, 0.0
            return
        self._fire_at = steady() + self._fire_pause
        self._fire_pause = min(self._fire_pause * 2, _LONGEST_PAUSE)

    def _wait(self, seen: Outlook) -> float:
        times = [_LONGEST_WAIT, self._recover_at - steady()]
        if seen.seconds is not None:
            times.append(seen.seconds)
        if seen.is_timer_due:
            times.append(self._fire_at - steady())
        return max(0.0, min(times))
