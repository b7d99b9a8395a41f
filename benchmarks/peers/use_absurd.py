"""absurd-sdk: PostgreSQL; its schema comes with absurdctl."""

import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import ClassVar

import driving
import psycopg
from absurd_sdk import Absurd
from working import Peer, Run, Turn


class AbsurdQueue(Peer):
    """4 processes, each with a worker that takes one task at a time, its default."""

    note: ClassVar[str] = "no FIFO per key; polls each 0.25 s when idle"

    def prepare(self) -> str:
        """Make the schema and a queue."""
        control = Path(sys.executable).with_name("absurdctl")
        for order in (("init",), ("create-queue", "default")):
            subprocess.run([control, order[0], "-d", self.where, *order[1:]], check=True)  # noqa: S603 - ours
        with psycopg.connect(self.where) as connection:
            return driving.postgresql_durability(connection)

    def open(self) -> None:
        """Connect."""
        self._run: Run | None = None
        self._app = Absurd(self.where)
        self._app.register_task("handle")(self._handle)

    def put(self, turn: Turn) -> None:
        """Spawn a task."""
        self._app.spawn("handle", turn)

    def unfinished(self) -> int:
        """How many tasks are not completed."""
        if not hasattr(self, "_looking"):
            self._looking = psycopg.connect(self.where, autocommit=True)
        statement = "SELECT count(*) FROM absurd.t_default WHERE state <> 'completed'"
        return driving.counted(self._looking, statement)

    def work(self, run: Run) -> None:
        """Run its worker."""
        self._run = run
        run.go()
        Thread(target=self._stop, args=(run,), daemon=True).start()
        self._app.start_worker(concurrency=1)

    def close(self) -> None:
        """Disconnect."""
        self._app.close()

    def _stop(self, run: Run) -> None:
        run.stop.wait()
        self._app.stop_worker()

    def _handle(self, params: Turn, _context: object) -> None:
        if self._run is not None:
            self._run.handle(params)
