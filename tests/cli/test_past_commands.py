"""history, show, state and diff."""

import json
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import turnledger

Call = Any
START = datetime(2030, 1, 31, 9, 0, tzinfo=UTC)


@pytest.fixture
def worked(call: Call, db: Path) -> Call:
    """A thread `t` with a turn that was acked, one that failed and a message; a work item `w`."""
    now = [START]

    def later(seconds: float) -> None:
        now[0] += timedelta(seconds=seconds)

    with turnledger.open(db, clock=lambda: now[0]) as ledger:
        queue = ledger.queue
        for name in ("first", "second"):
            queue.append("t", {"text": f"\x1b[31m{name}"}, queued_turn_id=name)
        ledger.inbox.post("t", {"text": "mail"}, source="ci", message_id="message")
        for name in ("first", "second"):
            later(10)
            claim: Any = queue.claim_head("t", "worker")
            later(1)
            queue.start_dispatch(claim, f"dispatch of {name}")
            later(4)
            if name == "first":
                queue.ack(claim)
            else:
                queue.fail(claim, "no", outcome_unknown=True)
        turn: Any = ledger.coordinator.begin("w", {"text": "go"}, turn_id="turn", owner="host")
        attempt = ledger.coordinator.prepare(turn.claim, {})
        ledger.coordinator.start_dispatch(turn.claim, 1)
        run: Any = ledger.runs.start("run", "w", "action", "host")
        ledger.operations.create_and_claim(
            run, "key", "shell", {"run": "x"}, replay_policy="safe", automatic=False
        )
        later(3)
        ledger.operations.complete(run, "key", "applied")
        ledger.coordinator.respond(turn.claim, 1, attempt.request_hash, "answer")
        later(2)
        ledger.coordinator.complete(turn.claim, "done")
    return call


def stories(answer: Any) -> dict[str, Any]:
    assert (answer.status, answer.err) == (0, "")
    return {one["id"]: one for one in answer.json}


# --- history


def test_history_writes_the_events_of_all_parts(worked: Call) -> None:
    types = [json.loads(line)["type"] for line in worked("history", "t", "--json").lines]
    assert types == [
        *("thread_queue.appended", "thread_queue.appended", "inbox.posted"),
        *("thread_queue.claimed", "thread_queue.dispatch_started", "thread_queue.acked"),
        *("thread_queue.claimed", "thread_queue.dispatch_started", "thread_queue.failed"),
    ]
    assert [
        line.split()[0] for line in worked("history", "t", "--after", 3, "--limit", 2).lines
    ] == [*("4", "5")]


@pytest.mark.parametrize(
    ("option", "name", "first"),
    [
        ("--work-item", "w", "coordinator_turn.begun"),
        ("--turn", "turn", "coordinator_turn.begun"),
        ("--run", "run", "run.started"),
        ("--operation", "key", "operation.created"),
    ],
)
def test_history_is_of_whatever_is_named(worked: Call, option: str, name: str, first: str) -> None:
    types = [json.loads(line)["type"] for line in worked("history", option, name, "--json").lines]
    assert first in types[:2]


def test_what_nobody_used_has_an_empty_history(worked: Call) -> None:
    for command in ("history", "show"):
        answer = worked(command, "--timer", "nobody")
        assert (answer.status, answer.err) == (0, "")
    assert worked("show", "nobody", "--json").json == []


# --- show


def test_show_tells_how_long_each_waited_and_ran_and_how_it_came_out(worked: Call) -> None:
    told = stories(worked("show", "t", "--json"))
    assert list(told) == ["first", "second", "message"]
    first, second, message = told.values()
    assert (first["waited_seconds"], first["ran_seconds"], first["outcome"]) == (10, 5, "acked")
    assert (second["waited_seconds"], second["ran_seconds"]) == (25, 5)
    assert second["outcome"] == "failed, outcome unknown"
    assert second["facts"] == {"owner": "worker", "epoch": 2, "failure": "no"}
    [dispatch] = second["attempts"]
    assert (dispatch["kind"], dispatch["id"]) == ("dispatch", "dispatch of second")
    assert (dispatch["ran_seconds"], dispatch["outcome"]) == (4, "failed, outcome unknown")
    assert (message["kind"], message["outcome"]) == ("message", "posted")


def test_show_tells_of_a_work_item_its_turns_attempts_and_operations(worked: Call) -> None:
    told = stories(worked("show", "--work-item", "w", "--json"))
    assert {name: one["outcome"] for name, one in told.items()} == {
        "turn": "acked",
        "run": "started",
        "key": "completed, applied",
    }
    assert told["turn"]["ran_seconds"] == 5
    [attempt] = told["turn"]["attempts"]
    assert (attempt["id"], attempt["outcome"], attempt["ran_seconds"]) == ("1", "responded", 3)
    assert told["key"]["ran_seconds"] == 3


def test_show_draws_what_was_when(worked: Call) -> None:
    lines = worked("show", "--turn", "turn").lines
    bars = [line[line.index("|") :] for line in lines if "|" in line]
    assert [len(bar) for bar in bars] == [34, 34]
    assert set(bars[0]) == {"|", "▒"}
    assert re.fullmatch(r"\|█{19} {13}\|", bars[1])
    assert lines[-1] == "· waiting   ▒ in somebody's hands   █ sent"


def test_show_can_be_of_the_last_ones_and_flat(worked: Call) -> None:
    assert list(stories(worked("show", "t", "--last", 1, "--json"))) == ["message"]
    flat = worked("show", "t", "--events", "--last", 2).lines
    assert [line.split()[2] for line in flat] == [
        *("thread_queue.dispatch_started", "thread_queue.failed")
    ]
    assert worked("show", "t", "--events").out == worked("history", "t").out


def test_a_queue_that_was_cleared_is_told(waiting: Call, db: Path) -> None:
    with turnledger.open(db) as ledger:
        ledger.inbox.post("t", 1, source="s", message_id="message")
        ledger.threads.delete("t")
    told = stories(waiting("show", "t", "--json"))
    assert {name: one["outcome"] for name, one in told.items()} == dict.fromkeys(
        ("first", "second", "message"), "cleared"
    )


@pytest.mark.usefixtures("worked")
def test_show_follows_a_thread_and_no_other(db: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "turnledger", "show", "t", "--follow", "--last", "1", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        assert json.loads(child.stdout.readline())["type"] == "thread_queue.failed"
        with turnledger.open(db) as ledger:
            ledger.queue.append("other", {})
            ledger.queue.append("t", {})
        shown = json.loads(child.stdout.readline())
        assert (shown["type"], shown["stream_id"]) == ("thread_queue.appended", "thread_queue:t")
        child.send_signal(signal.SIGTERM)
        assert child.wait() == 128 + signal.SIGTERM


def test_texts_can_give_the_terminal_no_orders(worked: Call) -> None:
    for command in (
        ("history", "t"),
        ("show", "t"),
        ("state", "t", "--at", 3),
        ("diff", "t", 0, 3),
    ):
        answer = worked(*command)
        assert answer.status == 0
        assert "\x1b" not in answer.out


# --- state


def test_state_shows_how_a_thread_stood(worked: Call) -> None:
    found = worked("state", "t", "--at", 5, "--json").json
    assert (found["position"], found["now"]) == (5, "2030-01-31T09:00:11Z")
    assert [turn["queued_turn_id"] for turn in found["queue"]] == ["second"]
    assert [message["message_id"] for message in found["inbox"]] == ["message"]
    assert found["summary"]["owner"] == "worker"
    lines = worked("state", "t", "--at", 5).lines
    assert lines[0] == "as of position 5, 2030-01-31T09:00:11Z"
    assert lines[1].startswith("thread t: in_flight, held by worker until 2030-01-31T09:01:10Z")
    assert "11 s ago" in worked("state", "t", "--at", 5).out


def test_state_shows_how_a_work_item_stood(worked: Call) -> None:
    last = json.loads(worked("log", "--json").lines[-1])["position"]
    found = worked("state", "--work-item", "w", "--at", last, "--json").json
    assert [turn["status"] for turn in found["turns"]] == ["acked"]
    assert [one["effect"] for one in found["operations"]] == ["applied"]
    assert "revision 1" in worked("state", "--work-item", "w", "--at", last).lines[1]


def test_state_takes_a_time(worked: Call) -> None:
    found = worked("state", "t", "--at", "2030-01-31T10:00:10+01:00", "--json").json
    assert (found["position"], found["now"]) == (4, "2030-01-31T09:00:10Z")


def test_state_of_a_thread_that_nobody_used_says_so(worked: Call) -> None:
    assert worked("state", "nobody", "--at", 5).lines[1] == (
        "thread nobody: no command had named it"
    )
    assert worked("state", "t", "--at", 0, "--json").json["queue"] == []


@pytest.mark.parametrize("command", ["state", "diff"])
def test_the_help_says_first_that_nothing_is_called_or_changed(call: Call, command: str) -> None:
    purpose = call(command, "--help").out.split("\n\n")[1]
    said = " ".join(purpose.split())
    assert "no model or tool" in said
    assert "nothing is changed" in said


# --- diff


def test_diff_says_what_was_added_what_is_gone_and_what_has_changed(worked: Call) -> None:
    changes = worked("diff", "t", 1, 9, "--json").json["changes"]
    told = {(one["table"], one["id"]): one for one in changes}
    assert {place: one["kind"] for place, one in told.items()} == {
        ("summary", "summary"): "changed",
        ("queue", "first"): "gone",
        ("queue", "second"): "added",
        ("inbox", "message"): "added",
    }
    assert told["summary", "summary"]["fields"]["why_blocked"] == [None, "failed_head"]
    lines = worked("diff", "t", 1, 9).lines
    assert "- queue first" in lines
    assert "+ queue second" in lines
    assert '    state: "pending" -> "blocked"' in lines


def test_diff_of_the_same_moment_is_nothing(worked: Call) -> None:
    answer = worked("diff", "t", 5, 5)
    assert (answer.status, answer.out) == (0, "nothing is different\n")


def test_diff_is_of_a_work_item_too(worked: Call) -> None:
    last = json.loads(worked("log", "--json").lines[-1])["position"]
    answer = worked("diff", "--work-item", "w", 9, last, "--json").json
    assert answer["to"]["position"] == last
    kinds = {(one["table"], one["kind"]) for one in answer["changes"]}
    assert kinds == {("work_item", "changed"), ("turns", "added"), ("operations", "added")}


# --- all


def test_a_file_that_cant_be_written_is_enough(worked: Call, db: Path) -> None:
    db.chmod(0o444)
    before = db.read_bytes()
    named = ("t", "--at", 3), ("t", 3, 9)
    for command in (("history", "t"), ("show", "t"), ("state", *named[0]), ("diff", *named[1])):
        answer = worked("--db", db, *command)
        assert (answer.status, answer.err) == (0, "")
    assert db.read_bytes() == before
