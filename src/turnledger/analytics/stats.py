"""`ledger.stats`: the figures of what happened, from one pass over the events.

The memory it takes: what isn't over, and 8 bytes for each number whose spread is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from turnledger.analytics.board import KINDS, Board, By, Kind
from turnledger.analytics.depth import Depth
from turnledger.analytics.measuring import Measuring
from turnledger.analytics.reading import Reading
from turnledger.analytics.tally import Figures, Tally
from turnledger.domain.duration import check_time, to_microseconds
from turnledger.domain.errors import InvalidPayload, InvalidTime


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """What happened in a range of time.

    Attributes:
        since: From when on; None is the beginning.
        until: Before when; None is now.
        by: What the groups are.
        events: How many events were read, also those before the range.
        unread: How many of them couldn't be read: of a newer release, or damaged.
        total: The figures of everything, by kind: queued_turns, coordinator_turns, operations,
            messages, timers. A kind of which nothing happened isn't there.
        groups: Likewise of each thread, owner or day, in the order of their names. A work item is
            among the threads. What nobody has claimed yet belongs to no owner.
        depth: How many turns waited and were held, over time.
    """

    since: datetime | None
    until: datetime | None
    by: By | None
    events: int
    unread: int
    total: dict[Kind, Figures]
    groups: dict[str, dict[Kind, Figures]]
    depth: tuple[Depth, ...]


def stats(
    reading: Reading, *, since: datetime | None, until: datetime | None, by: By | None
) -> Stats:
    """The figures; see `Ledger.stats`."""
    board = measured(reading, since=since, until=until, by=by)
    return Stats(
        since=since,
        until=until,
        by=by,
        events=reading.events,
        unread=reading.unread,
        total=_figures(board.total),
        groups={name: _figures(kinds) for name, kinds in sorted(board.groups.items())},
        depth=board.gauge.depths(),
    )


def measured(
    reading: Reading, *, since: datetime | None, until: datetime | None, by: By | None
) -> Board:
    """Read the events, and put down what they mean."""
    begin, end = checked_range(since, until)
    if by is not None and by not in get_args(By):
        raise InvalidPayload("by", f"must be one of {', '.join(get_args(By))}, not {by!r}")
    board = Board(begin, end, by)
    measuring = Measuring(board)
    for event in reading.seen(measuring.means):
        try:
            measuring.take(event)
        except (KeyError, TypeError, ValueError):
            reading.unread += 1
        board.gauge.advance(event.recorded_at)
    return board


def checked_range(since: datetime | None, until: datetime | None) -> tuple[int | None, int | None]:
    """A range of time as it is stored.

    Raises:
        InvalidTime: A time has no timezone; or the range ends before it begins.
    """
    begin, end = (
        None if time is None else to_microseconds(check_time(name, time))
        for name, time in (("since", since), ("until", until))
    )
    if begin is not None and end is not None and end < begin:
        raise InvalidTime("until", "is before since")
    return begin, end


def _figures(kinds: Mapping[Kind, Tally]) -> dict[Kind, Figures]:
    return {kind: kinds[kind].figures() for kind in KINDS if kind in kinds}
