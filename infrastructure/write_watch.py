"""Being told by the kernel that somebody writes to a file, without opening it.

To close a descriptor of a database's file would let go of the locks that SQLite has on it.
"""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

if sys.platform == "linux":
    from inotify_simple import INotify, flags

_COMMIT_MILLISECONDS = 0.1  # a commit is several writes; one look behind them is enough


class WriteWatch:
    """Watches one file by inotify, where there is such a thing, and some of it is left.

    It lives as long as a connection: to give one back takes the kernel 5 to 20 ms.

    Attributes:
        works: If not, nobody is told anything.
    """

    def __init__(self, path: Path) -> None:
        """Begin to watch."""
        self._inotify: Any = None
        self._watch = -1
        if sys.platform == "linux":
            with suppress(OSError):  # a user may have only so many of them
                self._inotify = INotify(nonblocking=True)
                self._watch = self._inotify.add_watch(path, flags.MODIFY)
        self.works = self._watch >= 0

    def wait(self, seconds: float) -> bool:
        """Wait for a write, also one since the last wait, but no longer than this."""
        return bool(self._inotify.read(seconds * 1_000, _COMMIT_MILLISECONDS))

    def end(self) -> None:
        """Let whoever waits wait no longer."""
        if self.works:
            self.works = False
            self._inotify.rm_watch(self._watch)

    def __del__(self) -> None:
        """Give it back, once nobody waits."""
        if self._inotify is not None:
            self._inotify.close()
