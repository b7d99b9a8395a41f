"""persist-queue: SQLiteQueue, a table in SQLite whose rows are deleted when they are got."""

import time
from typing import ClassVar

import driving
from persistqueue import SQLiteQueue
from persistqueue.exceptions import Empty
from working import Peer, Run, Turn

PAUSE_SECONDS = 0.01  # what it waits with doesn't see the puts of another process


class PersistQueue(Peer):
    """4 threads that share a queue object."""

    note: ClassVar[str] = "no FIFO per key, no ack: a row is deleted before it is handled"

    def prepare(self) -> str:
        """Make the table."""
        queue = self._new()
        return driving.sqlite_durability(queue._putter)  # noqa: SLF001 - the connection's own

    def open(self) -> None:
        """Connect."""
        self._queue = self._new()

    def put(self, turn: Turn) -> None:
        """Enqueue."""
        self._queue.put(turn)

    def work(self, run: Run) -> None:
        """Get and handle."""
        run.go()
        while not run.stop.is_set():
            try:
                turn = self._queue.get(block=False)
            except Empty:
                time.sleep(PAUSE_SECONDS)
            else:
                run.handle(turn)

    def _new(self) -> SQLiteQueue:
        return SQLiteQueue(self.where, multithreading=True, auto_commit=True, timeout=30)
