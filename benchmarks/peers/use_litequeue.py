"""litequeue: a table in SQLite, popped and marked as done."""

import json
import time
from typing import ClassVar

import driving
from litequeue import LiteQueue
from working import Peer, Run, Turn

PAUSE_SECONDS = 0.01  # it has nothing to wait with


class Litequeue(Peer):
    """4 threads, each with a queue object of its own, as its connections are not shared."""

    note: ClassVar[str] = "no FIFO per key, no leases; PRAGMA synchronous set by us to FULL"

    def prepare(self) -> str:
        """Make the table."""
        return driving.sqlite_durability(self._new().conn)

    def open(self) -> None:
        """Connect."""
        self._queue = self._new()

    def put(self, turn: Turn) -> None:
        """Enqueue."""
        self._queue.put(json.dumps(turn))

    def work(self, run: Run) -> None:
        """Pop, handle, mark as done."""
        queue = self._new()
        run.go()
        while not run.stop.is_set():
            message = queue.pop()
            if message is None:
                time.sleep(PAUSE_SECONDS)
                continue
            run.handle(json.loads(message.data), count=False)
            queue.done(message.message_id)
            run.count()

    def _new(self) -> LiteQueue:
        queue = LiteQueue(f"{self.where}/litequeue.db", timeout=30)
        queue.conn.execute("PRAGMA synchronous=FULL")  # it sets NORMAL
        return queue
