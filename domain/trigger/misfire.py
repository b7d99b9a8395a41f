"""What becomes of occurrences that nobody was awake for.

An occurrence is missed when it is later than a tenth of the time to the next one, and a minute at
the most. `coalesce` makes one run of all that have come, `skip` runs none that was missed, and
`catch_up` runs each, the last hundred at most.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import NamedTuple

from turnledger.domain.trigger.model import Trigger, recurs
from turnledger.domain.trigger.occurrence import next_after, occurrences

MOST_CAUGHT_UP = 100
MOST_COUNTED = 1_000  # so many missed ones, or more
_GRACE = timedelta(minutes=1)
_FIRST_WINDOW = timedelta(seconds=1)  # of the shortest period, it holds a thousand
_WIDER = 8


class Due(NamedTuple):
    """What is to be done about a planned occurrence that has come.

    Attributes:
        planned_at: Of the one to run; None if all were missed and none is run.
        missed: How many others end with it, without a run of their own; 1,000 may be more.
        next_run_at: Of the next one; in the past, if that is to be run as well.
    """

    planned_at: datetime | None
    missed: int
    next_run_at: datetime | None


def due(
    trigger: Trigger,
    anchor: datetime,
    planned_at: datetime,
    now: datetime,
    *,
    coalesce: bool = False,
) -> Due:
    """Decide about an occurrence that has come, by the trigger's policy.

    Args:
        trigger: Resolved.
        anchor: When it was set.
        planned_at: The occurrence; not later than now.
        now: The time.
        coalesce: Whatever the policy says, what was missed becomes one run.

    Raises:
        InvalidTrigger: The next occurrence can't be found.
    """
    policy = "coalesce" if coalesce or not recurs(trigger) else trigger.misfire
    match policy:
        case "catch_up":
            return _caught_up(trigger, anchor, planned_at, now)
        case "skip":
            return _skipped(trigger, anchor, planned_at, now)
        case _:
            missed = _count(trigger, anchor, planned_at, now)
            return Due(planned_at, missed, next_after(trigger, anchor, now))


def passed_over(trigger: Trigger, anchor: datetime, planned_at: datetime, now: datetime) -> int:
    """How many occurrences have come, from a planned one on; at most 1,000 are counted."""
    if planned_at > now:
        return 0
    return min(_count(trigger, anchor, planned_at, now) + 1, MOST_COUNTED)


def _caught_up(trigger: Trigger, anchor: datetime, planned_at: datetime, now: datetime) -> Due:
    chosen, *later = _latest(trigger, anchor, planned_at, now, MOST_CAUGHT_UP)
    missed = _count_before(trigger, anchor, planned_at, chosen)
    following = later[0] if later else next_after(trigger, anchor, now)
    return Due(chosen, missed, following)


def _skipped(trigger: Trigger, anchor: datetime, planned_at: datetime, now: datetime) -> Due:
    (last,) = _latest(trigger, anchor, planned_at, now, 1)
    following = next_after(trigger, anchor, now)
    missed = _count_before(trigger, anchor, planned_at, last)
    grace = _GRACE if following is None else min(_GRACE, (following - last) / 10)
    if now - last <= grace:
        return Due(last, missed, following)
    return Due(None, min(missed + 1, MOST_COUNTED), following)


def _latest(
    trigger: Trigger, anchor: datetime, first: datetime, now: datetime, most: int
) -> list[datetime]:
    """The last occurrences up to now, from a planned one on, looked for backwards."""
    window = _FIRST_WINDOW
    while now - first > window:
        found = list(_between(trigger, anchor, now - window, now))
        if len(found) >= most:
            return found[-most:]
        window *= _WIDER
    return [first, *_between(trigger, anchor, first, now)][-most:]


def _count(trigger: Trigger, anchor: datetime, after: datetime, until: datetime) -> int:
    return sum(1 for _ in islice(_between(trigger, anchor, after, until), MOST_COUNTED))


def _count_before(trigger: Trigger, anchor: datetime, first: datetime, chosen: datetime) -> int:
    """How many there are from the first one on, before a chosen one."""
    return _count(trigger, anchor, first, chosen) if chosen > first else 0


def _between(
    trigger: Trigger, anchor: datetime, after: datetime, until: datetime
) -> Iterator[datetime]:
    return takewhile(lambda instant: instant <= until, occurrences(trigger, anchor, after))
