"""What the tests of the command line share: calling it in this process, and in one of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

import turnledger
from turnledger.cli import main
from turnledger.cli.session import Session
from turnledger.cli.terminal import TerminalLayout


@dataclass(frozen=True)
class Answer:
    """How a call ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        found: dict[str, Any] = self.json["error"]
        return found

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Call = Callable[..., Answer]


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Ledgers at rest, as bytes, from which each test has a copy: making them takes long.

    A thread `t` with the turns `first` and `second` of which the first goes its way.
    """
    path = tmp_path_factory.mktemp("templates") / "ledger.db"
    found: dict[str, bytes] = {}

    def step(name: str, *commands: Callable[[turnledger.Ledger], object]) -> None:
        with turnledger.open(path) as ledger:
            for command in commands:
                command(ledger)
        found[name] = path.read_bytes()

    def claim(ledger: turnledger.Ledger) -> turnledger.Claim:
        return turnledger.Claim(thread_id="t", owner="w", epoch=1, generation=ledger.generation)

    step("empty")
    step(
        "waiting",
        lambda ledger: ledger.queue.append("t", {"text": "hi"}, queued_turn_id="first"),
        lambda ledger: ledger.queue.append("t", {"prompt": "there"}, queued_turn_id="second"),
    )
    step("claimed", lambda ledger: ledger.queue.claim_head("t", "w", lease=86_400))
    step("dispatching", lambda ledger: ledger.queue.start_dispatch(claim(ledger), "d"))
    return found


@pytest.fixture
def db(tmp_path: Path, templates: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty ledger, to which TURNLEDGER_DB leads."""
    path = tmp_path / "ledger.db"
    path.write_bytes(templates["empty"])
    monkeypatch.setenv("TURNLEDGER_DB", str(path))
    monkeypatch.delenv("TURNLEDGER_DEBUG", raising=False)
    return path


@pytest.fixture
def waiting(call: Call, db: Path, templates: dict[str, bytes]) -> Call:
    """Call the command line on a ledger in which `first` and `second` wait."""
    db.write_bytes(templates["waiting"])
    return call


@pytest.fixture
def claimed(call: Call, db: Path, templates: dict[str, bytes]) -> Call:
    """Call the command line on a ledger in which `first` is claimed."""
    db.write_bytes(templates["claimed"])
    return call


@pytest.fixture
def dispatching(call: Call, db: Path, templates: dict[str, bytes]) -> Call:
    """Call the command line on a ledger in which `first` is being dispatched, as `d`."""
    db.write_bytes(templates["dispatching"])
    return call


@pytest.fixture
def call(db: Path) -> Call:
    """Call the command line in this process; `input` is its standard input."""
    del db

    def called(*arguments: object, **how: Any) -> Answer:
        result = CliRunner().invoke(main, [str(one) for one in arguments], **how)
        return Answer(result.exit_code, result.stdout, result.stderr)

    return called


@pytest.fixture
def run(db: Path) -> Call:
    """Run the command line in a process of its own."""
    del db

    def ran(*arguments: object, **how: Any) -> Answer:
        command = [sys.executable, "-m", "turnledger", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, timeout=60, check=False, **how)
        out, err = done.stdout.decode(), done.stderr.decode()
        return Answer(done.returncode, out, err)

    return ran


@pytest.fixture
def on_terminal(call: Call, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call the command line as on a terminal of some width."""

    def called(width: int, *arguments: object, colours: bool = False) -> Answer:
        paper = StringIO()
        console = Console(
            file=paper,
            width=width,
            height=24,
            force_terminal=True,
            color_system="standard" if colours else None,
            highlight=False,
        )
        monkeypatch.setattr(Session, "layout", TerminalLayout(console))
        answer = call(*arguments)
        text = paper.getvalue() if colours else plain(paper.getvalue())
        return Answer(answer.status, text + answer.out, answer.err)

    return called


def plain(text: str) -> str:
    """The text without what makes it bold."""
    for order in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[1;2m"):
        text = text.replace(order, "")
    return text


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], bytes]:
    """Ledgers with a thread `t` in which so many turns wait, as bytes."""

    @cache
    def made(count: int) -> bytes:
        path = tmp_path_factory.mktemp("filled") / "ledger.db"
        texts = [f"turn {number} " + "says a lot " * 20 for number in range(count)]
        with turnledger.open(path, settings=turnledger.Settings(max_visible_turns=1_000)) as ledger:
            ledger.queue.append_many("t", [{"text": text} for text in texts])
        return path.read_bytes()

    return made


@pytest.fixture
def full(db: Path, filled: Callable[[int], bytes]) -> Callable[[int], None]:
    """Let so many turns wait in thread `t`."""
    return lambda count: db.write_bytes(filled(count)) and None


@pytest.fixture
def environment(db: Path) -> dict[str, str]:
    """The variables of a process that is started by hand."""
    return {**os.environ, "TURNLEDGER_DB": str(db), "PYTHONWARNINGS": "error"}
