"""turnledger itself, as examples/worker.py shows it."""

import os
import sqlite3
import threading
from typing import ClassVar
from uuid import uuid4

import driving
from working import Peer, Run, Turn

import turnledger

LIMIT = 10  # claims that a worker takes at once
PATIENCE_SECONDS = 1.0


class Turnledger(Peer):
    """4 workers; on SQLite threads that share a ledger, as one process with 4 workers has them.

    What a worker has done is acked in the transaction that gives it more: one commit for a batch,
    and each dispatch is recorded before its hand-over.
    """

    note = f"one transaction: acks of before, claim_next(limit={LIMIT}), all start_dispatch"

    def prepare(self) -> str:
        """Make the ledger."""
        with self._ledger() as ledger:
            level = ledger.settings.synchronous
        if self.store == "sqlite":
            mode = sqlite3.connect(self._url).execute("PRAGMA journal_mode").fetchone()[0]
            return f"{level} ({mode})"
        import psycopg  # noqa: PLC0415 - an extra

        with psycopg.connect(self.where) as connection:
            return driving.postgresql_durability(connection)

    def open(self) -> None:
        """Open the ledger."""
        self._opened = self._ledger()

    def put(self, turn: Turn) -> None:
        """Append."""
        self._opened.queue.append(turn["key"], turn)

    def work(self, run: Run) -> None:
        """Claim, dispatch, ack; wait for changes when nothing can be claimed."""
        ledger, position = self._opened, 0
        owner = f"worker-{os.getpid()}-{threading.get_ident()}-{uuid4()}"
        done: list[turnledger.Claim] = []
        run.go()
        while not run.stop.is_set():
            with ledger.transaction():
                ledger.queue.ack_many(done)
                claims = ledger.queue.claim_next(owner, limit=LIMIT)
                for claim in claims:
                    ledger.queue.start_dispatch(claim, str(uuid4()))
            for _ in done:
                run.count()
            for claim in claims:
                run.handle(claim.submission or {}, count=False)
            done = claims
            if not claims:
                position = ledger.wait_for_change(since=position, timeout=PATIENCE_SECONDS)

    def close(self) -> None:
        """Close the ledger."""
        self._opened.close()

    @property
    def _url(self) -> str:
        if self.store == "sqlite":
            return f"{self.where}/ledger.db"
        return self.where.replace("postgresql://", "postgresql+psycopg://")

    def _ledger(self) -> turnledger.Ledger:
        settings = turnledger.Settings(max_visible_turns=1_000_000, synchronous="FULL")
        return turnledger.open(self._url, settings=settings)


class Processes(Turnledger):
    """4 processes on SQLite too."""

    processes: ClassVar[dict[str, int]] = {"sqlite": 4, "postgresql": 4}
    threads: ClassVar[dict[str, int]] = {"sqlite": 1, "postgresql": 1}
