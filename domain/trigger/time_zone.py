"""Timezones: local times to instants and back, through gaps and repeated hours.

The data is always that of the `tzdata` package, never the host's: then it has a version, which is
kept with each timer, and every worker of a ledger computes the same.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import import_module
from importlib.resources import files
from zoneinfo import ZoneInfo

from turnledger.domain.errors import InvalidTrigger

VERSION: str = import_module("tzdata").IANA_VERSION

DAY = timedelta(days=1)
_SECOND = timedelta(seconds=1)

Expand = Callable[[timedelta, datetime], Iterator[datetime]]


@cache
def names() -> frozenset[str]:
    """The names of all timezones."""
    return frozenset((files("tzdata") / "zones").read_text(encoding="ascii").split())


@cache
def zone(name: str) -> ZoneInfo:
    """The timezone of a name.

    Raises:
        InvalidTrigger: There is none.
    """
    if name not in names():
        raise InvalidTrigger(f"has the timezone {name!r}, no IANA name such as Europe/Berlin")
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as data:
        return ZoneInfo.from_file(data, key=name)


def to_local(instant: datetime, place: ZoneInfo) -> datetime:
    """What the clocks at a place show, without a timezone."""
    return instant.astimezone(place).replace(tzinfo=None, fold=0)


def to_instant(local: datetime, place: ZoneInfo) -> datetime:
    """When the clocks at a place show a time first; in a gap, the first instant after it."""
    instant = local.replace(tzinfo=place, fold=0).astimezone(UTC)
    if to_local(instant, place) == local:
        return instant
    before = local.replace(tzinfo=place, fold=1).astimezone(UTC)
    return _change_between(place, before, instant)


def is_in_gap(local: datetime, place: ZoneInfo) -> bool:
    """Whether the clocks at a place never show a time."""
    return to_local(local.replace(tzinfo=place, fold=0).astimezone(UTC), place) != local


def by_elapsed_time(
    expand: Expand, place: ZoneInfo, start: datetime, end: datetime
) -> Iterator[datetime]:
    """Instants, found stretch by stretch: within one, the place is at a fixed distance from UTC.

    Args:
        expand: Local times from one on, at a fixed distance from UTC.
        place: Where.
        start: From when on.
        end: Until when they are looked for.
    """
    while start <= end:
        offset = _offset(place, start)
        change: datetime | None = None
        for local in expand(offset, (start + offset).replace(tzinfo=None)):
            instant = local.replace(tzinfo=UTC) - offset
            change = _first_change(place, start, instant)
            if change is not None:
                break
            yield instant
            start = max(start, instant)
        else:
            change = _first_change(place, start, end)
        if change is None:
            return
        start = change


def _first_change(place: ZoneInfo, start: datetime, end: datetime) -> datetime | None:
    """The first instant up to another one at which the distance from UTC isn't the same."""
    offset = _offset(place, start)
    while start < end:
        later = min(start + DAY, end)
        if _offset(place, later) != offset:
            return _change_between(place, start, later)
        start = later
    return None


def _change_between(place: ZoneInfo, before: datetime, after: datetime) -> datetime:
    """The instant at which the distance from UTC changes; that is at a whole second."""
    before, old = before.replace(microsecond=0), _offset(place, before)
    unchanged, changed = 0, -((before - after) // _SECOND)
    while changed - unchanged > 1:
        middle = (unchanged + changed) // 2
        if _offset(place, before + middle * _SECOND) == old:
            unchanged = middle
        else:
            changed = middle
    return before + changed * _SECOND


def _offset(place: ZoneInfo, instant: datetime) -> timedelta:
    return instant.astimezone(place).utcoffset() or timedelta(0)
