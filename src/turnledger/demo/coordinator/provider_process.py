"""Starting the provider, and starting it again when it has died."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

from turnledger.demo.coordinator.records import Records
from turnledger.demo.worker_process import path_options

_FAREWELL_SECONDS = 10


class ProviderProcess:
    """A provider (see provider.py). A context manager, which leaves nothing behind."""

    def __init__(self, folder: Path) -> None:
        """Start it, and let everybody know where it listens."""
        self._folder = folder
        self._process = self._started()

    def start_again(self) -> int:
        """Wait for its death, and start another one in its place.

        Returns:
            With which status it ended.
        """
        status = self._ended()
        self._process = self._started()
        return status

    def __enter__(self) -> Self:
        """The provider itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave nothing behind."""
        self._process.kill()
        self._ended()

    def _started(self) -> subprocess.Popen[str]:
        module = "turnledger.demo.coordinator.provider"
        process = subprocess.Popen(  # noqa: S603 - this very Python, nobody's input
            [sys.executable, *path_options(), "-m", module, str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with suppress(ValueError):  # it died at once: nobody will find it
            Records(self._folder).is_at(int(cast("IO[str]", process.stdout).readline()))
        return process

    def _ended(self) -> int:
        status = self._process.wait(_FAREWELL_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        return status
