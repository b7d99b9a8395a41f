"""Golden tables of occurrences, as the clocks of a place show them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import pytest

from turnledger.domain.errors import InvalidTrigger
from turnledger.domain.trigger import (
    Cron,
    Delay,
    Schedule,
    Trigger,
    due,
    first_run,
    next_after,
    occurrences,
    time_zone,
)
from turnledger.domain.trigger.effort import HORIZON

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
HOWE, APIA = "Australia/Lord_Howe", "Pacific/Apia"
BEGIN = datetime(1970, 1, 1, tzinfo=UTC)


def local(text: str) -> datetime:
    return datetime.fromisoformat(text)


def shown(trigger: Any, since: str, count: int) -> list[str]:
    """The occurrences from a local time on, each with its distance from UTC."""
    place = time_zone.zone(trigger.timezone)
    after = time_zone.to_instant(local(since), place) - timedelta(microseconds=1)
    found = islice(occurrences(trigger, BEGIN, after), count)
    return [one.astimezone(place).strftime("%d %H:%M%z") for one in found]


def cron(expression: str, timezone: str) -> Cron:
    return Cron(expression=expression, timezone=timezone)


def rule(rrule: str, dtstart: str, timezone: str) -> Schedule:
    return Schedule(rrule=rrule, dtstart=local(dtstart), timezone=timezone)


TABLES = [
    # forward in Berlin: 02:00 to 03:00 isn't there
    (
        cron("30 2 * * *", BERLIN),
        "2026-03-28",
        "28 02:30+0100, 29 03:00+0200, 30 02:30+0200",
    ),
    (
        cron("*/15 2,3 * * *", BERLIN),
        "2026-03-29",
        "29 03:00+0200, 29 03:15+0200, 29 03:30+0200, 29 03:45+0200, 30 02:00+0200",
    ),
    (
        cron("30 * * * *", BERLIN),
        "2026-03-29T00:00",
        "29 00:30+0100, 29 01:30+0100, 29 03:30+0200, 29 04:30+0200",
    ),
    (
        cron("0 */2 * * *", BERLIN),
        "2026-03-29T00:00",
        "29 00:00+0100, 29 04:00+0200, 29 06:00+0200",
    ),
    (
        rule("FREQ=DAILY", "2026-03-27T02:30", BERLIN),
        "2026-03-28",
        "28 02:30+0100, 29 03:00+0200, 30 02:30+0200",
    ),
    (
        rule("FREQ=HOURLY;INTERVAL=2", "2026-03-28T00:00", BERLIN),
        "2026-03-29T00:00",
        "29 00:00+0100, 29 03:00+0200, 29 05:00+0200",
    ),
    (
        rule("FREQ=DAILY;BYHOUR=2,3;BYMINUTE=0,30", "2026-03-28T00:00", BERLIN),
        "2026-03-29",
        "29 03:00+0200, 29 03:30+0200, 30 02:00+0200",
    ),
    # back in Berlin: 02:00 to 03:00 is there twice
    (
        cron("30 2 * * *", BERLIN),
        "2026-10-24",
        "24 02:30+0200, 25 02:30+0200, 26 02:30+0100",
    ),
    (
        cron("30 * * * *", BERLIN),
        "2026-10-25T01:00",
        "25 01:30+0200, 25 02:30+0200, 25 02:30+0100, 25 03:30+0100",
    ),
    (
        rule("FREQ=HOURLY", "2026-10-24T00:00", BERLIN),
        "2026-10-25T01:00",
        "25 01:00+0200, 25 02:00+0200, 25 02:00+0100, 25 03:00+0100",
    ),
    (
        rule("FREQ=WEEKLY;BYDAY=SU", "2026-10-18T02:30", BERLIN),
        "2026-10-18",
        "18 02:30+0200, 25 02:30+0200, 01 02:30+0100",
    ),
    # New York
    (
        cron("0 2 * * *", NEW_YORK),
        "2026-03-07",
        "07 02:00-0500, 08 03:00-0400, 09 02:00-0400",
    ),
    (
        rule("FREQ=MINUTELY;INTERVAL=40", "2026-11-01T00:00", NEW_YORK),
        "2026-11-01T00:40",
        "01 00:40-0400, 01 01:20-0400, 01 01:00-0500, 01 01:40-0500, 01 02:20-0500",
    ),
    (
        rule("FREQ=DAILY", "2026-10-31T01:30", NEW_YORK),
        "2026-10-31",
        "31 01:30-0400, 01 01:30-0400, 02 01:30-0500",
    ),
    # Lord Howe: half an hour
    (
        cron("15 2 * * *", HOWE),
        "2026-10-03",
        "03 02:15+1030, 04 02:30+1100, 05 02:15+1100",
    ),
    (
        cron("45 1 * * *", HOWE),
        "2026-04-04",
        "04 01:45+1100, 05 01:45+1100, 06 01:45+1030",
    ),
    (
        rule("FREQ=MINUTELY;INTERVAL=30", "2026-04-05T00:00", HOWE),
        "2026-04-05T01:00",
        "05 01:00+1100, 05 01:30+1100, 05 01:30+1030, 05 02:00+1030",
    ),
    # Apia: 30 December 2011 isn't there
    (
        rule("FREQ=DAILY", "2011-12-28T09:00", APIA),
        "2011-12-29",
        "29 09:00-1000, 31 00:00+1400, 31 09:00+1400",
    ),
    (cron("0 9 30 12 *", APIA), "2011-12-01", "31 00:00+1400, 30 09:00+1400"),
    (
        cron("0 */12 * * *", APIA),
        "2011-12-29T00:00",
        "29 00:00-1000, 29 12:00-1000, 31 00:00+1400, 31 12:00+1400",
    ),
]


@pytest.mark.parametrize(("trigger", "since", "table"), TABLES, ids=lambda one: str(one)[:40])
def test_occurrences_across_changes_of_the_clocks(trigger: Any, since: str, table: str) -> None:
    expected = table.split(", ")
    assert shown(trigger, since, len(expected)) == expected


# The rules of RFC 5545, 3.8.5.3, each from 2 September 1997 at nine in New York, and the days
# that follow; a full stop where there is no other.
RFC = [
    ("FREQ=DAILY;COUNT=10", "09-02 09-03 09-04 09-05 09-06 09-07 09-08 09-09 09-10 09-11 ."),
    ("FREQ=DAILY;INTERVAL=2", "09-02 09-04 09-06 09-08"),
    ("FREQ=DAILY;INTERVAL=10;COUNT=5", "09-02 09-12 09-22 10-02 10-12 ."),
    ("FREQ=WEEKLY;UNTIL=19970923T000000Z", "09-02 09-09 09-16 ."),
    ("FREQ=WEEKLY;INTERVAL=2;WKST=SU", "09-02 09-16 09-30 10-14 10-28 11-11"),
    ("FREQ=WEEKLY;COUNT=10;WKST=SU;BYDAY=TU,TH", "09-02 09-04 09-09 09-11 09-16"),
    ("FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH", "09-02 09-04 09-16 09-18 09-30"),
    ("FREQ=MONTHLY;COUNT=10;BYDAY=1FR", "09-05 10-03 11-07 12-05 01-02"),
    ("FREQ=MONTHLY;INTERVAL=2;COUNT=10;BYDAY=1SU,-1SU", "09-07 09-28 11-02 11-30 01-04"),
    ("FREQ=MONTHLY;COUNT=6;BYDAY=-2MO", "09-22 10-20 11-17 12-22 01-19 02-16 ."),
    ("FREQ=MONTHLY;BYMONTHDAY=-3", "09-28 10-29 11-28 12-29 01-29 02-26"),
    ("FREQ=MONTHLY;COUNT=10;BYMONTHDAY=2,15", "09-02 09-15 10-02 10-15"),
    ("FREQ=MONTHLY;COUNT=10;BYMONTHDAY=1,-1", "09-30 10-01 10-31 11-01"),
    ("FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12", "09-10 09-11 09-12 03-10"),
    ("FREQ=MONTHLY;INTERVAL=2;BYDAY=TU", "09-02 09-09 09-16 09-23 09-30 11-04"),
    ("FREQ=YEARLY;COUNT=10;BYMONTH=6,7", "06-02 07-02 06-02 07-02"),
    ("FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200", "01-01 04-09 07-18"),
    ("FREQ=YEARLY;BYDAY=20MO", "05-18 05-17 05-15"),
    ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "05-11 05-17 05-15"),
    ("FREQ=YEARLY;BYMONTH=3;BYDAY=TH", "03-05 03-12 03-19"),
    ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "02-13 03-13 11-13 08-13 10-13"),
    ("FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13", "09-13 10-11 11-08 12-13"),
    ("FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", "11-04 11-06 11-08"),
    ("FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "09-04 10-07 11-06 ."),
    ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "09-29 10-30 11-27 12-30"),
    ("FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T210000Z", "09-02 09-02 09-02 ."),
    ("FREQ=MINUTELY;INTERVAL=15;COUNT=6", "09-02 09-02 09-02 09-02 09-02 09-02 ."),
    ("FREQ=MINUTELY;INTERVAL=90;COUNT=4", "09-02 09-02 09-02 09-02 ."),
    ("FREQ=DAILY;BYHOUR=9,10;BYMINUTE=0,20,40", "09-02 09-02 09-02 09-02 09-02 09-02 09-03"),
    ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "09-02 09-07 09-16 09-21 ."),
    ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "09-02 09-14 09-16 09-28 ."),
]


@pytest.mark.parametrize(("rrule", "days"), RFC)
def test_the_examples_of_the_standard(rrule: str, days: str) -> None:
    trigger = rule(rrule, "1997-09-02T09:00", NEW_YORK)
    expected = days.split()
    after = datetime(1997, 9, 1, tzinfo=UTC)
    place = time_zone.zone(NEW_YORK)
    found = [
        one.astimezone(place).strftime("%m-%d")
        for one in islice(occurrences(trigger, BEGIN, after), len(expected))
    ]
    assert found == [day for day in expected if day != "."]


def test_by_hours_and_minutes_gives_each_pair_of_them() -> None:
    trigger = rule("FREQ=DAILY;BYHOUR=11,18;BYMINUTE=0,15", "2026-01-01T00:00", BERLIN)
    day = "01 11:00+0100, 01 11:15+0100, 01 18:00+0100, 01 18:15+0100, 02 11:00+0100"
    assert shown(trigger, "2026-01-01", 5) == day.split(", ")


@pytest.mark.parametrize(
    ("trigger", "years"),
    [
        (cron("0 0 29 2 *", "UTC"), "2028 2032 2036"),
        (rule("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "2020-01-01T00:00", "UTC"), "2028 2032"),
        (rule("FREQ=YEARLY", "2020-02-29T00:00", "UTC"), "2028 2032 2036"),
        (rule("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO", "2020-01-01", "UTC"), "2044 2072"),
    ],
)
def test_leap_days_come_when_they_come(trigger: Trigger, years: str) -> None:
    after = datetime(2026, 12, 1, tzinfo=UTC)
    found = islice(occurrences(trigger, BEGIN, after), len(years.split()))
    assert [str(one.year) for one in found] == years.split()


@pytest.mark.parametrize(
    ("expression", "days"),
    [
        ("0 12 13 * FRI", "02 09 13 16 23 30"),  # both restricted: either
        ("0 12 13 * *", "13"),
        ("0 12 * * FRI", "02 09 16 23 30"),
        ("0 12 */10 * FRI", "01 02 09 11 16 21 23 30 31"),
    ],
)
def test_day_of_month_and_day_of_week_as_posix_has_it(expression: str, days: str) -> None:
    after, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 2, 1, tzinfo=UTC)
    found = occurrences(cron(expression, "UTC"), BEGIN, after)
    january = [one.strftime("%d") for one in islice(found, 20) if one < end]
    assert january == days.split()


@pytest.mark.parametrize(
    "rrule",
    [
        *("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30"),
        *("FREQ=WEEKLY;BYMONTH=13", "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"),
        *("FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30"),
        *("FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=SECONDLY;INTERVAL=2;BYSECOND=1"),
        *("FREQ=HOURLY;INTERVAL=24;BYHOUR=5", "FREQ=MINUTELY;INTERVAL=1440;BYHOUR=5"),
        *("FREQ=DAILY;INTERVAL=9999999", "FREQ=YEARLY;INTERVAL=29", "FREQ=DAILY;BYHOUR=25"),
        *("FREQ=HOURLY;BYHOUR=25", "FREQ=SECONDLY;BYMINUTE=61", "FREQ=DAILY;INTERVAL=0"),
        *("FREQ=DAILY;INTERVAL=-1", "FREQ=DAILY;COUNT=0", "FREQ=DAILY;COUNT=1;UNTIL=20300101"),
        *("FREQ=SOMETIMES", "DAILY", "FREQ=DAILY;FREQ=DAILY", "FREQ=DAILY;BYDAY=", "FREQ=DAILY;"),
        *("FREQ=DAILY;UNTIL=tomorrow", "FREQ=DAILY;BYDAY=XX", "FREQ=DAILY;BYSETPOS=0"),
        *("FREQ=SECONDLY;BYSETPOS=2", "FREQ=MINUTELY;BYSECOND=0;COUNT=50000"),
        *("FREQ=DAILY\nEXDATE:20260101T000000", "DTSTART:20260101\nRRULE:FREQ=DAILY", "FREQ=٣"),
    ],
)
def test_a_rule_that_finds_nothing_is_given_up(rrule: str) -> None:
    trigger = rule(rrule, "2026-01-01T09:00", BERLIN)
    with pytest.raises(InvalidTrigger):
        first_run(trigger, datetime(2026, 1, 1, 10, tzinfo=UTC))


@pytest.mark.parametrize("rrule", ["FREQ=SECONDLY", "FREQ=HOURLY", "FREQ=MONTHLY"])
@pytest.mark.parametrize("dtstart", ["9999-12-31T23:59:59", "9990-01-01T00:00"])
@pytest.mark.parametrize("timezone", ["UTC", BERLIN, "Pacific/Kiritimati", "Etc/GMT+12"])
def test_the_end_of_the_calendar_is_a_refusal_at_most(
    rrule: str, dtstart: str, timezone: str
) -> None:
    trigger = rule(rrule, dtstart, timezone)
    for now in (datetime(2026, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)):
        with suppress(InvalidTrigger):
            _, first = first_run(trigger, now)
            assert first is not None
            assert next_after(trigger, now, first) != first


def test_a_count_that_cant_be_counted_to_its_end_is_refused_at_once() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    with pytest.raises(InvalidTrigger, match="COUNT of 50000 can't be counted to its end"):
        first_run(rule("FREQ=MINUTELY;BYSECOND=0;COUNT=50000", "2026-01-01", "UTC"), now)
    first_run(rule("FREQ=MINUTELY;BYSECOND=0;COUNT=5000", "2026-01-01", "UTC"), now)
    first_run(rule("FREQ=MINUTELY;COUNT=50000", "2026-01-01", "UTC"), now)


def test_until_is_an_instant() -> None:
    summer = "2026-07-01T09:00"
    for until, count in (("20260703T070000Z", 3), ("20260703T065959Z", 2), ("20260703T090000", 3)):
        trigger = rule(f"FREQ=DAILY;UNTIL={until}", summer, BERLIN)
        after = datetime(2026, 6, 1, tzinfo=UTC)
        assert len(list(occurrences(trigger, BEGIN, after))) == count


def test_a_count_is_kept_however_long_ago_it_began() -> None:
    after = datetime(2026, 1, 1, tzinfo=UTC)
    for rrule in ("FREQ=MINUTELY;COUNT=4000000", "FREQ=DAILY;COUNT=2200", "FREQ=WEEKLY;COUNT=315"):
        assert next_after(rule(rrule, "2020-01-01T09:00", BERLIN), BEGIN, after) is not None
    assert next_after(rule("FREQ=DAILY;COUNT=2192", "2020-01-01", "UTC"), BEGIN, after) is None


def test_a_rule_far_ahead_is_found_and_no_search_looks_further() -> None:
    far = rule("FREQ=YEARLY", "2070-01-01T00:00", "UTC")
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert next_after(far, BEGIN, now) == datetime(2070, 1, 1, tzinfo=UTC)
    assert timedelta(days=10_227) < HORIZON < timedelta(days=10_240)


def test_a_delay_fires_once_or_on_its_grid() -> None:
    anchor = datetime(2026, 1, 1, tzinfo=UTC)
    at = {seconds: anchor + timedelta(seconds=seconds) for seconds in (0, 10, 35, 40)}
    grid = Delay(seconds=10, repeat=True)
    assert next_after(grid, anchor, at[0]) == at[10]
    assert next_after(grid, anchor, at[35]) == at[40]
    assert next_after(Delay(seconds=10), anchor, at[10]) is None
    found = due(grid, anchor, at[10], at[35])
    assert (found.planned_at, found.missed, found.next_run_at) == (at[10], 2, at[40])


@pytest.mark.parametrize(("misfire", "planned"), [("skip", 0), ("catch_up", 99)])
def test_a_long_sleep_costs_no_more_than_what_is_run_of_it(
    misfire: Any, planned: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = 0

    def counted(*given: Any) -> Iterator[datetime]:
        nonlocal looked_at
        for instant in occurrences(*given):
            looked_at += 1
            yield instant

    monkeypatch.setattr("turnledger.domain.trigger.misfire.occurrences", counted)
    anchor, millisecond = datetime(2026, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)
    trigger, now = Delay(seconds=0.001, repeat=True, misfire=misfire), anchor + timedelta(days=1)
    found = due(trigger, anchor, anchor + millisecond, now)
    assert (found.planned_at, found.missed) == (now - planned * millisecond, 1_000)
    assert looked_at < 3_000
