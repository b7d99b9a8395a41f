"""A thread's connection to the database."""

import ctypes
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turnledger.infrastructure.write_watch import WriteWatch

if TYPE_CHECKING:
    import weakref


PATIENCE_SECONDS = 5.0  # a thread that goes on using it closes it itself, at its end


class Held:
    """A thread's connection; closed when the thread ends, or with the store."""

    __slots__ = (
        "__weakref__",
        "abandoned",
        "cursor",
        "driver",
        "listens",
        "listens_for_work",
        "lock",
        "mark",
        "owner",
        "process",
        "proxy",
        "settled",
        "told",
        "wakes",
        "watch",
        "writes",
    )

    def __init__(self, proxy: Any) -> None:
        """Take a connection of SQLAlchemy's."""
        self.proxy = proxy
        self.driver: Any = proxy.driver_connection
        self.cursor: Any = self.driver.cursor()
        self.lock = threading.RLock()  # held while it is used, so that nobody closes it then
        self.abandoned = False
        self.owner: weakref.ref[object] | None = None  # of the transaction under way
        self.watch: WriteWatch | None = None  # on SQLite: once it has waited for a change
        self.mark: Any = None  # on PostgreSQL: what the unit of work has written
        self.writes = 0  # likewise: how often something was written
        self.settled = False  # likewise: it was committed, though the answer was lost
        self.listens = False  # likewise: to announcements
        self.listens_for_work = False  # likewise: to those for workers
        self.wakes: str | None = None  # likewise: a stream that the unit of work made work of
        self.told = ""  # likewise: the stream of the last announcement for workers
        self.process: Any = None  # likewise: the server's process, and when it was started

    def watched(self, path: Path) -> WriteWatch:
        """The watch on a file, as long as this is open."""
        if self.watch is None:
            self.watch = WriteWatch(path)
        return self.watch

    def close(self) -> None:
        """Close it, from whatever thread, once it isn't used."""
        if self.lock.acquire(timeout=PATIENCE_SECONDS):
            try:
                if self.watch is not None:
                    self.watch.end()
                self.proxy.close()
            finally:
                self.lock.release()

    def abandon(self) -> None:
        """Keep it open until the process ends.

        Its file has lost its name to another one: on closing it, SQLite would remove the log of
        that name, the other file's. Or it is that of a parent process.
        """
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.proxy))
        self.abandoned = True

    def __del__(self) -> None:
        """Close it when its thread is gone."""
        if not self.abandoned:
            self.close()

    @contextmanager
    def without_waiting(self) -> Generator[None]:
        """Refuse at once what another writer stands in the way of."""
        (patience,) = self.cursor.execute("PRAGMA busy_timeout").fetchone()
        self.cursor.execute("PRAGMA busy_timeout=0")
        try:
            yield
        finally:
            self.cursor.execute(f"PRAGMA busy_timeout={patience}")
