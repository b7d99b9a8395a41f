"""Times, ages, counts, summaries and JSON, as they are written."""

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from turnledger import InvalidPayload
from turnledger.cli import json_text
from turnledger.cli.plain_text import age, clean, counted, instant, squeezed
from turnledger.cli.reason import explained
from turnledger.cli.turn_view import summary

NOW = datetime(2030, 1, 31, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s ago"),
        (0.9, "0 s ago"),
        (59, "59 s ago"),
        (60, "1 m ago"),
        (192, "3 m 12 s ago"),
        (3_600, "1 h ago"),
        (3_601, "1 h ago"),
        (3_660, "1 h 1 m ago"),
        (86_399, "23 h 59 m ago"),
        (90_000, "1 d 1 h ago"),
        (86_400 * 400, "400 d ago"),
        (-192, "in 3 m 12 s"),
    ],
)
def test_an_age_has_at_most_two_units(seconds: float, text: str) -> None:
    assert age(NOW - timedelta(seconds=seconds), NOW) == text


def test_a_time_is_shown_in_utc_to_the_second() -> None:
    there = NOW.replace(microsecond=999_999).astimezone(timezone(timedelta(hours=5)))
    assert instant(there) == "2030-01-31T09:00:00Z"


def test_a_year_has_four_digits() -> None:
    assert instant(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00Z"


def test_a_count_has_its_noun() -> None:
    assert [counted(n, "turn") for n in (0, 1, 2_000)] == ["0 turns", "1 turn", "2,000 turns"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\nb\tc\r\nd", "a b c d"),
        ("\x1b[2J\x9b2J", "[2J2J"),
        ("a\u202eb\u2066c\u2069\u200e\u200f\u061c", "abc"),
        ("\ud800", "\ufffd"),
        ("é 漢字 👨‍👩‍👧 \u200b", "é 漢字 👨‍👩‍👧 \u200b"),
    ],
)
def test_clean_text_is_one_line_that_no_terminal_obeys(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_a_head_that_is_free_by_now_was_somebody_elses() -> None:
    assert explained(None) == "another process was faster, and its head could be claimed now"
    assert explained("of a newer release") == "of a newer release"


def test_runs_of_blanks_become_one() -> None:
    assert squeezed("  a \n\n b\u2028c  ") == "a b c"


@pytest.mark.parametrize(
    ("submission", "shown"),
    [
        ({"text": "hi\nthere"}, "hi there"),
        ({"prompt": "hi"}, "hi"),
        ({"content": "hi"}, "hi"),
        ({"content": [{"type": "text", "text": "hi"}]}, "hi"),
        ({"input": "hi", "text": "no"}, "hi"),
        ({"input": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a b"),
        ({"input": [{"type": "image", "url": "u"}, "b", 3]}, "[image] b 3"),
        ({"input": [], "text": "hi"}, '{"input":[],"text":"hi"}'),
        ({"text": " "}, '{"text":" "}'),
        ({"text": {"a": 1}}, '{"text":{"a":1}}'),
        ({}, "{}"),
        ({"é": [1, None, True]}, '{"é":[1,null,true]}'),
        (None, "null"),
    ],
)
def test_a_submission_is_summed_up_on_one_line(submission: Any, shown: str) -> None:
    assert summary(submission) == shown


@pytest.mark.parametrize("text", ["{}", '{"a": [1.5, -2, 1e3, "\\u0000", null, true]}', "3"])
def test_json_is_read_as_it_is(text: str) -> None:
    assert json_text.parse("it", text) == json.loads(text)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "1e400", "[", "01", "'a'", '{"a":1,"a":1}'])
def test_what_is_no_json_is_named(text: str) -> None:
    with pytest.raises(InvalidPayload, match=r"^it "):
        json_text.parse("it", text)


def test_written_json_is_one_line_that_reads_back_equal() -> None:
    value = {"a\x9b": ["\x1b\u2028\u202e漢字\x7f", 2**70, 1.5, None], "b": {}}
    text = json_text.written(value)
    assert json.loads(text) == value
    assert "漢字" in text
    assert not set(text) & set("\x1b\x7f\x9b\u2028\u202e\n")


def test_written_json_has_no_lone_surrogate() -> None:
    assert json_text.written("a\ud800") == '"a\ufffd"'


def test_times_are_written_in_utc_with_all_their_digits() -> None:
    there = datetime(2030, 1, 31, 10, 0, 0, 123456, timezone(timedelta(hours=1)))
    assert json_text.written([there, timedelta(seconds=1.5)]) == (
        '["2030-01-31T09:00:00.123456Z", 1.5]'
    )
