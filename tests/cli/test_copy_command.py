"""`turnledger copy` as a command: what it says, its bar, and that it can be killed."""

import os
import pty
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import turnledger
from tests.cli.test_processes import chunks
from tests.conformance.stores import store_at
from tests.postgresql.fixtures import postgresql_database, postgresql_server
from turnledger.cli import copy_command

__all__ = ["postgresql_database", "postgresql_server"]

Call = Any

COMMAND = (sys.executable, "-m", "turnledger", "copy")
MANY, IN_A_THREAD = 4_000, 100


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "target.db"


def test_it_says_what_was_copied(claimed: Call, db: Path, target: Path) -> None:
    answer = claimed("copy", db, target)
    assert (answer.status, answer.err) == (0, "")
    copied, verified, advice = answer.lines
    assert copied == f"copied 3 events to sqlite:///{target}"
    assert verified == "verified: 3 events, 1 stream, 3 rows"
    assert advice.endswith(f"don't go on with sqlite:///{db}")
    again = claimed("copy", db, target)
    assert again.lines[0] == f"copied 0 events to sqlite:///{target}; 3 were there already"


def test_it_answers_in_json(claimed: Call, db: Path, target: Path) -> None:
    answer = claimed("copy", db, target, "--json").json
    assert (answer["events"], answer["copied"], answer["verification"]["ok"]) == (3, 3, True)
    assert (answer["source"], answer["target"]) == (f"sqlite:///{db}", f"sqlite:///{target}")
    with turnledger.open(db) as ledger:
        assert (answer["ledger_id"], answer["generation"]) == (ledger.ledger_id, ledger.generation)


def test_work_goes_on_there(claimed: Call, db: Path, target: Path) -> None:
    claimed("copy", db, target)
    shown = ("--db", target, "queue", "ack", "t", "--owner", "w", "--epoch", 1)
    assert claimed("--db", target, "queue", "dispatch", "t", "d", *shown[5:]).status == 0
    assert claimed(*shown).status == 0


@pytest.mark.parametrize(
    ("words", "ends"),
    [
        ("missing.db target.db", (3, "there is no such file")),
        ("ledger.db ledger.db", (2, "target is the source itself")),
        ("--db x.db ledger.db target.db", (2, "--db is of no use here")),
        ("ledger.db mysql://host/ledger", (2, "has the scheme mysql")),
        ("ledger.db other.db", (3, "another ledger is in it")),
        ("ledger.db", (2, "TARGET")),
    ],
)
def test_what_it_refuses_is_one_line(
    claimed: Call, db: Path, monkeypatch: pytest.MonkeyPatch, words: str, ends: tuple[int, str]
) -> None:
    monkeypatch.chdir(db.parent)
    claimed("--db", "other.db", "queue", "append", "t", "{}")
    answer = claimed("copy", *words.split())
    status, said = ends
    assert (answer.status, answer.out) == (status, "")
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert not Path("target.db").exists()


def test_a_damaged_event_is_named(claimed: Call, db: Path, target: Path) -> None:
    with closing(sqlite3.connect(db, isolation_level=None)) as driver:
        driver.execute("DROP TRIGGER events_no_update")
        driver.execute("UPDATE events SET data = '{}' WHERE position = 2")
    answer = claimed("copy", db, target, "--json")
    assert (answer.status, answer.error["code"]) == (3, "store_damaged")
    assert "event 2: its bytes don't give its hash" in answer.err


def test_on_a_terminal_it_shows_a_bar(
    claimed: Call, db: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []

    def copying(*given: Any) -> turnledger.Copied:
        told.append(given[2])
        return copy(*given)

    copy = turnledger.copy
    monkeypatch.setattr(turnledger, "copy", copying)
    monkeypatch.setattr(copy_command, "is_watched", lambda: True)
    assert claimed("copy", db, target).status == 0
    assert claimed("copy", db, target, "--json").status == 0
    assert [one is None for one in told] == [False, True]


def test_a_real_terminal_sees_how_far_it_is(
    claimed: Call, db: Path, target: Path, environment: dict[str, str]
) -> None:
    del claimed
    outside, inside = pty.openpty()
    variables = {**environment, "TERM": "xterm-256color", "COLUMNS": "80"}
    command = (*COMMAND, str(db), str(target))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=inside, env=variables)
    os.close(inside)
    out, _ = process.communicate(timeout=60)
    seen = b"".join(chunks(outside)).decode()
    os.close(outside)
    assert process.returncode == 0
    assert out.startswith(b"copied 3 events")
    assert "events verified" in seen
    assert "3/3" in seen


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of many events."""
    path = tmp_path_factory.mktemp("many") / "ledger.db"
    settings = turnledger.Settings(synchronous="NORMAL")
    with turnledger.open(path, settings=settings) as ledger:
        for thread in range(MANY // IN_A_THREAD):
            ledger.queue.append_many(f"t{thread}", [{"n": number} for number in range(IN_A_THREAD)])
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, target: Path) -> str:
    """A new file, or an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{target}"
    return str(request.getfixturevalue("postgresql_database"))


def test_killed_in_the_middle_it_goes_on_where_it_was(
    call: Call, many: Path, place: str, environment: dict[str, str]
) -> None:
    process = subprocess.Popen(
        (*COMMAND, str(many), place), env=environment, stdout=subprocess.PIPE
    )
    wait_until(lambda: count(place) >= 1_000)
    process.send_signal(signal.SIGKILL)
    assert process.communicate(timeout=60)[0] == b""
    assert process.returncode == -signal.SIGKILL
    there = count(place)
    assert there % 1_000 == 0
    for words in (("queue", "list", "t0"), ("queue", "append", "t0", "{}"), ("verify",)):
        answer = call("--db", place, *words)
        assert (answer.status, answer.out) == (3, "")
        assert "a copy into it isn't finished; run `turnledger copy` again" in answer.err
    copied = call("copy", many, place, "--json")
    assert copied.status == 0, copied.err
    assert (copied.json["events"], copied.json["copied"]) == (MANY, MANY - there)
    assert call("--db", place, "verify").status == 0


def wait_until(condition: Callable[[], bool]) -> None:
    """Look again and again, for a minute."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end


def count(place: str) -> int:
    """How many events are there by now."""
    try:
        return int(store_at(place).rows("SELECT count(*) FROM events")[0][0])
    except Exception as error:
        if "no such table" in str(error) or "does not exist" in str(error):
            return 0
        raise
