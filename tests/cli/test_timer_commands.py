"""Every command of `turnledger timer`, and `turnledger run-timers`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

import turnledger

Call = Any

CREATE = ("timer", "create", "t", '"hi"')
BAD = [
    ((*CREATE, "--cron", "x"), "invalid_trigger", "expression of 1 fields"),
    ((*CREATE,), "invalid_trigger", "is missing"),
    ((*CREATE, "--delay", "soon"), "invalid_trigger", "no number of seconds"),
    ((*CREATE, "--delay", "nan"), "invalid_trigger", "no number of seconds"),
    ((*CREATE, "--delay", "-1"), "invalid_trigger", "seconds"),
    ((*CREATE, "--delay", "1", "--cron", "* * * * *"), "invalid_trigger", "needs one of"),
    ((*CREATE, "--delay", "1", "--timezone", "UTC"), "invalid_trigger", "timezone"),
    ((*CREATE, "--timezone", "UTC"), "invalid_trigger", "needs one of"),
    ((*CREATE, "--dtstart", "noon"), "invalid_trigger", "dtstart 'noon'"),
    ((*CREATE, "--rrule", "FREQ=DAILY;INTERVAL=0"), "invalid_trigger", "INTERVAL 0"),
    ((*CREATE, "--trigger", "{}"), "invalid_trigger", "kind None"),
    ((*CREATE, "--trigger", "{"), "invalid_payload", "trigger isn't JSON"),
    ((*CREATE, "--trigger", '{"kind":"cron"}', "--delay", "1"), "invalid_trigger", "one is"),
    ((*CREATE, "--delay", "1", "--metadata", '{"a-b": 1}'), "invalid_payload", "key 'a-b'"),
    (("timer", "create", "t", "{", "--delay", "1"), "invalid_payload", "content isn't JSON"),
    (("timer", "fire"), "usage", "--owner"),
    (("timer", "fire", "--owner", "w", "--limit", "0"), "usage", "--limit"),
    (("timer", "get", "t", ""), "invalid_identifier", "timer_id must not be empty"),
    (("run-timers", "--owner", ""), "invalid_identifier", "owner must not be empty"),
]


@pytest.mark.parametrize(("words", "code", "said"), BAD)
def test_bad_input_is_answered_by_one_line(
    call: Call, words: tuple[str, ...], code: str, said: str
) -> None:
    answer = call(*words)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert said in answer.err
    assert call(*words, "--json").error["code"] == code


def test_a_timers_life_as_people_read_it(call: Call) -> None:
    said = call(*CREATE, "--delay", "0", "--id", "a")
    assert said.out.startswith("created: a, next run 20")
    assert call(*CREATE, "--delay", "0", "--id", "a").out.startswith("was created before: a")
    title, line = call("timer", "list", "t").lines
    assert title.split() == ["timer", "state", "next", "run", "runs", "trigger", "content"]
    assert line.split()[:2] == ["a", "scheduled"]
    assert call("timer", "due").lines[1].split()[:2] == ["a", "due"]
    assert call("timer", "update", "t", "a", "--content", '"new"').status == 0
    assert call("timer", "fire", "--owner", "w").lines[1].split()[-1] == '"new"'
    assert call("timer", "history", "t", "a").lines[1].split()[-2] == "w"
    assert "ended" in call("timer", "get", "t", "a").out
    assert len(call("timer", "list", "t").lines) == 1


def test_a_timers_life_in_json(call: Call) -> None:
    trigger = '{"kind": "cron", "expression": "0 9 * * *", "timezone": "Europe/Berlin"}'
    named = ("--id", "a", "--trigger", trigger, "--misfire", "skip")
    made = call(*CREATE, *named[:4], "--json").json
    assert made["trigger"] == {**json.loads(trigger), "misfire": "coalesce"}
    assert (made["state"], made["content"], made["duplicate"]) == ("scheduled", "hi", False)
    update = ("--cron", "5 9 * * *", "--timezone", "UTC", "--instructions", "softly")
    changed = call("timer", "update", "t", "a", *update, "--json").json
    assert (changed["trigger"]["expression"], changed["instructions"]) == ("5 9 * * *", "softly")
    assert call("timer", "get", "t", "a", "--json").json == changed
    assert call("timer", "list", "t", "--json").json == [changed]
    assert call("timer", "due", "--json").json == []
    assert call("timer", "fire", "--owner", "w", "--json").json == []
    assert call("timer", "history", "t", "a", "--json").json == []


@pytest.mark.parametrize("verb", ["pause", "resume", "delete"])
def test_what_has_nothing_to_do_is_a_finding(call: Call, verb: str) -> None:
    never = call("timer", verb, "t", "a", "--json")
    assert (never.status, never.error["code"]) == (1, "timer_not_found")
    call(*CREATE, "--delay", "60", "--repeat", "--id", "a")
    if verb == "resume":
        call("timer", "pause", "t", "a")
    assert call("timer", verb, "t", "a").status == 0
    again = call("timer", verb, "t", "a", "--json")
    assert (again.status, again.error["code"]) == (1, "nothing_to_do")


@pytest.mark.parametrize("verb", ["get", "history"])
def test_a_question_about_what_never_was_is_a_finding(call: Call, verb: str) -> None:
    answer = call("timer", verb, "t", "a", "--json")
    assert (answer.status, answer.error["code"]) == (1, "timer_not_found")


def test_triggers_are_shown_in_words(call: Call) -> None:
    for name, words in {
        "a": ("--delay", "90"),
        "b": ("--delay", "90", "--repeat"),
        "c": ("--delay", "0", "--repeat"),
        "d": ("--dtstart", "2099-01-01T09:00", "--timezone", "UTC"),
        "e": ("--rrule", "FREQ=DAILY", "--timezone", "UTC"),
        "f": ("--delay", "2592001.5", "--repeat"),
    }.items():
        call(*CREATE, *words, "--id", name)
    call("timer", "pause", "t", "a")
    lines = call("timer", "list", "t").out
    for words in ("after 90 s", "every 90 s", "when the thread is idle", "once from 2099-01-01"):
        assert words in lines
    assert "scheduled, paused" in lines
    assert "every 2592001.5 s" in lines


def test_nothing_that_steers_a_terminal_is_shown(call: Call) -> None:
    more = ("--instructions", "\x1b]0;x\x07", "--metadata", '{"k": "\u202e"}')
    names = ("--id", "i\u202ed", "--source", "s\u2066", "--client", "c\u2069")
    made = call(
        "timer", "create", "t", json.dumps("a\x9b31m\u202eb"), "--delay", "0", *more, *names
    )
    answers = [
        made,
        call("timer", "list", "t"),
        call("timer", "get", "t", names[1]),
        call("timer", "fire", "--owner", "o\u202e"),
        call("timer", "history", "t", names[1]),
    ]
    for answer in answers:
        assert answer.status == 0
        assert not set("\x1b\x07\x9b\u202e\u2066\u2069") & set(answer.out)


def test_run_timers_fires_what_is_due_and_ends(call: Call) -> None:
    for name in ("a", "b"):
        call(*CREATE, "--delay", "0", "--id", name)
    answer = call("run-timers", "--owner", "w", "--once", "--json")
    assert answer.status == 0
    assert [json.loads(line)["content"] for line in answer.lines] == ["hi", "hi"]
    assert call("run-timers", "--owner", "w", "--once").out == ""
    assert call("verify").status == 0


def test_run_timers_fires_when_something_comes_and_stops_cleanly_on_sigterm(
    db: Any, environment: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "turnledger", "run-timers", "--owner", "w", "--json"]
    with (
        turnledger.open(db) as ledger,
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdout is not None
        ledger.timers.create("t", {"kind": "delay", "seconds": 0}, "first")
        assert json.loads(process.stdout.readline())["content"] == "first"
        ledger.timers.create("t", {"kind": "delay", "seconds": 0.2}, "second")
        assert json.loads(process.stdout.readline())["content"] == "second"
        ledger.timers.create("t", {"kind": "delay", "seconds": 1e9}, "never")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (0, "", "")
        assert ledger.verify().ok
