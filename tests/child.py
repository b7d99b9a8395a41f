"""A Python program in a process of its own, which a test talks with."""

import subprocess
import sys
from pathlib import Path
from typing import IO


class Child:
    """A child process; what it complains of goes into a file.

    Attributes:
        errors: That file.
    """

    def __init__(self, script: Path, arguments: list[str], errors: Path) -> None:
        self.errors = errors
        with errors.open("w") as file:
            self._process = subprocess.Popen(
                [sys.executable, str(script), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )

    @property
    def _output(self) -> IO[str]:
        assert self._process.stdout is not None
        return self._process.stdout

    @property
    def _input(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin

    def go(self) -> None:
        """Let it begin, once it is ready."""
        self._input.write("go\n")
        self._input.flush()

    def close(self) -> None:
        """Leave nothing behind, whatever became of it."""
        self._process.kill()
        self._process.wait()
        self._output.close()
        self._input.close()
