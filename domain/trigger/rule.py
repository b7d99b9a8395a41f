"""Recurrence rules (RFC 5545, 3.3.10), by python-dateutil.

dateutil knows local times only, and no bounds. So UNTIL is taken out and compared as an instant, a
COUNT of a rule that is a plain grid is turned into such an end, and the search begins near where
it is to find something instead of at dtstart, where that makes no difference.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import NamedTuple, cast
from zoneinfo import ZoneInfo

from dateutil.rrule import rrule, rrulestr

from turnledger.domain.errors import InvalidTrigger
from turnledger.domain.trigger import time_zone
from turnledger.domain.trigger.effort import HORIZON, CountedInterval, Effort

_PARTS = frozenset(
    (
        *("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYMONTH", "BYWEEKNO", "BYYEARDAY"),
        *("BYMONTHDAY", "BYDAY", "BYHOUR", "BYMINUTE", "BYSECOND", "BYSETPOS"),
    )
)
_NUMBER = re.compile("0{0,8}[1-9][0-9]{0,7}")
_UNTIL = re.compile(r"\d{8}(T\d{6}Z?)?")

# How long a period is, where they all are of one length, and what looking at one costs.
_PERIODS = {
    "YEARLY": (None, 75),
    "MONTHLY": (None, 25),
    "WEEKLY": (timedelta(weeks=1), 9),
    "DAILY": (timedelta(days=1), 5),
    "HOURLY": (timedelta(hours=1), 8),
    "MINUTELY": (timedelta(minutes=1), 9),
    "SECONDLY": (timedelta(seconds=1), 9),
}
_BELOW_A_DAY = frozenset(("HOURLY", "MINUTELY", "SECONDLY"))
_DEAR = frozenset(("BYMONTH", "BYYEARDAY", "BYMONTHDAY", "BYDAY", "BYSETPOS"))
_OCCURRENCE_PRICE = 5  # of one that is passed over
_FAULTS = (ValueError, TypeError, KeyError, IndexError, OverflowError)  # what dateutil raises


class Rule(NamedTuple):
    """A rule with where it begins.

    Attributes:
        text: Without COUNT, UNTIL and INTERVAL.
        interval: From 1 on.
        period: Of the rule with its interval, if all are of one length.
        price: What looking at one costs.
        elapsed: It runs by elapsed time.
        dtstart: Where it begins, local.
        place: Whose clocks count.
        until: The last instant at which it may run.
        times: How many occurrences it has, if that can't be said by `until`.
    """

    text: str
    interval: int
    period: timedelta | None
    price: int
    elapsed: bool
    dtstart: datetime
    place: ZoneInfo
    until: datetime | None
    times: int | None


def rule_of(text: str, dtstart: datetime, place: ZoneInfo) -> Rule:
    """Read a rule.

    Raises:
        InvalidTrigger: It is none, or can never have an occurrence.
    """
    parts = _parts(text)
    period, price = _PERIODS[parts["FREQ"]]
    interval, count = _number(parts, "INTERVAL"), _number(parts, "COUNT")
    until = _until(parts.pop("UNTIL", None), place)
    if count is not None and until is not None:
        raise InvalidTrigger("has a rule with a COUNT and an UNTIL; RFC 5545 allows one of them")
    dtstart = dtstart.replace(microsecond=0)
    length = None if period is None else period * (interval or 1)
    elapsed = parts["FREQ"] in _BELOW_A_DAY
    if elapsed and not _DEAR & parts.keys():
        price = 1  # whole days aren't passed over, and the steps within one are short
    rule = Rule(
        text=";".join(f"{name}={value}" for name, value in parts.items()),
        interval=interval or 1,
        period=length,
        price=price,
        elapsed=elapsed,
        dtstart=dtstart,
        place=place,
        until=until,
        times=count,
    )
    plain = not any(name.startswith("BY") for name in parts)
    if count is None or length is None or not plain:
        return rule
    return rule._replace(until=_end(rule, length * (count - 1)), times=None)


def instants(rule: Rule, after: datetime) -> Iterator[datetime]:
    """A rule's occurrences behind an instant, in order. Two may be the same instant.

    Raises:
        InvalidTrigger: None is found within the effort that may be made.
    """
    effort = Effort()
    if rule.elapsed:
        found = _by_elapsed_time(rule, after, effort)
    else:
        since = time_zone.to_local(after, rule.place) - 2 * time_zone.DAY
        local = _local_times(rule, rule.dtstart, since, effort)
        found = (time_zone.to_instant(time, rule.place) for time in local)
    for instant in islice(found, rule.times):
        if rule.until is not None and instant > rule.until:
            return
        if instant > after:
            yield instant
        else:
            effort.spend(_OCCURRENCE_PRICE)


def _by_elapsed_time(rule: Rule, after: datetime, effort: Effort) -> Iterator[datetime]:
    begin = time_zone.to_instant(rule.dtstart, rule.place)
    start = begin if rule.times is not None else max(begin, after)

    def expand(offset: timedelta, since: datetime) -> Iterator[datetime]:
        dtstart = (begin + offset).replace(tzinfo=None)
        for time in _local_times(rule, dtstart, since, effort):
            if time >= since:
                yield time

    return time_zone.by_elapsed_time(expand, rule.place, start, start + HORIZON)


def _local_times(
    rule: Rule, dtstart: datetime, since: datetime, effort: Effort
) -> Iterator[datetime]:
    """Local times from not long before another one on."""
    if rule.period is not None and rule.times is None and since > dtstart:
        dtstart += (since - dtstart) // rule.period * rule.period
    interval = CountedInterval.of(rule.interval, effort, rule.price)
    try:
        yield from _dated(rule, dtstart).replace(interval=interval)
    except InvalidTrigger:
        raise
    except _FAULTS as error:
        if rule.elapsed and "mpty" in str(error):
            return  # nothing at this distance from UTC
        raise InvalidTrigger(f"has a rule that can't be computed: {error}") from error


def _parts(text: str) -> dict[str, str]:
    words = text.strip().upper().removeprefix("RRULE:").split(";")
    parts: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not value or name not in _PARTS or name in parts:
            raise InvalidTrigger(f"has a rule with the part {word!r}, which can't be read")
        parts[name] = value
    if parts.get("FREQ") not in _PERIODS:
        raise InvalidTrigger("has a rule without a FREQ that is known")
    return {"WKST": "MO", **parts}  # dateutil would take that of the process


def _number(parts: dict[str, str], name: str) -> int | None:
    value = parts.pop(name, None)
    if value is None:
        return None
    if not _NUMBER.fullmatch(value):
        raise InvalidTrigger(f"has a rule with the {name} {value}, not a number from 1 to 99999999")
    return int(value)


def _until(value: str | None, place: ZoneInfo) -> datetime | None:
    """UNTIL as an instant; without a Z it is local."""
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(value.removesuffix("Z")) if _UNTIL.fullmatch(value) else None
        if time is not None:
            return time.replace(tzinfo=UTC) if "Z" in value else time_zone.to_instant(time, place)
    except (ValueError, OverflowError):
        time = None
    raise InvalidTrigger(f"has a rule with the UNTIL {value}, not a time such as 20300131T090000Z")


def _end(rule: Rule, length: timedelta) -> datetime:
    """The last occurrence of a rule without any BY part, as an instant."""
    try:
        if rule.elapsed:
            return time_zone.to_instant(rule.dtstart, rule.place) + length
        return time_zone.to_instant(rule.dtstart + length, rule.place)
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def checked(rule: Rule) -> Rule:
    """The rule, if dateutil takes it, and can count it to its end: each search counts anew.

    Raises:
        InvalidTrigger: It doesn't, or can't.
    """
    try:
        _dated(rule, rule.dtstart).replace(interval=rule.interval)
    except _FAULTS as error:
        raise InvalidTrigger(f"has a rule that can't be read: {error}") from error
    if rule.times is not None:
        _must_be_countable(rule)
    return rule


def _must_be_countable(rule: Rule) -> None:
    """Refuse a COUNT that would be given up after some of its runs."""
    try:
        begin = time_zone.to_instant(rule.dtstart, rule.place)
        next(instants(rule, begin + HORIZON), None)
    except (InvalidTrigger, OverflowError) as error:
        reason = f"has a rule whose COUNT of {rule.times} can't be counted to its end; use UNTIL"
        raise InvalidTrigger(reason) from error


def _dated(rule: Rule, dtstart: datetime) -> rrule:
    """The rule as dateutil has it; always a single one, since its text has one line."""
    return cast("rrule", rrulestr(rule.text, dtstart=dtstart))
