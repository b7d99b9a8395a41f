"""Generated identifiers: UUIDv7 as lower-case text (RFC 9562, section 5.7)."""

import os
import time
from random import Random
from threading import Lock

_random = Random()  # noqa: S311 - seeded by the system; an identifier is no secret
os.register_at_fork(after_in_child=_random.seed)


class IdentityGenerator:
    """Makes identifiers that grow within a process, also when the clock steps back.

    The 74 bits behind the version are a counter of 42, which starts anew at random in each
    millisecond, and 32 random ones (RFC 9562, 6.2, method 1), as in the standard library's
    `uuid.uuid7` of Python 3.14.
    """

    def __init__(self) -> None:
        """Start with the host's clock."""
        self._lock = Lock()
        self._milliseconds = 0
        self._counter = 0

    def __call__(self) -> str:
        """The next identifier."""
        bits = _random.getrandbits
        milliseconds = time.time_ns() // 1_000_000
        with self._lock:
            if milliseconds > self._milliseconds:
                self._milliseconds = milliseconds
                self._counter = bits(41)  # the upper half stays free for counting on
            else:
                self._counter += 1
                milliseconds = self._milliseconds
            counter = self._counter
        return "%08x-%04x-7%03x-%04x-%04x%08x" % (  # noqa: UP031 - half the time of an f-string
            milliseconds >> 16,
            milliseconds & 0xFFFF,
            counter >> 30,
            0x8000 | counter >> 16 & 0x3FFF,
            counter & 0xFFFF,
            bits(32),
        )
