"""Bad input is answered by one clear line, and by a JSON object if that was asked for."""

from pathlib import Path
from typing import Any

import pytest

Call = Any

APPEND = ("queue", "append", "t")
POST = ("inbox", "post", "t", "--source", "ci")
DEEPEST = '{"a":' * 99 + "[]" + "}" * 99
MEBIBYTE = 1024 * 1024

BAD = [
    (("history",), "usage", "name one thing"),
    (("show", "t", "--turn", "x"), "usage", "name one thing"),
    (("show", "--run", ""), "invalid_identifier", "run_id must not be empty"),
    (("show", "t", "--last", "0"), "usage", "whole number from 1"),
    (("history", "t", "--after", "-1"), "usage", "whole number from 0"),
    (("state", "t"), "usage", "--at"),
    (("state", "--at", "1"), "usage", "name one thing"),
    (("state", "t", "--at", "99"), "invalid_payload", "is position 99, but the last one is"),
    (("state", "t", "--at", "9" * 40), "usage", "is no position"),
    (("state", "t", "--at=-1"), "usage", "is no position"),
    (("state", "t", "--at", "now"), "invalid_time", "ISO 8601"),
    (("state", "t", "--at", "2030-01-31T09:00:00"), "invalid_time", "timezone"),
    (("diff", "t", "1"), "usage", "two moments"),
    (("diff", "t", "1", "x"), "invalid_time", "ISO 8601"),
    (("diff", "t", "0", "99"), "invalid_payload", "is position 99"),
    (("diff", "t", "0", "0", "--work-item", "w"), "usage", "two moments"),
    (("queue", "append", "", "{}"), "invalid_identifier", "thread_id must not be empty"),
    (("queue", "append", "x" * 257, "{}"), "invalid_identifier", "257 characters"),
    (("queue", "append", "a\nb", "{}"), "invalid_identifier", "control characters"),
    (("queue", "append", "a\x1b[31m", "{}"), "invalid_identifier", "control characters"),
    (("queue", "append", "a\x85", "{}"), "invalid_identifier", "control characters"),
    (("queue", "append", "\udcff", "{}"), "invalid_identifier", "surrogates"),
    (("queue", "get", "t", ""), "invalid_identifier", "queued_turn_id"),
    (("queue", "claim", "t", "--owner", ""), "invalid_identifier", "owner must not be empty"),
    ((*APPEND, "{}", "--key", ""), "invalid_identifier", "idempotency_key"),
    ((*APPEND, '{"a": NaN}'), "invalid_payload", "holds NaN"),
    ((*APPEND, '{"a": -Infinity}'), "invalid_payload", "holds -Infinity"),
    ((*APPEND, '{"a": 1e999}'), "invalid_payload", "holds 1e999"),
    ((*APPEND, '{"a": 1, "a": 1}'), "invalid_payload", 'the key "a" twice'),
    ((*APPEND, '{"a": {"b": 1, "b": 1}}'), "invalid_payload", 'the key "b" twice'),
    ((*APPEND, '{"a": "\\ud800"}'), "invalid_payload", "lone surrogate at $.a"),
    ((*APPEND, '{"\\ud800": 1}'), "invalid_payload", "lone surrogate"),
    ((*APPEND, f'{{"a": {DEEPEST}}}'), "invalid_payload", "nested past 100 levels"),
    ((*APPEND, "[" * 100_000), "invalid_payload", "submission"),
    ((*APPEND, f'{{"a": {"9" * 4301}}}'), "invalid_payload", "more than 4,300 digits"),
    ((*APPEND, "[1]"), "invalid_payload", "must be a JSON object, not list"),
    ((*APPEND, "null"), "invalid_payload", "must be a JSON object"),
    ((*APPEND, "{'a': 1}"), "invalid_payload", "isn't JSON: "),
    ((*APPEND, ""), "invalid_payload", "isn't JSON: "),
    ((*APPEND, "{} {}"), "invalid_payload", "isn't JSON: "),
    (("inbox", "post", "t", "1"), "usage", "--source"),
    ((*POST, "hi"), "invalid_payload", "content isn't JSON: "),
    ((*POST, "1", "--delivery", "by-pigeon"), "usage", "by-pigeon"),
    ((*POST, "1", "--metadata", "[1]"), "invalid_payload", "metadata must be a JSON object"),
    ((*POST, "1", "--queued-at", "2030-01-31"), "invalid_time", "queued_at"),
    ((*POST, "1", "--id", "a\n"), "invalid_identifier", "message_id"),
    (("inbox", "post", "t", "1", "--source", ""), "invalid_identifier", "source"),
    (("inbox", "get", "t", ""), "invalid_identifier", "message_id"),
    (("inbox", "claim", "t"), "usage", "--owner"),
    (("inbox", "recover", "--mode", "exactly_once"), "usage", "exactly_once"),
    (("thread", "fork", "t", ""), "invalid_identifier", "new_id"),
    ((*APPEND, "{}", "--not-before", "2030-01-31T09:00:00"), "invalid_time", "timezone"),
    ((*APPEND, "{}", "--not-before", "2030-01-31"), "invalid_time", "timezone"),
    ((*APPEND, "{}", "--not-before", "tomorrow"), "invalid_time", "ISO 8601"),
    ((*APPEND, "{}", "--not-before", "9999-12-31T23:00:00-20:00"), "invalid_time", "range"),
    ((*APPEND, "@nowhere.json"), "usage", "can't read nowhere.json"),
    ((*APPEND, "@"), "usage", "can't read"),
    (("queue", "claim", "t", "--owner", "w", "--lease", "0"), "invalid_duration", "1 ms"),
    (("queue", "claim", "t", "--owner", "w", "--lease", "-1"), "invalid_duration", "lease"),
    (("queue", "claim", "t", "--owner", "w", "--lease", "nan"), "invalid_duration", "lease"),
    (("queue", "claim", "t", "--owner", "w", "--lease", "1e300"), "invalid_duration", "lease"),
    (("queue", "claim", "t", "--owner", "w", "--lease", "long"), "usage", "lease"),
    (("queue", "claim", "t"), "usage", "--owner"),
    (("queue", "ack", "t", "--owner", "w", "--epoch", "-1"), "usage", "--epoch"),
    (("queue", "ack", "t", "--owner", "w", "--epoch", "9" * 30), "usage", "--epoch"),
    (("queue", "list", "t", "--limit", "0"), "usage", "--limit"),
    (("queue", "list", "t", "--after", "x"), "usage", "--after"),
    (("queue", "resolve", "t", "x", "maybe", "--by", "ann"), "usage", "maybe"),
    (("queue", "reorder", "t"), "usage", "QUEUED_TURN"),
    (("queue", "list"), "usage", "THREAD"),
    (("queue", "list", "t", "u"), "usage", "u"),
    (("queue", "lst", "t"), "usage", "no such command"),
    (("eat",), "usage", "no such command 'eat'"),
    (("\x1b[31meat",), "usage", "[31meat"),
    (("queue", "list", "t", "--colour"), "usage", "no such option"),
    (("thread", "list", "--state", "asleep"), "usage", "asleep"),
    (("log", "--limit", "-1"), "usage", "--limit"),
    (("--db", "mysql://localhost/x", "verify"), "invalid_payload", "mysql"),
    (("--db", "", "verify"), "invalid_payload", "names no file"),
    (("backup", "nowhere/backup.db"), "usage", "no folder"),
]


@pytest.mark.parametrize(("words", "code", "said"), BAD)
def test_bad_input_is_answered_by_one_line(
    call: Call, words: tuple[str, ...], code: str, said: str
) -> None:
    answer = call(*words)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("turnledger: ")
    assert answer.err.count("\n") == 1
    assert said in answer.err
    assert "\x1b" not in answer.err
    assert "Traceback" not in answer.err

    in_json = call("--json", *words)
    assert (in_json.status, in_json.err) == (2, answer.err)
    assert in_json.error["code"] == code


@pytest.mark.parametrize(("words", "code", "said"), [row for row in BAD if "append" in row[0]])
def test_bad_input_never_makes_a_ledger(
    call: Call, tmp_path: Path, words: tuple[str, ...], code: str, said: str
) -> None:
    del code, said
    new = tmp_path / "new.db"
    assert call("--db", new, *words).status == 2
    assert not new.exists()


def test_a_submission_of_the_largest_size_is_taken_and_one_byte_more_is_not(
    call: Call, tmp_path: Path
) -> None:
    file = tmp_path / "submission.json"
    text = "a" * (MEBIBYTE - len('{"a":""}'))
    file.write_text(f'{{"a": "{text}"}}')
    assert call(*APPEND, f"@{file}").status == 0
    file.write_text(f'{{"a": "{text}a"}}')
    answer = call(*APPEND, f"@{file}", "--json")
    assert (answer.status, answer.error["code"]) == (2, "payload_too_large")
    assert (answer.error["size"], answer.error["limit"]) == (MEBIBYTE + 1, MEBIBYTE)


def test_a_file_that_is_no_utf_8_is_refused(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "submission.json"
    file.write_bytes(b'{"a": "\xff"}')
    assert "isn't UTF-8: see byte 8" in call(*APPEND, f"@{file}").err


def test_an_endless_file_is_refused(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnledger.cli.source._MOST_BYTES", 1000)
    assert "more than 1,000 bytes" in call(*APPEND, "@/dev/zero").err


def test_a_hundred_levels_are_taken(call: Call) -> None:
    assert call(*APPEND, DEEPEST).status == 0


@pytest.mark.parametrize("number", [2**53 + 1, -(2**64), 10**4299])
def test_integers_come_back_exact(call: Call, number: int) -> None:
    text = f'{{"a": {number}}}'
    assert call(*APPEND, text, "--id", "x", "--json").json["submission"] == {"a": number}
    assert f'"a": {number}' in call("queue", "list", "t", "--json").out
    assert str(number) in call("queue", "list", "t").out
    assert str(number) in call("log", "--json").out


def test_text_comes_back_equal_also_where_it_is_odd(call: Call) -> None:
    odd = '{"\\u0000": "\\u0000\\u009b\\u202e\\u2028 \U0001f600 \\ud83d\\ude00", "b": [], "a": {}}'
    turn = call(*APPEND, odd, "--json")
    said = {"\0": "\0\x9b\u202e\u2028 \U0001f600 \U0001f600", "b": [], "a": {}}
    assert turn.json["submission"] == said
    assert list(turn.json["submission"]) == list(said)


def test_no_command_at_all_shows_the_help(call: Call) -> None:
    answer = call()
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith("Usage: turnledger")
    assert call("--json").error["code"] == "usage"
