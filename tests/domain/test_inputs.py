"""Identifiers, durations and times as callers give them."""

from __future__ import annotations

import math
import unicodedata
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from turnledger.domain.duration import check_duration, check_time
from turnledger.domain.errors import InvalidDuration, InvalidIdentifier, InvalidTime
from turnledger.domain.identifier import check_identifier

DAY = timedelta(days=1)
MILLISECOND = timedelta(milliseconds=1)
law = settings(derandomize=True, database=None, deadline=None, max_examples=150)


@law
@given(st.text(min_size=1, max_size=30))
@example("a\x00")
@example("\x7f")
@example("\x9f")
@example("\ud800")
@example("\U0001f600" * 256)
@example("\U0001f600" * 257)
@example(" padded ")
@example("\u200b\u202e\u2028\xa0\xad\ufeff")
@example("e\u0301")
@example("-dash:colon/../%_'\";--")
def test_identifiers_are_text_without_control_characters_and_come_out_untouched(text: str) -> None:
    bad = any(unicodedata.category(character) in ("Cc", "Cs") for character in text)
    if bad or len(text) > 256:
        with pytest.raises(InvalidIdentifier):
            check_identifier("thread_id", text)
    else:
        assert check_identifier("thread_id", text) == text


def test_each_control_character_and_surrogate_is_refused() -> None:
    for number in (*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000)):
        with pytest.raises(InvalidIdentifier):
            check_identifier("thread_id", f"a{chr(number)}b")


@pytest.mark.parametrize("value", ["", None, 1, b"id", ["id"], 1.5, True])
def test_anything_else_is_no_identifier(value: Any) -> None:
    with pytest.raises(InvalidIdentifier, match="owner") as refused:
        check_identifier("owner", value)
    assert refused.value.name == "owner"


def test_an_identifier_has_one_to_256_characters() -> None:
    assert check_identifier("thread_id", "x") == "x"
    assert check_identifier("thread_id", "x" * 256) == "x" * 256
    with pytest.raises(InvalidIdentifier, match="257"):
        check_identifier("thread_id", "x" * 257)


def test_an_identifier_of_a_subclass_comes_out_as_plain_text() -> None:
    class Name(str):
        __slots__ = ()

    assert type(check_identifier("thread_id", Name("name"))) is str


@pytest.mark.parametrize(
    ("value", "duration"),
    [
        (1, timedelta(seconds=1)),
        (0.001, MILLISECOND),
        (1.5, timedelta(seconds=1.5)),
        (86_400, DAY),
        (86_400.0, DAY),
        (MILLISECOND, MILLISECOND),
        (DAY, DAY),
    ],
)
def test_a_duration_is_a_timedelta_or_seconds(value: Any, duration: timedelta) -> None:
    assert check_duration("lease", value, DAY) == duration


@law
@given(st.integers(min_value=-(10**400), max_value=10**400) | st.floats() | st.timedeltas())
@example(10**400)
@example(-(10**400))
@example(1e308)
@example(5e-324)
@example(math.nan)
@example(timedelta.max)
@example(timedelta.min)
@example(86_400.000_001)
def test_a_duration_is_finite_at_least_a_millisecond_and_at_most_its_setting(value: Any) -> None:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if 0.001 <= seconds <= 86_400:
        assert check_duration("lease", value, DAY).total_seconds() == pytest.approx(seconds)
    elif not 0.000_999 < seconds < 86_400.001:  # less than a microsecond is rounded away
        with pytest.raises(InvalidDuration):
            check_duration("lease", value, DAY)


@pytest.mark.parametrize(
    "value",
    [
        0,
        -1,
        0.0,
        0.000_9,
        timedelta(0),
        timedelta(microseconds=999),
        timedelta(seconds=-1),
        86_401,
        DAY + timedelta(microseconds=1),
        math.inf,
        -math.inf,
        pytest.param(10**5_000, id="5,001 digits"),
    ],
)
def test_any_other_duration_is_refused(value: Any) -> None:
    with pytest.raises(InvalidDuration, match="lease") as refused:
        check_duration("lease", value, DAY)
    assert refused.value.name == "lease"


@pytest.mark.parametrize("value", ["60", None, True, False, [60], 60j, date(2026, 1, 5)])
def test_anything_else_is_no_duration(value: Any) -> None:
    with pytest.raises(InvalidDuration):
        check_duration("lease", value, DAY)


def test_the_longest_is_a_setting() -> None:
    assert check_duration("lease", 5, timedelta(seconds=5)) == timedelta(seconds=5)
    with pytest.raises(InvalidDuration):
        check_duration("lease", 6, timedelta(seconds=5))


@law
@given(
    st.datetimes(
        min_value=datetime(2, 1, 1),  # noqa: DTZ001 - it gets its zone below
        max_value=datetime(9998, 12, 31),  # noqa: DTZ001
        timezones=st.integers(-1_439, 1_439).map(lambda m: timezone(timedelta(minutes=m))),
    )
)
def test_a_time_comes_out_in_utc_as_the_same_instant(value: datetime) -> None:
    time = check_time("not_before", value)
    assert time == value
    assert time.utcoffset() == timedelta(0)
    assert time.microsecond == value.microsecond


class Nowhere(tzinfo):
    """A zone that doesn't know its offset: such a time is naive."""

    def utcoffset(self, _moment: datetime | None) -> None:
        return None

    dst = utcoffset

    def tzname(self, _moment: datetime | None) -> str:
        return "nowhere"


NAIVE = datetime(2026, 1, 5, 9, 0)  # noqa: DTZ001 - what is refused


@pytest.mark.parametrize("value", [NAIVE, NAIVE.replace(tzinfo=Nowhere())])
def test_a_time_without_a_timezone_is_refused(value: datetime) -> None:
    with pytest.raises(InvalidTime, match="without a timezone") as refused:
        check_time("not_before", value)
    assert refused.value.name == "not_before"


@pytest.mark.parametrize("value", [None, 0, 1.5, "2026-01-05T09:00:00Z", date(2026, 1, 5)])
def test_anything_else_is_no_time(value: Any) -> None:
    with pytest.raises(InvalidTime):
        check_time("not_before", value)


@pytest.mark.parametrize(
    "value",
    [
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_a_time_out_of_the_range_of_utc_is_refused(value: datetime) -> None:
    with pytest.raises(InvalidTime):
        check_time("not_before", value)


def test_the_ends_of_time_are_times() -> None:
    assert check_time("not_before", datetime.max.replace(tzinfo=UTC)).year == 9999
    assert check_time("not_before", datetime.min.replace(tzinfo=UTC)).year == 1
