"""How much work a search may be, counted and not timed: the same everywhere, and at each replay."""

from datetime import timedelta
from typing import NoReturn

from turnledger.domain.errors import InvalidTrigger

HORIZON = timedelta(days=28 * 365 + 8)  # after 28 years the calendar comes round
_MOST = 100_000  # of about 1 µs each, so that it is given up after some 100 ms


class Effort:
    """What is left of the work that may be done."""

    def __init__(self, left: int = _MOST) -> None:
        """Begin."""
        self._left = left

    def spend(self, steps: int) -> None:
        """Count some work.

        Raises:
            InvalidTrigger: That was the last of it.
        """
        self._left -= steps
        if self._left < 0:
            give_up()


class CountedInterval(int):
    """An interval that says how often it was added to something.

    dateutil goes on to the year 9999 if nothing matches, and has no way to stop it from outside.
    But whatever it does, it adds the interval at each step.
    """

    _effort: Effort
    _price: int

    @classmethod
    def of(cls, interval: int, effort: Effort, price: int) -> "CountedInterval":
        """An interval each of whose steps has a price."""
        made = cls(interval)
        made._effort, made._price = effort, price
        return made

    def __radd__(self, other: int) -> int:
        """Count a step."""
        self._effort.spend(self._price)
        return int(other) + int(self)

    def __mul__(self, other: int) -> int:
        """Count a step of so many days."""
        self._effort.spend(self._price)
        return int(self) * int(other)


def give_up() -> NoReturn:
    """Say that no occurrence was found.

    Raises:
        InvalidTrigger: Always.
    """
    raise InvalidTrigger("has no occurrence that can be found, or none within 28 years")
