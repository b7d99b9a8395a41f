"""How many turns waited and were in somebody's hands, over time, in a bounded number of steps.

A step begins as a second. Whenever there are too many of them, they are put together: so a ledger
of a minute and one of ten years are both told in some hundred steps.
"""

from dataclasses import dataclass
from datetime import datetime

from turnledger.domain.duration import from_microseconds

_SECOND = 1_000_000
_LENGTHS = (1, 5, 15, 60, 300, 900, 3_600, 10_800, 21_600, 86_400, 604_800)  # each divides the next
_MOST = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """How many turns there were in a step of time; queued turns and coordinator turns together.

    Attributes:
        since: When the step begins; a multiple of its length since 1970.
        seconds: How long it is.
        waiting: How many waited for a claim, on average over the time of the step that is known.
        waiting_most: How many did at most.
        held: How many were in somebody's hands, on average.
        held_most: How many were at most.
    """

    since: datetime
    seconds: int
    waiting: float
    waiting_most: int
    held: float
    held_most: int


class _Step:
    """What is known of a step: for how long, and number times duration; microseconds."""

    __slots__ = ("held", "held_most", "known", "waiting", "waiting_most")

    def __init__(self) -> None:
        self.known = 0
        self.waiting = self.held = 0
        self.waiting_most = self.held_most = 0

    def last(self, span: int, waiting: int, held: int) -> None:
        """It stood so for some time."""
        self.known += span
        self.waiting += span * waiting
        self.held += span * held
        self.reach(waiting, held)

    def reach(self, waiting: int, held: int) -> None:
        """It stood so at a moment."""
        self.waiting_most = max(self.waiting_most, waiting)
        self.held_most = max(self.held_most, held)

    def add(self, other: "_Step") -> None:
        """What is known of another one belongs to it."""
        self.known += other.known
        self.waiting += other.waiting
        self.held += other.held
        self.reach(other.waiting_most, other.held_most)


class Gauge:
    """The depth, as it changes. A clock that steps back stands still here."""

    def __init__(self, since: int | None, until: int | None) -> None:
        """Take the range that is asked for, in microseconds since 1970."""
        self._since, self._until = since, until
        self._at: int | None = None  # up to when the steps are told
        self._seconds = 1
        self._steps: dict[int, _Step] = {}
        self._waiting = self._held = 0

    def change(self, at: int, waiting: int, held: int) -> None:
        """So many more wait, and are held, from a time on."""
        if self._until is not None and at >= self._until:
            self.advance(self._until)
            return
        self.advance(at)
        self._waiting += waiting
        self._held += held
        if self._at is not None:
            self._step(self._at).reach(self._waiting, self._held)

    def advance(self, at: int) -> None:
        """Nothing changed up to a time."""
        if self._until is not None and at > self._until:
            at = self._until
        if self._since is not None and at < self._since:
            return
        if self._at is None:
            known = self._since is not None and (self._waiting or self._held)
            self._at = self._since if known else at
        while self._at is not None and self._at < at:
            if len(self._steps) >= _MOST:
                self._lengthen()
            length = self._seconds * _SECOND
            end = min(at, self._at // length * length + length)
            self._step(self._at).last(end - self._at, self._waiting, self._held)
            self._at = end

    def depths(self) -> tuple[Depth, ...]:
        """The steps so far, in order."""
        return tuple(
            Depth(
                since=from_microseconds(number * self._seconds * _SECOND),
                seconds=self._seconds,
                waiting=step.waiting / step.known if step.known else float(step.waiting_most),
                waiting_most=step.waiting_most,
                held=step.held / step.known if step.known else float(step.held_most),
                held_most=step.held_most,
            )
            for number, step in sorted(self._steps.items())
        )

    def _step(self, at: int) -> _Step:
        number = at // (self._seconds * _SECOND)
        step = self._steps.get(number)
        if step is None:
            step = self._steps[number] = _Step()
        return step

    def _lengthen(self) -> None:
        """Put steps together, into the next length."""
        before = self._seconds
        longer = (length for length in _LENGTHS if length > before)
        self._seconds = next(longer, before * 2)
        steps: dict[int, _Step] = {}
        for number, step in self._steps.items():
            into = number * before // self._seconds
            steps.setdefault(into, _Step()).add(step)
        self._steps = steps
