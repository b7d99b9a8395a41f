"""why, log, verify, doctor, backup, restore and demo."""

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from freezegun import freeze_time

import turnledger
from turnledger.cli import audit_command

Call = Any

EVENT = {
    *("position", "stream_id", "version", "type", "schema_version", "data", "metadata"),
    *("recorded_at", "hash", "unreadable", "cursor"),
}


def damage(db: Path, statement: str) -> None:
    with closing(sqlite3.connect(db, isolation_level=None)) as driver:
        driver.execute(statement)


# --- why


def test_why_names_the_reason_its_events_and_the_way_out(dispatching: Call) -> None:
    dispatching("queue", "fail", "t", "--owner", "w", "--epoch", 1, "--failure", "no")
    answer = dispatching("why", "t")
    assert answer.status == 0
    assert "failed_head" in answer.lines[0]
    assert "thread_queue.failed" in answer.out
    assert answer.lines[-2:] == [
        "turnledger queue retry t first",
        "turnledger queue delete t first",
    ]
    in_json = dispatching("why", "t", "--json").json
    assert set(in_json) == {"thread_id", "reason", "events", "commands"}
    assert set(in_json["events"][0]) == EVENT


def test_the_way_out_can_be_typed(dispatching: Call) -> None:
    command = ("queue", "fail", "t", "--owner", "w", "--epoch", 1, "--failure", "no")
    dispatching(*command, "--outcome-unknown")
    _, *words = dispatching("why", "t").lines[-1].split()
    assert dispatching(*words).status == 0
    assert dispatching("why", "t").out == "thread t isn't blocked: its head can be claimed\n"


def test_why_of_a_thread_without_work_has_no_way_out(call: Call) -> None:
    assert call("why", "t").out == "thread t: empty, nothing waits in it\n"


# --- log


def test_log_writes_a_line_for_each_event(claimed: Call) -> None:
    rows = [line.split(maxsplit=4) for line in claimed("log").lines]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    assert [row[2] for row in rows] == [
        *("thread_queue.appended", "thread_queue.appended", "thread_queue.claimed")
    ]
    assert rows[0][4] == "queued_turn_id=first queue_order=0  submission=hi"
    events = [set(line) for line in map(as_json, claimed("log", "--json").lines)]
    assert events == [EVENT] * 3


def as_json(line: str) -> Any:
    return json.loads(line)


@pytest.mark.parametrize(
    ("options", "positions"),
    [
        (("--after", 1), [2, 3]),
        (("--limit", 2), [1, 2]),
        (("--type", "thread_queue.claimed"), [3]),
        (("--type", "thread_queue.claimed", "--type", "thread_queue.appended"), [1, 2, 3]),
        (("--stream", "thread_queue:t", "--after", 2), [3]),
        (("--stream", "thread_queue:u"), []),
        (("--after", 99), []),
        (("--follow", "--limit", 3), [1, 2, 3]),
        (("--follow", "--limit", 1, "--after", 2), [3]),
    ],
)
def test_log_can_be_narrowed(claimed: Call, options: Any, positions: list[int]) -> None:
    lines = claimed("log", *options, "--json").lines
    assert [as_json(line)["position"] for line in lines] == positions


def test_log_is_read_in_pages(claimed: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnledger.cli.log_command._PAGE", 1)
    assert len(claimed("log").lines) == 3
    assert len(claimed("log", "--limit", 2).lines) == 2


def test_an_event_of_a_newer_release_is_shown_as_what_it_is(claimed: Call, db: Path) -> None:
    for trigger in triggers(db):
        damage(db, f"DROP TRIGGER {trigger}")
    damage(db, "UPDATE events SET schema_version = 9 WHERE position = 1")
    assert "(unreadable: " in claimed("log").lines[0]
    assert len(claimed("log").lines) == 3
    assert any(line.startswith("note: ") for line in claimed("verify").lines)


def triggers(db: Path) -> list[str]:
    with closing(sqlite3.connect(db)) as driver:
        found = driver.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        return [name for (name,) in found]


# --- verify and doctor


def test_verify_of_a_whole_ledger_says_ok_three_times(claimed: Call) -> None:
    answer = claimed("verify")
    assert answer.status == 0
    rows = [line.rsplit(maxsplit=2) for line in answer.lines[1:]]
    assert [(name, result) for name, _, result in rows] == [
        ("events", "ok"),
        ("streams", "ok"),
        ("read-model rows", "ok"),
    ]
    assert len({line.index("ok") for line in answer.lines[1:]}) == 1
    in_json = claimed("verify", "--json").json
    assert (in_json["ok"], in_json["findings"], in_json["events"]) == (True, [], 3)


def test_verify_names_each_finding(claimed: Call, db: Path) -> None:
    damage(db, "UPDATE queued_turns SET queue_order = 7 + queue_order")
    answer = claimed("verify")
    assert answer.status == 1
    assert answer.lines[3].endswith("findings") or answer.lines[3].endswith("finding")
    assert any(line.startswith("queued_turns, row t") for line in answer.lines[4:])
    in_json = claimed("verify", "--json")
    assert (in_json.status, in_json.json["ok"], in_json.err) == (1, False, "")
    assert set(in_json.json["findings"][0]) == {"where", "position", "row", "message"}


def test_verify_says_on_a_terminal_how_far_it_is(
    claimed: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    verify = turnledger.Ledger.verify

    def told(ledger: turnledger.Ledger, progress: Any) -> Any:
        assert progress is not None
        progress(2_000)
        return verify(ledger)

    monkeypatch.setattr(turnledger.Ledger, "verify", told)
    monkeypatch.setattr(audit_command, "is_watched", lambda: True)
    assert claimed("verify").err == "\r2,000 events looked at\r"


def test_doctor_shows_its_checks(call: Call) -> None:
    answer = call("doctor")
    assert answer.status == 0
    assert answer.lines[0].split() == ["check", "status", "what", "was", "seen"]
    checks = call("doctor", "--json").json
    assert [set(check) for check in checks] == [{"name", "status", "message"}] * len(checks)
    assert len(answer.lines) == 1 + len(checks)


def test_doctor_ends_with_one_if_there_is_a_problem(call: Call) -> None:
    with freeze_time("2100-01-01"):
        call("queue", "append", "t", "{}")
    answer = call("doctor")
    assert answer.status == 1
    assert any(line.split()[:2] == ["clock", "problem"] for line in answer.lines)


@pytest.mark.parametrize("command", ["verify", "doctor", "log"])
def test_looking_changes_nothing(claimed: Call, db: Path, command: str) -> None:
    before = db.read_bytes()
    claimed(command)
    assert db.read_bytes() == before


# --- backup and restore


def test_a_backup_can_be_restored_as_a_new_generation(claimed: Call, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    assert claimed("backup", file).out == f"backed up to {file}\n"
    claimed("queue", "append", "t", "{}")
    former = claimed("backup", tmp_path / "second.db", "--json").json
    restored = claimed("restore", file, "--json").json
    assert restored["ledger_id"] == former["ledger_id"]
    assert restored["generation"] != former["generation"]
    assert len(claimed("log").lines) == 3


def test_a_restore_may_make_the_ledger(waiting: Call, tmp_path: Path) -> None:
    file, new = tmp_path / "backup.db", tmp_path / "new.db"
    waiting("backup", file)
    assert waiting("--db", new, "restore", file).out.startswith(f"restored {new} from {file}: ")
    assert len(waiting("--db", new, "queue", "list", "t", "--json").json) == 2


def test_a_backup_overwrites_nothing(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    file.write_text("mine")
    assert call("backup", file).status == 2
    assert file.read_text() == "mine"


def test_a_restore_of_no_backup_is_refused(waiting: Call, tmp_path: Path) -> None:
    file = tmp_path / "backup.db"
    assert waiting("restore", file).status == 3
    file.write_text("no database at all, but long enough to be one" * 100)
    assert waiting("restore", file).status == 3
    assert len(waiting("queue", "list", "t", "--json").json) == 2


# --- demo and version


@pytest.mark.parametrize(
    ("function", "options"), [("run", []), ("run_coordinator", ["--coordinator"])]
)
@pytest.mark.parametrize("status", [0, 1])
def test_demo_runs_with_a_console(
    call: Call, monkeypatch: pytest.MonkeyPatch, status: int, function: str, options: list[str]
) -> None:
    demo = ModuleType("turnledger.demo")
    consoles: list[Any] = []

    def run(console: Any) -> int:
        consoles.append(console)
        console.print("shown")
        return status

    monkeypatch.setattr(demo, function, run, raising=False)
    monkeypatch.setitem(sys.modules, "turnledger.demo", demo)
    monkeypatch.setattr(turnledger, "demo", demo, raising=False)
    answer = call("demo", *options)
    assert answer == type(answer)(status, "shown\n", "")
    assert type(consoles[0]).__name__ == "Console"


def test_version_says_which_release_it_is(call: Call) -> None:
    assert call("--version").out.startswith("turnledger ")
