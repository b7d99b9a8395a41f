"""Rebuilds under load, killed at any instant: nobody sees half of one, and nothing is lost."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.child import Child
from tests.conformance.rebuild.conftest import ALL, Live, another
from tests.conformance.rebuild.worker import KEPT, KEPT_TURNS
from tests.conformance.stores import store_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCRIPT = Path(__file__).with_name("worker.py")
LONGEST_SECONDS = 0.4  # of a rebuild before it is killed: it comes to its end in less
TABLES_THERE = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"


class Process(Child):
    """A worker; see worker.py for what it says."""

    def __init__(self, url: str, role: str, errors: Path) -> None:
        super().__init__(SCRIPT, [url, role], errors)

    def begun(self) -> None:
        """Wait until it is at work."""
        assert self._output.readline() == "begun null\n", self.errors.read_text()

    def kill(self, seconds: float) -> None:
        """End it as a crash does, after some time."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        self._process.send_signal(signal.SIGKILL)
        assert self._process.wait() == -signal.SIGKILL, self.errors.read_text()

    def finish(self, word: str) -> Any:
        """Let it come to its end, without an error; what it says with a word."""
        self._input.close()
        said = dict(line.split(" ", 1) for line in self._output)
        assert (self._process.wait(), self.errors.read_text()) == (0, "")
        return json.loads(said[word])


@pytest.fixture
def start(live: Live, tmp_path: Path) -> Iterator[Callable[[str], Process]]:
    """Starts a process in a role, and waits until it is at work."""
    started: list[Process] = []

    def starting(role: str) -> Process:
        started.append(Process(live.url, role, tmp_path / f"errors {len(started)}"))
        started[-1].begun()
        return started[-1]

    yield starting
    for process in started:
        process.close()


def damage(live: Live, random: Random) -> None:
    """Change or take away a row of each table, of what the writer doesn't write to."""
    for table, rows in live.everything().items():
        quiet = [row for row in rows if is_quiet(table, row)]
        row = random.choice(quiet)
        columns = sorted(row.keys() & {"updated_at", "created_at", "recorded_at", "sent_at"})
        if columns and random.random() < 0.5:
            live.change(table, row, **{columns[0]: another(row[columns[0]])})
        elif len(quiet) > 1:
            live.delete(table, row)


def is_quiet(table: str, row: dict[str, Any]) -> bool:
    """Whether neither the writer nor the reader needs a row to be as it ought to be."""
    met = ("busy", "mail", "item") if table == "streams" else ()
    key = " ".join(str(row[column.name]) for column in ALL[table].primary_key.columns)
    return not any(word in key for word in (*met, "new ", KEPT))


def left_behind(live: Live, folder: Path) -> list[Any]:
    """The tables, and the files beside the ledger and for its private databases."""
    store = store_at(live.url)
    tables = store.rows(TABLES_THERE) if store.kind == "postgresql" else []
    return [tables, sorted(path.name for path in folder.iterdir())]


def test_rebuilds_that_are_killed_under_load_change_nothing_and_the_last_puts_all_right(
    live: Live,
    tmp_path: Path,
    start: Callable[[str], Process],
    pytestconfig: pytest.Config,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setenv("SQLITE_TMPDIR", str(private))
    with live.open() as ledger:
        ledger.queue.append_many(KEPT, [{"n": number} for number in range(KEPT_TURNS)])
        for number in range(KEPT_TURNS):
            ledger.inbox.post(KEPT, number, source="host")
    before, random = left_behind(live, private), Random(pytestconfig.getoption("rebuild_kills"))
    writer, reader = start("write"), start("look")
    for _ in range(pytestconfig.getoption("rebuild_kills")):
        damage(live, random)
        start("rebuild").kill(random.uniform(0, LONGEST_SECONDS))
    damage(live, random)
    assert start("rebuild_once").finish("rebuilt") > 0
    written, looks = writer.finish("wrote"), reader.finish("looked")
    assert left_behind(live, private) == before
    with live.open() as ledger:
        assert ledger.verify().findings == ()
        assert ledger.rebuild().mended == 0
        for number in range(1, written + 1):
            assert ledger.queue.get("busy", f"new {number}") is not None
            assert ledger.coordinator.get(f"new {number}") is not None
    assert looks > 1
