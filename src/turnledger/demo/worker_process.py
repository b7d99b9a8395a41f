"""Starting workers, listening to them, killing them."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self, cast

_FAREWELL_SECONDS = 10


class Word(NamedTuple):
    """What a worker has done, and with which turn."""

    word: str
    turn_id: str


class WorkerEnded(Exception):
    """A worker ended that ought to go on."""

    def __init__(self, owner: str, last_words: str) -> None:
        super().__init__(f"{owner} ended: {last_words or 'it said nothing'}")


class WorkerProcess:
    """A worker (see worker.py). A context manager, which leaves nothing behind.

    Attributes:
        owner: Its name, under which it claims.
    """

    def __init__(
        self,
        owner: str,
        ledger: Path,
        lease_seconds: float,
        module: str = "turnledger.demo.worker",
    ) -> None:
        """Start it; it waits to be let go. The world outside has its files beside the ledger."""
        self.owner = owner
        self._errors = ledger.with_name(f"{owner}.errors")
        arguments = [str(ledger), str(ledger.parent), owner, str(lease_seconds)]
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - this very Python, nobody's input
                [sys.executable, *path_options(), "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
            )

    def go_on(self, order: str = "") -> Word:
        """Let it do the next thing.

        Args:
            order: What that is, for a worker that takes orders.

        Raises:
            WorkerEnded: It doesn't any more.
        """
        self.let_go(order)
        return self.listen()

    def let_go(self, order: str = "") -> None:
        """Likewise, without waiting for what it says."""
        with suppress(BrokenPipeError):
            self._input.write(f"{order}\n")
            self._input.flush()

    def listen(self) -> Word:
        """Wait for what it says.

        Raises:
            WorkerEnded: It says nothing any more.
        """
        line = self._output.readline()
        if not line.endswith("\n"):
            errors = self._errors.read_text(encoding="utf-8", errors="replace").splitlines()
            raise WorkerEnded(self.owner, errors[-1] if errors else "")
        word, _, turn_id = line.rstrip("\n").partition(" ")
        return Word(word, turn_id)

    def until(self, last: str, order: str = "") -> Iterator[Word]:
        """Let it go on until it says a word; everything that it says on the way, and that."""
        said = self.go_on(order)
        while said.word != last:
            yield said
            said = self.go_on()
        yield said

    def stop(self) -> None:
        """Let it stand still, as a machine does that sleeps."""
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on after that."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> bool:
        """End it as a crash does.

        Returns:
            Whether that is what it died of.
        """
        self._process.kill()
        return self._process.wait() == -signal.SIGKILL

    def finish(self) -> bool:
        """Tell it that nobody is there any more.

        Returns:
            Whether it ended by itself, without an error.
        """
        self._input.close()
        try:
            return self._process.wait(_FAREWELL_SECONDS) == 0
        except subprocess.TimeoutExpired:
            return False

    def __enter__(self) -> Self:
        """The worker itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave nothing behind, whatever became of it."""
        self.kill()
        self._output.close()
        with suppress(BrokenPipeError):
            self._input.close()

    @property
    def _input(self) -> IO[str]:
        return cast("IO[str]", self._process.stdin)

    @property
    def _output(self) -> IO[str]:
        return cast("IO[str]", self._process.stdout)


def path_options() -> list[str]:
    """Let a process find the turnledger of this one.

    `-m` would put the current folder first, where a file may have the name of a module.
    """
    here = {""}
    with suppress(FileNotFoundError):  # somebody removed the current folder
        here.add(str(Path.cwd()))
    return [] if here & set(sys.path) else ["-P"]
