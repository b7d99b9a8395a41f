"""Cron expressions of five fields, by cronsim.

cronsim computes on local times here, and turnledger's own rules bring them to instants: they say
in words what Debian's cron does by its parts. Where day of month and day of week are both
restricted, either is enough, as POSIX has it: a field is restricted if it isn't `*`.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from turnledger.domain.errors import InvalidTrigger
from turnledger.domain.trigger import time_zone
from turnledger.domain.trigger.effort import HORIZON, Effort

_FIELDS = 5
_PRICE = 20  # of an occurrence
_SECOND = timedelta(seconds=1)


def instants(expression: str, place: ZoneInfo, after: datetime) -> Iterator[datetime]:
    """An expression's occurrences behind an instant, in order. Two may be the same instant.

    Raises:
        InvalidTrigger: It is none.
    """
    fields = expression.split()
    if len(fields) != _FIELDS:
        raise InvalidTrigger(f"has an expression of {len(fields)} fields, not {_FIELDS}")
    effort, hour = Effort(), fields[1]
    if "*" in hour or "/" in hour:

        def expand(_offset: timedelta, since: datetime) -> Iterator[datetime]:
            return _local_times(fields, since - _SECOND)

        found = time_zone.by_elapsed_time(expand, place, after, after + HORIZON)
    else:
        since = time_zone.to_local(after, place) - 2 * time_zone.DAY
        found = (time_zone.to_instant(time, place) for time in _local_times(fields, since))
    for instant in found:
        if instant > after:
            yield instant
        else:
            effort.spend(_PRICE)


def _local_times(fields: list[str], since: datetime) -> Iterator[datetime]:
    try:
        times = CronSim(" ".join(fields), since)
        times.day_and = "*" in (fields[2], fields[4])
        yield from times
    except (CronSimError, OverflowError, ValueError) as error:
        raise InvalidTrigger(f"has an expression that can't be read: {error}") from error
