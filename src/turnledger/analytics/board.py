"""Where figures are put down: those of the whole, of each group, and the depth over time."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Literal

from turnledger.analytics.depth import Gauge
from turnledger.analytics.tally import Tally

Kind = Literal["queued_turns", "coordinator_turns", "operations", "messages", "timers"]
By = Literal["thread", "owner", "day"]

KINDS: tuple[Kind, ...] = (
    "queued_turns",
    "coordinator_turns",
    "operations",
    "messages",
    "timers",
)
_DAY = 86_400_000_000
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)


class Board:
    """The figures so far.

    Attributes:
        total: Of everything, by kind.
        groups: Of each group, by its name and kind.
        gauge: The depth of queues.
    """

    def __init__(self, since: int | None, until: int | None, by: By | None) -> None:
        """Take the range, in microseconds since 1970, and what the groups are."""
        self._since, self._until, self._by = since, until, by
        self.total: defaultdict[Kind, Tally] = defaultdict(Tally)
        self.groups: dict[str, defaultdict[Kind, Tally]] = {}
        self.gauge = Gauge(since, until)

    def count(  # noqa: PLR0913, PLR0917 - what, when, where, by whom
        self, kind: Kind, at: int, place: str, owner: str | None, name: str, times: int = 1
    ) -> None:
        """Something happened, so many times."""
        for tally in self._tallies(kind, at, place, owner):
            tally.counts[name] += times

    def add(  # noqa: PLR0913, PLR0917 - likewise
        self, kind: Kind, at: int, place: str, owner: str | None, name: str, number: float
    ) -> None:
        """A number belongs to a series."""
        for tally in self._tallies(kind, at, place, owner):
            tally.add(name, number)

    def _tallies(self, kind: Kind, at: int, place: str, owner: str | None) -> Iterator[Tally]:
        if (self._since is not None and at < self._since) or (
            self._until is not None and at >= self._until
        ):
            return
        yield self.total[kind]
        group = self._group(at, place, owner)
        if group is not None:
            if group not in self.groups:
                self.groups[group] = defaultdict(Tally)
            yield self.groups[group][kind]

    def _group(self, at: int, place: str, owner: str | None) -> str | None:
        match self._by:
            case "thread":
                return place
            case "owner":
                return owner
            case "day":
                return (_FIRST + timedelta(days=at // _DAY)).date().isoformat()
            case _:
                return None
