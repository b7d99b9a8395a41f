"""When a trigger occurs: instants in UTC, strictly behind one that is given."""

from collections.abc import Iterator
from datetime import MAXYEAR, UTC, datetime, timedelta

from turnledger.domain.errors import InvalidTrigger
from turnledger.domain.trigger import cron, time_zone
from turnledger.domain.trigger.effort import HORIZON, give_up
from turnledger.domain.trigger.model import Cron, Delay, Schedule, Trigger, is_idle, period_of
from turnledger.domain.trigger.rule import Rule, checked, instants, rule_of

_MICROSECOND = timedelta(microseconds=1)
_FALLBACK = "UTC"


def occurrences(trigger: Trigger, anchor: datetime, after: datetime) -> Iterator[datetime]:
    """The instants at which a trigger occurs behind another one, each once, in order.

    Args:
        trigger: With its timezone, and with a dtstart if it has a rule.
        anchor: When it was set: a delay's grid begins there.
        after: They are strictly later.

    Raises:
        InvalidTrigger: The next one can't be found.
    """
    begin, last = _begin(trigger), after
    try:
        for instant in _found(trigger, anchor, after):
            if begin is not None and instant - max(begin, last) > HORIZON:
                give_up()
            if instant > last:
                yield instant
                last = instant
    except OverflowError as error:
        raise InvalidTrigger("comes to the end of the calendar, the year 9999") from error
    if _never_ends(trigger):
        give_up()


def next_after(trigger: Trigger, anchor: datetime, after: datetime) -> datetime | None:
    """The next occurrence behind an instant; None if there is none any more.

    Raises:
        InvalidTrigger: It can't be found.
    """
    return next(occurrences(trigger, anchor, after), None)


def first_run(trigger: Trigger, now: datetime) -> tuple[Trigger, datetime | None]:
    """What becomes of a trigger that is set now: the same, resolved, and when it runs first.

    A rule's occurrence at this very moment is due. An idle-recurring one has no next run.

    Raises:
        InvalidTrigger: It has no occurrence left, or can't be computed.
    """
    if isinstance(trigger, Schedule):
        return _first_of_schedule(trigger, now)
    if is_idle(trigger):
        return trigger, None
    if isinstance(trigger, Delay):
        return trigger, _sum(now, period_of(trigger))
    return trigger, next_after(trigger, now, now)


def _first_of_schedule(schedule: Schedule, now: datetime) -> tuple[Trigger, datetime]:
    place = time_zone.zone(schedule.timezone or _FALLBACK)
    after = now - _MICROSECOND
    if schedule.dtstart is None:
        begin = now.replace(microsecond=0)
        local, after = time_zone.to_local(begin, place), begin - _MICROSECOND
        schedule = schedule.model_copy(update={"dtstart": local})
    elif _is_never_shown(schedule.dtstart, schedule):
        raise InvalidTrigger(
            f"has the dtstart {schedule.dtstart.isoformat()}, which doesn't exist in "
            f"{schedule.timezone}: the clocks are put forward over it"
        )
    if schedule.rrule is None:
        return schedule, _once(schedule)
    checked(_rule(schedule))
    first = next_after(schedule, now, after)
    if first is None:
        raise InvalidTrigger("has no occurrence left")
    return schedule, first


def _found(trigger: Trigger, anchor: datetime, after: datetime) -> Iterator[datetime]:
    match trigger:
        case Delay():
            return _of_delay(trigger, anchor, after)
        case Schedule():
            if trigger.rrule is None:
                return iter((_once(trigger),))
            return instants(_rule(trigger), after)
        case _:
            return cron.instants(
                trigger.expression, time_zone.zone(trigger.timezone or _FALLBACK), after
            )


def _of_delay(delay: Delay, anchor: datetime, after: datetime) -> Iterator[datetime]:
    """The grid of a delay that repeats; the end of one that doesn't."""
    if is_idle(delay):
        return
    period = period_of(delay)
    if not delay.repeat:
        yield _sum(anchor, period)
        return
    ticks = max((after - anchor) // period + 1, 1)
    while True:
        yield _sum(anchor, period * ticks)
        ticks += 1


def _sum(start: datetime, length: timedelta) -> datetime:
    try:
        end = start + length
    except OverflowError:
        end = datetime.max.replace(tzinfo=UTC)
    if end.year >= MAXYEAR:
        raise InvalidTrigger(f"has a delay of {length}, which is too large")
    return end


def _rule(schedule: Schedule) -> Rule:
    place = time_zone.zone(schedule.timezone or _FALLBACK)
    dtstart = schedule.dtstart or datetime.min  # noqa: DTZ901 - a local time
    return rule_of(schedule.rrule or "", dtstart, place)


def _once(schedule: Schedule) -> datetime:
    try:
        dtstart = schedule.dtstart or datetime.min  # noqa: DTZ901 - a local time
        return time_zone.to_instant(dtstart, time_zone.zone(schedule.timezone or _FALLBACK))
    except OverflowError as error:
        raise InvalidTrigger("has a dtstart out of the range of UTC") from error


def _begin(trigger: Trigger) -> datetime | None:
    """From when on a rule's occurrences are looked for; None if there is no rule."""
    match trigger:
        case Cron():
            return datetime.min.replace(tzinfo=UTC)
        case Schedule(rrule=str()):
            return _once(trigger)
        case _:
            return None


def _is_never_shown(dtstart: datetime, schedule: Schedule) -> bool:
    try:
        return time_zone.is_in_gap(dtstart, time_zone.zone(schedule.timezone or _FALLBACK))
    except OverflowError as error:
        raise InvalidTrigger("has a dtstart out of the range of UTC") from error


def _never_ends(trigger: Trigger) -> bool:
    match trigger:
        case Cron():
            return True
        case Schedule(rrule=str()):
            rule = _rule(trigger)
            return rule.until is None and rule.times is None
        case _:
            return False
