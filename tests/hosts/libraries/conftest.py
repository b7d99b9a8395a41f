"""What the tests of hosts with a library share: running an example, and killing it in a tool."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import turnledger
from turnledger import QueuedTurn

PROGRAM = Path(__file__).with_name("program.py")
EXAMPLES = Path(__file__).parents[3] / "examples"


class Example:
    """An example, its ledger, and the world outside."""

    def __init__(self, name: str, folder: Path) -> None:
        self.path = folder / "agents.db"
        self.outbox = folder / "outbox"
        self._name = name
        with turnledger.open(self.path) as ledger:
            self.turn_id = ledger.queue.append("thread", {"text": "hi"}).queued_turn_id

    def run(self, *how: str) -> int:
        """Run it in a process; returns the exit status."""
        words = [str(EXAMPLES / self._name), str(self.path), str(self.outbox), *how]
        return subprocess.run([sys.executable, str(PROGRAM), *words], check=False).returncode

    def sent(self) -> list[str]:
        return self.outbox.read_text().splitlines() if self.outbox.exists() else []

    def turn(self) -> QueuedTurn:
        with turnledger.open(self.path) as ledger:
            found = ledger.queue.get("thread", self.turn_id)
        assert found is not None
        return found

    def is_done_again_after_a_kill_without_a_second_effect(self) -> None:
        """Killed in the tool; its outcome is decided on; the run goes through again."""
        assert self.run("--die") == -signal.SIGKILL
        assert self.turn().state == "dispatching"
        assert self.run("--later") == 0
        assert (self.turn().state, self.turn().outcome_unknown) == ("failed", True)
        self._retry()
        assert self.run("--later") == 0
        assert (self.turn().state, self.turn().outcome_unknown) == ("failed", True)
        assert "unknown" in self.turn().failure
        with turnledger.open(self.path) as ledger:
            [operation] = self._open(ledger)
            ledger.operations.resolve(operation, "confirm_applied", by="test", evidence="outbox")
        self._retry()
        assert self.run("--much-later") == 0
        assert self.turn().state == "acked", self.turn().failure
        assert len(self.sent()) == 1

    def _retry(self) -> None:
        with turnledger.open(self.path) as ledger:
            ledger.queue.resolve("thread", self.turn_id, "retry", by="test")

    def _open(self, ledger: turnledger.Ledger) -> list[str]:
        return [one.key for one in ledger.operations.list("thread")]


@pytest.fixture
def example(tmp_path: Path) -> Callable[[str], Example]:
    def made(name: str) -> Example:
        return Example(name, tmp_path)

    return made
