"""pgqueuer: PostgreSQL, LISTEN and NOTIFY."""

import asyncio
import json
from typing import ClassVar

import driving
import psycopg
from pgqueuer import PgQueuer
from pgqueuer.db import PsycopgDriver, SyncPsycopgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries, SyncQueries
from working import Peer, Run, Turn


class Pgqueuer(Peer):
    """4 processes, each with a manager that takes its default of 10 jobs at once."""

    note: ClassVar[str] = "no FIFO per key: its limits are for an entrypoint known beforehand"

    def prepare(self) -> str:
        """Make the tables."""
        asyncio.run(self._install())
        with psycopg.connect(self.where) as connection:
            return driving.postgresql_durability(connection)

    def open(self) -> None:
        """Connect for putting in."""
        self._connection = psycopg.connect(self.where, autocommit=True)
        self._queries = SyncQueries(SyncPsycopgDriver(self._connection))

    def put(self, turn: Turn) -> None:
        """Enqueue."""
        self._queries.enqueue("handle", json.dumps(turn).encode())

    def unfinished(self) -> int:
        """How many jobs are still in its table."""
        return driving.counted(self._connection, "SELECT count(*) FROM pgqueuer")

    def work(self, run: Run) -> None:
        """Run its manager."""
        asyncio.run(self._work(run))

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()

    async def _work(self, run: Run) -> None:
        async with await psycopg.AsyncConnection.connect(self.where, autocommit=True) as connection:
            manager = PgQueuer(PsycopgDriver(connection))

            async def handle(job: Job) -> None:
                turn = json.loads(job.payload or b"{}")
                if turn["nap"]:
                    await asyncio.to_thread(run.handle, turn)
                else:
                    run.handle(turn)

            manager.entrypoint("handle")(handle)
            await asyncio.to_thread(run.go)
            working = asyncio.create_task(manager.qm.run())
            await asyncio.to_thread(run.stop.wait)
            manager.qm.shutdown.set()
            await working

    async def _install(self) -> None:
        async with await psycopg.AsyncConnection.connect(self.where, autocommit=True) as connection:
            await Queries(PsycopgDriver(connection)).install()
