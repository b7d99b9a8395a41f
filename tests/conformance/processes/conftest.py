"""Starting workers, listening to them, killing them."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.child import Child

SCRIPT = Path(__file__).with_name("worker.py")


class Worker(Child):
    """A worker process; see worker.py for what it says."""

    def __init__(self, arguments: list[str], errors: Path) -> None:
        super().__init__(SCRIPT, arguments, errors)

    def next(self) -> tuple[str, Any]:
        """What it says next."""
        line = self._output.readline()
        assert line, f"the worker ended: {self.errors.read_text()}"
        return self._read(line)

    def until(self, word: str) -> Any:
        """Listen until it says a word; returns what it says with it."""
        while (said := self.next())[0] != word:
            pass
        return said[1]

    def kill(self) -> list[tuple[str, Any]]:
        """End it as a crash does; returns what it had said before."""
        self._process.send_signal(signal.SIGKILL)
        assert self._process.wait() == -signal.SIGKILL
        return self._rest()

    def fall_asleep(self) -> None:
        """Stop it wherever it is, as a machine does that is shut; returns when it has stopped."""
        self._process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOWAIT)

    def wake_up(self) -> None:
        """Let it go on from there, also if it stood still at a word."""
        self._process.send_signal(signal.SIGCONT)
        self._input.close()

    def finish(self) -> list[tuple[str, Any]]:
        """Listen to the end, which is to come without an error."""
        said = self._rest()
        assert self._process.wait() == 0, self.errors.read_text()
        assert self.errors.read_text() == ""
        return said

    def _rest(self) -> list[tuple[str, Any]]:
        return [self._read(line) for line in self._output if line.endswith("\n")]

    def _read(self, line: str) -> tuple[str, Any]:
        word, _, value = line.partition(" ")
        return word, json.loads(value)


@pytest.fixture
def together() -> Callable[[list[Worker]], None]:
    """Lets workers begin at the same moment."""

    def starting(workers: list[Worker]) -> None:
        for worker in workers:
            worker.until("ready")
        for worker in workers:
            worker.go()

    return starting


@pytest.fixture
def begin(
    new_store_url: str, clock: Callable[[], Any], tmp_path: Path
) -> Iterator[Callable[..., Worker]]:
    """Starts a worker: begin("role", "argument", …, stop="word"). Its clock is the test's."""
    workers: list[Worker] = []

    def beginning(role: str, *arguments: str, stop: str | None = None) -> Worker:
        stopping = [] if stop is None else ["--stop", stop]
        given = [new_store_url, clock().isoformat(), role, *arguments, *stopping]
        workers.append(Worker(given, tmp_path / f"errors {len(workers)}"))
        return workers[-1]

    yield beginning
    for worker in workers:
        worker.close()


class Outbox:
    """Where workers send texts to: the world outside, which can't be undone."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def sent(self) -> list[str]:
        """Everything that was sent, in order."""
        path = Path(self.path)
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.fixture
def outbox(tmp_path: Path) -> Outbox:
    """An empty one."""
    return Outbox(tmp_path / "outbox")
