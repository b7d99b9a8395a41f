"""turnledger replay."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from turnledger.cli import replay_command
from turnledger.domain.thread_queue import ThreadQueue
from turnledger.domain.thread_queue import commands as queued
from turnledger.domain.thread_queue.decide import _DECISIONS

Call = Any


@pytest.fixture
def otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a claim be answered otherwise than it was."""
    monkeypatch.setitem(_DECISIONS, queued.ClaimHead, lambda *_given: [ThreadQueue.Resumed()])


def test_replay_of_a_ledger_that_is_answered_alike_says_ok(claimed: Call) -> None:
    answer = claimed("replay")
    assert answer.status == 0
    assert [line.split() for line in answer.lines] == [
        ["replayed", "count", "result"],
        ["events", "3", "ok"],
        ["commands", "3", "ok"],
    ]
    assert claimed("replay", "t").lines == answer.lines
    in_json = claimed("replay", "t", "--json").json
    assert (in_json["ok"], in_json["commands"], in_json["same"]) == (True, 3, 3)
    assert claimed("replay", "--work-item", "item", "--json").json["commands"] == 0


@pytest.mark.usefixtures("otherwise")
def test_replay_names_what_is_answered_otherwise(claimed: Call) -> None:
    answer = claimed("replay")
    assert answer.status == 1
    assert answer.lines[2].split() == ["commands", "3", "1", "difference"]
    assert answer.lines[3] == (
        "position 3, thread_queue:t, claim_head: recorded thread_queue.claimed, now it leads to "
        "thread_queue.resumed; first field that differs: events[0].type, "
        '"thread_queue.claimed" then, "thread_queue.resumed" now'
    )
    in_json = claimed("replay", "--json")
    assert (in_json.status, in_json.json["ok"], in_json.err) == (1, False, "")
    [difference] = in_json.json["differences"]
    assert (difference["position"], difference["field"]) == (3, "events[0].type")


def test_replay_says_what_it_could_not_look_at(claimed: Call, db: Path) -> None:
    with closing(sqlite3.connect(db, isolation_level=None)) as driver:
        names = driver.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in names:
            driver.execute(f"DROP TRIGGER {name}")
        driver.execute("UPDATE events SET data = replace(data, 'w', 'x') WHERE position = 3")
    answer = claimed("replay")
    assert answer.status == 1
    assert answer.lines[1].split() == ["events", "3", "1", "not", "looked", "at"]
    assert answer.lines[3].startswith("damage: position 3, thread_queue:t: damaged: its bytes")
    assert answer.lines[3].endswith("(1 event)")


def test_a_thread_and_a_work_item_together_are_wrong_usage(claimed: Call) -> None:
    answer = claimed("replay", "t", "--work-item", "item")
    assert answer.status == 2
    assert "can't be given together" in answer.err


def test_replay_says_on_a_terminal_how_far_it_is(
    claimed: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay_command, "is_watched", lambda: True)
    monkeypatch.setattr("turnledger.replaying._PAGE", 2)
    bar = f"[{'#' * 13}{'-' * 7}] "
    assert claimed("replay").err == f"\r{bar}2 events looked at\r"
    assert claimed("replay", "t").err == "\r2 events looked at\r"
