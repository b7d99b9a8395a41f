"""A worker's loop in a process of its own, which a test listens to, stops and kills.

The processes are forks of one that has only imported what they need: a thousand of them are begun
in the time in which a hundred would import it.
"""

import json
import os
import signal
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from tests.conformance.turns import worker

_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload([worker.__name__])


class Loop:
    """A process; see worker.py for what it says."""

    def __init__(self, arguments: list[str], errors: Path) -> None:
        self._errors = errors
        hears, told = _CONTEXT.Pipe(duplex=False)
        said, says = _CONTEXT.Pipe(duplex=False)
        self._process = _CONTEXT.Process(
            target=worker.begin, args=(hears, says, str(errors), arguments)
        )
        self._process.start()
        for theirs in (hears, says):
            theirs.close()
        self._output = os.fdopen(os.dup(said.fileno()), encoding="utf-8")
        self._input = os.fdopen(os.dup(told.fileno()), "w", encoding="utf-8")
        for copied in (said, told):
            copied.close()

    def until(self, word: str) -> Any:
        """Listen until it says a word; returns what it says with it."""
        for line in self._output:
            said, _, value = line.partition(" ")
            if said == word:
                return json.loads(value)
        raise AssertionError(f"the worker ended: {self._errors.read_text()}")

    def go(self) -> None:
        """Let it go on, if it stands still at a word."""
        self._input.write("go\n")
        self._input.flush()

    def fall_asleep(self) -> None:
        """Stop it wherever it is, as a machine does that is shut; returns when it has stopped."""
        self.signal(signal.SIGSTOP)
        state = Path(f"/proc/{self._process.pid}/stat")
        while state.read_text().rpartition(")")[2].split()[0] != "T":
            self._process.join(0.01)

    def wake_up(self) -> None:
        """Let it go on from there, also if it stood still at a word."""
        self.signal(signal.SIGCONT)
        self._input.close()

    def signal(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def insist(self, number: int) -> None:
        """Signal once more; and again, if that one came at the same moment as the one before."""
        for pause in (0.5, 15, 15):
            self._process.join(pause)
            if self._process.is_alive():
                self.signal(number)

    def end(self) -> int | None:
        """Wait for the end; returns the status."""
        self._process.join(60)
        return self._process.exitcode

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.kill()
        self._process.join()

    def close(self) -> None:
        """Leave nothing behind, whatever became of it."""
        self.kill()
        self._output.close()
        if not self._input.closed:
            self._input.close()
