"""Numbers that are counted, and numbers whose spread is asked for."""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, fsum

_OUTCOME = "outcome:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How some numbers are spread; durations are in seconds.

    A percentile is the smallest number that isn't exceeded by so many in a hundred (nearest rank),
    as `percentile_disc` of SQL gives it: it is one of the numbers.

    Attributes:
        count: How many there are.
        total: Their sum.
    """

    count: int
    total: float
    mean: float
    least: float
    p50: float
    p90: float
    p95: float
    p99: float
    most: float


def spread(numbers: Sequence[float]) -> Spread | None:
    """The spread of some numbers; None if there are none."""
    if not numbers:
        return None
    ordered = sorted(numbers)
    total = fsum(ordered)
    return Spread(
        count=len(ordered),
        total=total,
        mean=total / len(ordered),
        least=ordered[0],
        p50=percentile(ordered, 50),
        p90=percentile(ordered, 90),
        p95=percentile(ordered, 95),
        p99=percentile(ordered, 99),
        most=ordered[-1],
    )


def percentile(ordered: Sequence[float], percent: int) -> float:
    """The nearest rank of some numbers in ascending order."""
    return ordered[max(ceil(len(ordered) * percent / 100), 1) - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What became of things of one kind, in the time that was asked for.

    Attributes:
        begun: How many began: were appended, begun, created, posted.
        claims: How many claims were given.
        lease_losses: How many claims ended without a word of their owner.
        unknown_outcomes: How many hand-overs nobody can say of whether they took effect.
        missed: How many occurrences of timers were missed; they ended with another one.
        outcomes: How many times each outcome came about. A queued turn that failed and was retried
            has several. Of timers, what became of occurrences.
        waiting: From when it could be claimed to a claim: after it began, was given back or
            retried, but not before the time that it is to wait for.
        running: From a claim to its end.
        attempts: Of those that are over: how often each was handed over; messages, claimed.
        lateness: Of timers: from when a run was planned to when it was fired.
    """

    begun: int
    claims: int
    lease_losses: int
    unknown_outcomes: int
    missed: int
    outcomes: dict[str, int]
    waiting: Spread | None
    running: Spread | None
    attempts: Spread | None
    lateness: Spread | None


class Tally:
    """Figures in the making.

    Attributes:
        counts: How often what happened.
        series: The numbers whose spread is asked for, 8 bytes each.
    """

    __slots__ = ("counts", "series")

    def __init__(self) -> None:
        """Begin with nothing."""
        self.counts: Counter[str] = Counter()
        self.series: dict[str, array[float]] = {}

    def add(self, name: str, number: float) -> None:
        """Another number."""
        series = self.series.get(name)
        if series is None:
            series = self.series[name] = array("d")
        series.append(number)

    def figures(self) -> Figures:
        """What it comes to."""
        counts = self.counts
        outcomes = {
            name.removeprefix(_OUTCOME): count
            for name, count in sorted(counts.items())
            if name.startswith(_OUTCOME)
        }
        return Figures(
            begun=counts["begun"],
            claims=counts["claims"],
            lease_losses=counts["lease_losses"],
            unknown_outcomes=counts["unknown_outcomes"],
            missed=counts["missed"],
            outcomes=outcomes,
            waiting=spread(self.series.get("waiting", ())),
            running=spread(self.series.get("running", ())),
            attempts=spread(self.series.get("attempts", ())),
            lateness=spread(self.series.get("lateness", ())),
        )


def outcome(word: str) -> str:
    """The name under which an outcome is counted."""
    return _OUTCOME + word
