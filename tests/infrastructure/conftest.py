"""What the tests of the outside share: a store with a ledger's schema, and other processes."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

import turnledger
from turnledger.domain.settings import Settings
from turnledger.infrastructure.sqlite import SqliteStore

Program = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a ledger may be made."""
    return tmp_path / "ledger.db"


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A new ledger at rest, as bytes: making one takes much longer than opening one."""
    made = tmp_path_factory.mktemp("template") / "ledger.db"
    turnledger.open(made).close()
    return made.read_bytes()


@pytest.fixture
def made(path: Path, template: bytes) -> Path:
    """The path of a ledger that is there already, and empty."""
    path.write_bytes(template)
    return path


@pytest.fixture
def store(made: Path) -> Iterator[SqliteStore]:
    """A store whose schema is there, and which has little patience."""
    opened = SqliteStore(made, Settings(busy_timeout=timedelta(seconds=5)))
    yield opened
    opened.close()


@pytest.fixture
def program() -> Iterator[Program]:
    """Starts a Python program in a process of its own, which ends with the test at the latest."""
    with ExitStack() as started:

        def start(code: str, *arguments: object) -> "subprocess.Popen[str]":
            command = [sys.executable, "-W", "error", "-c", code, *map(str, arguments)]
            pipe = subprocess.PIPE
            child = started.enter_context(
                subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
            )
            started.callback(child.kill)
            return child

        yield start
