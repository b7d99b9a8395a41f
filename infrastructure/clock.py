"""The host's clock, the default one on SQLite."""

import time
from collections.abc import Callable
from datetime import MAXYEAR, UTC, datetime

from turnledger.domain.duration import check_time
from turnledger.domain.errors import InvalidTime

Clock = Callable[[], datetime]


def host_clock() -> datetime:
    """Now, by this machine. Looked up at each call, so that freezegun can freeze it."""
    return datetime.now(UTC)


def checked(clock: Clock) -> Clock:
    """A caller's clock, refused if it gives naive times, or such that no lease could end."""

    def reading() -> datetime:
        now = check_time("the clock's reading", clock())
        if now.year >= MAXYEAR:
            raise InvalidTime("the clock's reading", f"is {now.isoformat()}, past all leases")
        return now

    return reading


def steady() -> float:
    """Seconds that never step, for measuring a wait; freezegun doesn't freeze them."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)
