"""procrastinate: PostgreSQL; FIFO per key by its locks."""

import asyncio
import contextlib
from typing import Any, ClassVar

import driving
import procrastinate
import psycopg
from working import Peer, Run, Turn


class Procrastinate(Peer):
    """4 processes, each with the worker as its command line starts it; LISTEN is on."""

    note: ClassVar[str] = "lock=key; each job's states are kept in its tables"

    def prepare(self) -> str:
        """Make the tables."""
        app = self._new(synchronous=True)
        with app.open():
            app.schema_manager.apply_schema()
        with psycopg.connect(self.where) as connection:
            return driving.postgresql_durability(connection)

    def open(self) -> None:
        """Open an app for putting in; the workers open their own."""
        self._run: Run | None = None
        self._app = self._new(synchronous=True)
        self._app.open()
        self._task = self._declared(self._app)

    def put(self, turn: Turn) -> None:
        """Defer a job under its key's lock."""
        self._task.configure(lock=turn["key"]).defer(turn=turn)

    def unfinished(self) -> int:
        """How many jobs are not recorded as succeeded."""
        if not hasattr(self, "_looking"):
            self._looking = psycopg.connect(self.where, autocommit=True)
        statement = "SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
        return driving.counted(self._looking, statement)

    def work(self, run: Run) -> None:
        """Run its worker."""
        self._run = run
        asyncio.run(self._work(run))

    async def _work(self, run: Run) -> None:
        app = self._new(synchronous=False)
        self._declared(app)
        async with app.open_async():
            await app.check_connection_async()
            await asyncio.to_thread(run.go)
            worker = asyncio.create_task(app.run_worker_async(install_signal_handlers=False))
            await asyncio.to_thread(run.stop.wait)
            worker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await worker

    def close(self) -> None:
        """Close the app."""
        self._app.close()

    def _declared(self, app: Any) -> Any:
        async def handle(turn: Turn) -> None:
            if self._run is None:
                return
            if not turn["nap"]:
                self._run.handle(turn)
                return
            await asyncio.to_thread(self._run.handle, turn)

        return app.task(name="handle")(handle)

    def _new(self, *, synchronous: bool) -> Any:
        kind = procrastinate.SyncPsycopgConnector if synchronous else procrastinate.PsycopgConnector
        return procrastinate.App(connector=kind(conninfo=self.where))
