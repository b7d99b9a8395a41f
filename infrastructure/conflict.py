"""When somebody else was first: the work is done again, on what is there by then."""

import random
import time

from turnledger.domain.errors import StoreUnavailable
from turnledger.infrastructure.clock import steady

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.001, 0.25  # seconds; the first conflict costs no pause


class Conflict(Exception):
    """Nothing was committed, and the same work may succeed at once."""


class Disconnected(Conflict):
    """The server is gone, or doesn't answer; it may be there again soon."""


class Interrupted(StoreUnavailable, Disconnected):
    """The connection broke within a unit of work: that is done again, or its caller is told so."""


Interrupted.code = StoreUnavailable.code  # which it is, to those who are told so


class Patience:
    """How long work is done again and again."""

    def __init__(self, seconds: float) -> None:
        """Begin to count."""
        self._end = steady() + seconds
        self._pause = 0.0

    def wait(self, url: str, conflict: Conflict) -> None:
        """Wait a little, longer each time.

        Raises:
            StoreUnavailable: It has lasted too long.
        """
        if steady() >= self._end:
            raise StoreUnavailable(url, str(conflict) or "others were always first") from conflict
        if isinstance(conflict, Disconnected):
            self._pause = max(self._pause, 0.02)
        time.sleep(self._pause * (0.5 + random.random()))  # noqa: S311 - no secret
        self._pause = min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, self._pause * 2))
