"""dbos: workflows from a partitioned queue, one at a time for each partition."""

import os
import sqlite3
import time
from contextlib import closing
from typing import Any, ClassVar

import driving
import sqlalchemy
from dbos import DBOS, DBOSClient
from working import Peer, Run, Turn

QUEUE = "turns"
POLLING_SECONDS = float(os.environ.get("PEERS_DBOS_POLLING", "0.002"))
DEFAULT_POLLING_SECONDS = 1.0

_running: Run | None = None


def handle(turn: Turn) -> None:
    """The no-op handler."""
    if _running is not None:
        _running.handle(turn)


DBOS.workflow(name="handle")(handle)


class Dbos(Peer):
    """Executors: one process on SQLite, 4 on PostgreSQL; each starts what it finds in threads.

    The queue is shut, with a worker_concurrency of 0, until the executors are up.
    """

    threads: ClassVar[dict[str, int]] = {"sqlite": 1, "postgresql": 1}
    workers: ClassVar[dict[str, str]] = {
        "sqlite": "1 executor, as many threads as partitions",
        "postgresql": "4 executors, as many threads as partitions",
    }
    note: ClassVar[str] = (
        "partition_concurrency=1, ordered workflow ids; polls each 2 ms for turns/s (at its "
        "default of 1 s it would do 1 turn/s of a key), at its default for the latency"
    )
    gap: ClassVar[float] = 1.0

    def prepare(self) -> str:
        """Make the tables."""
        self.open()
        DBOS(config=self._config())
        DBOS.launch()
        DBOS.destroy()
        with self._client._sys_db.engine.connect() as connection:  # noqa: SLF001 - the settings
            raw = connection.connection.dbapi_connection  # of a connection of its own
            if self.store == "sqlite":
                return driving.sqlite_durability(raw)
            return driving.postgresql_durability(raw)

    def open(self) -> None:
        """Connect a client."""
        self._client = DBOSClient(system_database_url=self._url)

    def put(self, turn: Turn) -> None:
        """Enqueue a workflow in its key's partition."""
        options = {
            "workflow_name": "handle",
            "queue_name": QUEUE,
            "queue_partition_key": turn["key"],
            # Before Python 3.12 its clock on SQLite is in seconds, and among turns of the same
            # time the id decides: with its random ids it would keep no order.
            "workflow_id": f"{time.time_ns():020}-{turn['number']:09}",
        }
        self._client.enqueue(options, turn)

    def begin(self) -> None:
        """Open the queue."""
        self._queue(None)

    def end(self) -> None:
        """Shut the queue."""
        self._queue(0)

    def unfinished(self) -> int:
        """How many workflows are not recorded as done."""
        table = "workflow_status" if self.store == "sqlite" else "dbos.workflow_status"
        statement = f"SELECT count(*) FROM {table} WHERE status IN ('ENQUEUED', 'PENDING')"  # noqa: S608 - ours
        with self._client._sys_db.engine.connect() as connection:  # noqa: SLF001 - it pages lists
            return int(connection.execute(sqlalchemy.text(statement)).scalar_one())

    def work(self, run: Run) -> None:
        """Run an executor."""
        global _running  # noqa: PLW0603 - workflows are functions of a module
        _running = run
        self._queue(0)
        DBOS(config=self._config())
        DBOS.launch()
        time.sleep(1.5)  # it looks for queues each second
        run.go()
        run.stop.wait()
        DBOS.destroy()

    def close(self) -> None:
        """Disconnect."""
        self._client.destroy()

    @property
    def _url(self) -> str:
        if self.store == "sqlite":
            return f"sqlite:///{self.where}/dbos.db"
        return self.where

    def _queue(self, worker_concurrency: int | None) -> None:
        alone = self.size == 1  # the latency
        self._client.register_queue(
            QUEUE,
            partition_concurrency=1,
            worker_concurrency=worker_concurrency,
            polling_interval_sec=DEFAULT_POLLING_SECONDS if alone else POLLING_SECONDS,
            on_conflict="always_update",
        )

    def _config(self) -> Any:
        return {
            "name": "peers",
            "system_database_url": self._url,
            "log_level": "WARNING",
            "executor_id": f"executor-{os.getpid()}",
            "application_version": "1",
        }


class DbosWal(Dbos):
    """With SQLite's write-ahead log, which it doesn't switch on itself."""

    note: ClassVar[str] = "as dbos, but with the journal_mode of its file set by us"

    def prepare(self) -> str:
        """Switch it on before anything is made; it stays on."""
        with closing(sqlite3.connect(f"{self.where}/dbos.db")) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
        return super().prepare()
