"""Worker processes, and what they said; see worker.py."""

import json
import signal
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.child import Child

SCRIPT = Path(__file__).with_name("worker.py")


class Worker(Child):
    """A worker process.

    Attributes:
        owner: Its name.
        said: What it has said so far.
    """

    def __init__(self, url: str, role: str, owner: str, number: int, errors: Path) -> None:
        self.owner = owner
        self.said: list[list[Any]] = []
        super().__init__(SCRIPT, [url, role, owner, str(number)], errors)

    def hear(self, lines: int = 1) -> None:
        """Listen to the next lines that it says."""
        for _ in range(lines):
            line = self._output.readline()
            assert line, f"the worker ended: {self.errors.read_text()}"
            self.said.append(json.loads(line))

    def finish(self) -> None:
        """Listen to the end, which is to come without an error."""
        self._hear_the_rest()
        assert self._process.wait() == 0, self.errors.read_text()
        assert self.errors.read_text() == ""

    def kill(self) -> None:
        """End it as a crash does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._hear_the_rest()

    def words(self, word: str) -> list[list[Any]]:
        """All that it said with a word: thread, epoch and number of each."""
        return [rest for first, *rest in self.said if first == word]

    def _hear_the_rest(self) -> None:
        self.said += [json.loads(line) for line in self._output if line.endswith("\n")]


def told(workers: Iterable[Worker], word: str) -> dict[str, list[int]]:
    """The numbers that workers said with a word, for each thread in the order of the epochs."""
    by_thread: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for worker in workers:
        for thread, epoch, number in worker.words(word):
            by_thread[thread].append((epoch, number))
    return {thread: [number for _, number in sorted(all_)] for thread, all_ in by_thread.items()}
