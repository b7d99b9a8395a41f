"""huey: SqliteHuey and PostgresHuey, with its consumer's threads."""

from typing import Any, ClassVar

import driving
from huey import PostgresHuey, SqliteHuey
from working import Peer, Run, Turn


class Huey(Peer):
    """Its consumer: one process with 4 threads, as `huey_consumer -w 4` starts it."""

    processes: ClassVar[dict[str, int]] = {"sqlite": 1, "postgresql": 1}
    threads: ClassVar[dict[str, int]] = {"sqlite": 1, "postgresql": 1}
    workers: ClassVar[dict[str, str]] = dict.fromkeys(
        ("sqlite", "postgresql"), "1 consumer, 4 threads"
    )
    note: ClassVar[str] = "no FIFO per key, no ack: a row is deleted before it is handled"

    def prepare(self) -> str:
        """Make the tables."""
        connection = self._new().storage.conn
        if self.store == "sqlite":
            return driving.sqlite_durability(connection)
        return driving.postgresql_durability(connection)

    def open(self) -> None:
        """Connect, and know the task."""
        self._run: Run | None = None
        self._huey = self._new()
        self._task = self._huey.task(name="handle")(self._handle)

    def put(self, turn: Turn) -> None:
        """Enqueue."""
        self._task(turn)

    def work(self, run: Run) -> None:
        """Run its consumer, without its handlers of signals."""
        self._run = run
        consumer = self._huey.create_consumer(
            workers=run.size, worker_type="thread", periodic=False, check_worker_health=False
        )
        threads = [consumer.scheduler, *(thread for _, thread in consumer.worker_threads)]
        run.go()
        for thread in threads:
            thread.start()
        run.stop.wait()
        consumer.stop()
        for thread in threads:
            thread.join()

    def _handle(self, turn: Turn) -> None:
        if self._run is not None:
            self._run.handle(turn)

    def _new(self) -> Any:
        if self.store == "sqlite":
            return SqliteHuey(
                "peers",
                filename=f"{self.where}/huey.db",
                fsync=True,
                results=False,
                timeout=30,
                strict_fifo=True,
            )
        return PostgresHuey("peers", dsn=self.where, results=False)
