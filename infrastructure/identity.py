"""Generated identifiers: UUIDv7 as lower-case text (RFC 9562, section 5.7)."""

import os
import time
from random import Random
from threading import Lock
from weakref import WeakSet

_random = Random()  # noqa: S311 - seeded by the system; an identifier is no secret
_bits = _random.getrandbits


class IdentityGenerator:
    """Makes identifiers that grow within a process, also when the clock steps back.

    What stands behind the milliseconds starts anew at random in each of them; within one, the last
    48 bits grow by a random step (RFC 9562, 6.2, method 2).
    """

    def __init__(self) -> None:
        """Start with the host's clock."""
        self._lock = Lock()
        self._milliseconds = 0
        self._prefix = ""
        self._tail = 0
        _generators.add(self)

    def after_fork(self) -> None:
        """In a child: begin anew, so as not to go on with what its parent goes on with."""
        self._lock = Lock()
        self._milliseconds = 0

    def __call__(self) -> str:
        """The next identifier."""
        milliseconds = time.time_ns() // 1_000_000
        with self._lock:
            if milliseconds > self._milliseconds:
                self._milliseconds = milliseconds
                text = "%012x7%03x%04x" % (milliseconds, _bits(12), 0x8000 | _bits(14))  # noqa: UP031
                self._prefix = f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:]}-"
                self._tail = _bits(47)  # the upper half stays free for growing
            else:
                self._tail += 1 + _bits(24)
            return f"{self._prefix}{self._tail:012x}"


_generators: WeakSet[IdentityGenerator] = WeakSet()


def _after_fork() -> None:
    _random.seed()
    for generator in list(_generators):
        generator.after_fork()


os.register_at_fork(after_in_child=_after_fork)
