"""A bundle that somebody changed is found out, and one that is dangerous isn't read."""

from __future__ import annotations

import shlex
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import turnledger
from tests.verify.conftest import File
from turnledger import Finding
from turnledger.cli import main

BUSY = "thread_queue:busy"


@pytest.fixture(scope="session")
def sound(template: bytes, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A bundle about thread `busy`, as bytes; others wrote before, between and behind."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "ledger.db").write_bytes(template)
    with turnledger.open(folder / "ledger.db") as ledger:
        ledger.queue.append("busy", {"n": "second but last"})
        ledger.queue.append("flying", {"n": 9})
        ledger.queue.append("busy", {"n": "last"})
        ledger.queue.append("flying", {"n": 10})
        ledger.bundle(folder / "bundle", thread_id="busy")
    return (folder / "bundle").read_bytes()


class Forger:
    """Changes a bundle's file, and leaves its schema as it was."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def change(self, *statements: str, given: tuple[object, ...] = ()) -> None:
        with closing(sqlite3.connect(self.path)) as database, database:
            triggers = database.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name DESC"
            ).fetchall()
            for name, _ in triggers:
                database.execute(f"DROP TRIGGER {name}")
            for statement in statements:
                assert database.execute(statement, given).rowcount != 0
            for _, sql in triggers:
                database.execute(sql)

    def rows(self, query: str) -> list[Any]:
        with closing(sqlite3.connect(self.path)) as database:
            return database.execute(query).fetchall()

    def positions(self, stream_id: str = BUSY) -> list[int]:
        query = f"SELECT position FROM events WHERE stream_id = '{stream_id}' ORDER BY position"
        return [position for (position,) in self.rows(query)]

    def findings(self) -> tuple[Finding, ...]:
        with turnledger.open(self.path, read_only=True) as ledger:
            found = ledger.verify()
        assert found.ok is (found.findings == ())
        return found.findings


@pytest.fixture
def forger(sound: bytes, tmp_path: Path) -> Forger:
    path = tmp_path / "bundle"
    path.write_bytes(sound)
    return Forger(path)


def test_it_is_sound_before_anybody_changes_it(forger: Forger) -> None:
    forger.change("UPDATE ledger SET created_at = created_at")
    assert forger.findings() == ()


@pytest.mark.parametrize("column", ["data", "metadata", "type"])
@pytest.mark.parametrize("number", [0, 3, -1])
def test_a_flipped_byte_is_found_at_its_event(forger: Forger, column: str, number: int) -> None:
    position = forger.positions()[number]
    forger.change(f"UPDATE events SET {column} = {column} || ' ' WHERE position = {position}")
    assert forger.findings()[0].position == position


@pytest.mark.parametrize("column", ["hash", "recorded_at"])
def test_a_changed_hash_or_time_is_found_at_its_event(forger: Forger, column: str) -> None:
    position = forger.positions()[2]
    new = "zeroblob(32)" if column == "hash" else "recorded_at + 1"
    forger.change(f"UPDATE events SET {column} = {new} WHERE position = {position}")
    assert forger.findings()[0].position == position


def test_two_events_that_were_swapped_are_found_at_the_first(forger: Forger) -> None:
    [life] = forger.rows(f"SELECT min(position) FROM events WHERE stream_id <> '{BUSY}'")[0]
    own = min(forger.positions())
    assert life is not None
    forger.change(
        f"UPDATE events SET position = -1 WHERE position = {own}",
        f"UPDATE events SET position = {own} WHERE position = {life}",
        f"UPDATE events SET position = {life} WHERE position = -1",
    )
    first = forger.findings()[0]
    assert first.position == min(own, life)
    assert "isn't proven to be event" in " ".join(one.message for one in forger.findings())


def test_an_event_that_was_moved_is_found_there(forger: Forger) -> None:
    last = forger.positions()[-1]
    forger.change(f"UPDATE events SET position = {last - 1} WHERE position = {last}")
    first = forger.findings()[0]
    assert (first.position, "isn't proven" in first.message) == (last - 1, True)


def test_an_event_that_was_removed_is_found_behind_it(forger: Forger) -> None:
    positions = forger.positions()
    forger.change(f"DELETE FROM events WHERE position = {positions[3]}")
    assert forger.findings()[0].position == positions[4]


def test_the_last_event_that_was_removed_is_named_with_all_that_followed_from_it(
    forger: Forger, file: File
) -> None:
    before = forger.path.with_name("before")
    with file.open() as ledger:
        ledger.bundle(before, thread_id="busy")
    last = forger.positions()[-1]
    forger.change(f"DELETE FROM events WHERE position = {last}")
    first = forger.findings()[0]
    assert (first.position, "events are missing" in first.message) == (last, True)


def test_a_whole_stream_that_was_removed_is_named(forger: Forger) -> None:
    own = forger.positions()
    others = "stream_id LIKE 'evidence:%'"
    [(position,)] = forger.rows(f"SELECT max(position) FROM events WHERE {others}")
    assert position not in own
    forger.change(f"DELETE FROM events WHERE {others}", f"DELETE FROM streams WHERE {others}")
    assert any(one.position == position for one in forger.findings())


def test_an_event_that_was_inserted_is_found(forger: Forger, file: File) -> None:
    forged = File(forger.path, file.clock)
    data = {"queued_turn_id": "forged", "queue_order": 99, "submission": {}, "not_before": None}
    with closing(sqlite3.connect(forger.path)) as database:
        triggers = database.execute(
            "SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name DESC"
        ).fetchall()
    position = forged.forge(BUSY, "thread_queue.appended", data)
    with closing(sqlite3.connect(forger.path)) as database, database:
        for (sql,) in triggers:
            database.execute(sql)
    assert forger.findings()[0].position == position


def test_an_event_of_another_stream_is_found(forger: Forger) -> None:
    free = max(forger.positions()) + 1
    columns = "version, type, schema_version, data, metadata, recorded_at, hash"
    forger.change(
        f"INSERT INTO events SELECT {free}, 'thread_queue:new', {columns} FROM events"
        f" WHERE stream_id = '{BUSY}' AND version = 1"
    )
    found = [one for one in forger.findings() if one.position == free]
    assert "isn't among the streams of the bundle" in " ".join(one.message for one in found)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE bundle SET checkpoint = replace(checkpoint, 'turnledger/0', 'turnledger/1')",
        "UPDATE bundle SET checkpoint = 'nothing'",
        "UPDATE ledger SET generation = 'another'",
        "UPDATE ledger SET ledger_id = 'another'",
        "UPDATE bundle_nodes SET hash = zeroblob(32)",
        "UPDATE bundle_nodes SET place = place + 1000000 WHERE level = 0",
        "DELETE FROM bundle_nodes",
        "DELETE FROM bundle_streams",
        "UPDATE bundle_streams SET version = version + 1",
        "UPDATE queued_turns SET attempts = 7",
        "UPDATE streams SET epoch = 99",
        "DELETE FROM receipts",
    ],
)
def test_whatever_else_was_changed_is_found(forger: Forger, statement: str) -> None:
    forger.change(statement)
    assert forger.findings() != ()


def test_without_its_mark_it_is_a_ledger_with_gaps(forger: Forger) -> None:
    with closing(sqlite3.connect(forger.path)) as database:
        database.execute("PRAGMA application_id = 0")
    assert "events are missing" in forger.findings()[0].message


# --- what isn't even read


def refused(path: Path) -> str:
    """What opening it says; nothing is left open, and nothing was written."""
    before = path.read_bytes()
    with pytest.raises(turnledger.StoreError) as caught:
        turnledger.open(path, read_only=True)
    assert path.read_bytes() == before
    return str(caught.value)


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n"


@pytest.mark.parametrize(
    "statements",
    [
        ("CREATE TABLE more (x)",),
        (f"CREATE VIEW more AS {ENDLESS}",),
        ("CREATE TRIGGER more AFTER INSERT ON streams BEGIN SELECT 1; END",),
        ("CREATE INDEX more ON streams (state)",),
        ("DROP VIEW visible_queue", f"CREATE VIEW visible_queue AS {ENDLESS}"),
        ("DROP TABLE ledger", f"CREATE VIEW ledger AS {ENDLESS}"),
        ("DROP TABLE bundle", f"CREATE VIEW bundle AS {ENDLESS}"),
        ("DROP TABLE alembic_version", f"CREATE VIEW alembic_version AS {ENDLESS}"),
        ("DROP TABLE tracking", "CREATE TABLE tracking (application_name, notification_id)"),
        ("DROP TABLE bundle_nodes",),
        ("DROP TRIGGER events_no_update",),
        ("CREATE VIRTUAL TABLE more USING fts5(x)",),
    ],
)
def test_another_schema_is_not_read(forger: Forger, statements: tuple[str, ...]) -> None:
    with closing(sqlite3.connect(forger.path)) as database:
        for statement in statements:
            database.execute(statement)
    assert "its schema isn't what this release makes" in refused(forger.path)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("events", "data", "x'00'"),
        ("events", "hash", "'text'"),
        ("events", "hash", "zeroblob(31)"),
        ("events", "recorded_at", "9223372036854775807"),
        ("events", "version", "1.5"),
        ("queued_turns", "state", "x'ff'"),
        ("queued_turns", "altered", "7"),
        ("queued_turns", "created_at", "'soon'"),
        ("ledger", "ledger_id", "x'00'"),
        ("bundle", "id", "x'00'"),
        ("bundle_nodes", "hash", "zeroblob(1000000)"),
        ("bundle_streams", "position", "-1"),
    ],
)
def test_values_of_other_types_are_not_read(
    forger: Forger, table: str, column: str, value: str
) -> None:
    one = "LIMIT 1" if table == "ledger" else ""
    key = f"(SELECT min({column}) FROM {table} {one})"
    forger.change(f"UPDATE {table} SET {column} = {value} WHERE {column} = {key}")
    assert f"a value in {table} isn't of its column's type" in refused(forger.path)


@pytest.mark.parametrize(
    "statement", ["DELETE FROM ledger", "INSERT INTO ledger VALUES ('a','b',1,0)"]
)
def test_it_is_of_one_ledger(forger: Forger, statement: str) -> None:
    forger.change(statement)
    assert "it doesn't say which ledger it is of" in refused(forger.path)


@pytest.mark.parametrize(
    "statement", ["DELETE FROM bundle", "INSERT INTO bundle VALUES ('','','')"]
)
def test_it_is_about_one_thing(forger: Forger, statement: str) -> None:
    forger.change(statement)
    with (
        turnledger.open(forger.path, read_only=True) as ledger,
        pytest.raises(turnledger.StoreDamaged, match="doesn't say what it is about"),
    ):
        ledger.verify()


@pytest.mark.parametrize("size", [0, 50, 99, 100, 4_096, 30_000, -4_096])
def test_a_file_that_was_cut_short_is_not_read(forger: Forger, size: int) -> None:
    whole = forger.path.read_bytes()
    forger.path.write_bytes(whole[:size])
    refused(forger.path)


def test_pages_that_were_overwritten_end_in_an_error_and_never_in_a_wrong_answer(
    forger: Forger,
) -> None:
    whole = forger.path.read_bytes()
    for start in range(100, len(whole), len(whole) // 25):
        forger.path.write_bytes(whole[:start] + b"\xa5" * 64 + whole[start + 64 :])
        try:
            assert forger.findings() != () or whole[start : start + 64] == bytes(64)
        except turnledger.StoreError:
            continue


# --- what a reader sees on the command line


def test_every_reading_command_ends_in_a_line_whatever_is_in_it(forger: Forger) -> None:
    forger.change("UPDATE queued_turns SET evidence = 'no JSON', failure = '{', state = 'odd'")
    for words in (("queue", "list", "busy"), ("why", "busy"), ("log",), ("verify",), ("doctor",)):
        done = command("--db", str(forger.path), *words)
        assert done.exit_code in (0, 1, 3)
        assert "internal error" not in done.stderr
        assert done.stderr.count("\n") <= 1


READING = ["queue list busy", "thread list", "thread show busy", "why busy", "log", "verify"]
READING += ["doctor", "checkpoint", "inbox list busy", "timer list busy", "queue get busy 'busy 3'"]


def test_every_reading_command_works_on_it(forger: Forger) -> None:
    for line in READING:
        done = command("--db", str(forger.path), *shlex.split(line))
        assert (line, done.exit_code, done.stderr) == (line, 0, "")
    done = command("--db", str(forger.path), "queue", "append", "busy", "{}")
    assert (done.exit_code, "it is a bundle" in done.stderr) == (3, True)


def command(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


KILLED = """
import os, signal, sys
import turnledger
from turnledger import bundling
from turnledger.infrastructure import bundle_file, new_file
place, name = {"complete": (bundle_file, "complete"), "look": (bundling, "_look_at")}[sys.argv[3]]
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
setattr(place, name, die)
turnledger.open(sys.argv[1]).bundle(sys.argv[2], thread_id="busy")
"""


@pytest.mark.parametrize("moment", ["complete", "look"])
def test_a_maker_that_was_killed_leaves_no_half_bundle_and_the_next_one_makes_a_whole(
    file: File, moment: str
) -> None:
    target = file.path.with_name("bundle")
    words = [sys.executable, "-c", KILLED, str(file.path), str(target), moment]
    done = subprocess.run(words, capture_output=True, check=False, timeout=60)
    assert (done.returncode, target.exists()) == (-signal.SIGKILL, False)
    with file.open() as ledger:
        ledger.bundle(target, thread_id="busy")
    with turnledger.open(target, read_only=True) as ledger:
        assert ledger.verify().ok
    assert not list(target.parent.glob("*.partial*"))
