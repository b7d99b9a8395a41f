"""What a driver of benchmarks/peers.py does: it measures one peer, when it is told to.

Work is put in by the driver itself, and taken out by worker processes that it starts, as many as
its peer is meant to have.
"""

import random
import sqlite3
import time
from contextlib import closing
from typing import Any

from working import Crowd, Peer, Turn, in_order

PATIENCE_SECONDS = 240.0
LOOK_SECONDS = 0.002


class Driver:
    """Does what it is told."""

    def __init__(self, kind: type[Peer]) -> None:
        """Take the peer."""
        self._kind, self._number = kind, 0
        self._crowds: dict[str, Crowd] = {}

    def prepare(self, store: str, where: str, payload: Turn) -> dict[str, Any]:
        """Make the peer's tables."""
        self._store, self._where, self._payload = store, where, payload
        self._peer = self._kind(store, where)
        durability = self._peer.prepare()
        self._peer.open()
        processes, threads = self._kind.processes[store], self._kind.threads[store]
        plain = (
            f"{processes} process, {threads} threads" if threads > 1 else f"{processes} processes"
        )
        workers = self._kind.workers.get(store, plain)
        return {"durability": durability, "workers": workers, "note": self._kind.note}

    def enqueue(self, count: int, keys: int) -> dict[str, Any]:
        """Put turns in, one at a time, and see how long it takes; nobody takes them out."""
        turns = self._turns(count, keys, 0)
        start = time.perf_counter()
        for turn in turns:
            self._peer.put(turn)
        took = time.perf_counter() - start
        return {"seconds": took}

    def drain(self, count: int, keys: int, nap: float = 0) -> dict[str, Any]:
        """Put turns in; then see how long it takes until the workers have acked all of them."""
        crowd = self._crowd("drain")
        for turn in self._turns(count, keys, nap):
            self._peer.put(turn)
        crowd.ready()
        start = time.perf_counter()
        self._peer.begin()
        crowd.go()
        self._wait(crowd, count)
        while self._peer.unfinished():
            time.sleep(LOOK_SECONDS)
        took = time.perf_counter() - start
        self._peer.end()
        handled = crowd.stop()
        exactly = len(handled) == len({one.number for one in handled}) == count
        return {"seconds": took, "fifo": in_order(handled), "exactly": exactly}

    def latency(self, count: int, idle: float) -> dict[str, Any]:
        """From before an append here until the turn is in the hands of an idle worker process."""
        crowd = self._crowd("latency")
        crowd.ready()
        self._peer.begin()
        crowd.go()
        sent, took = {}, []
        for number, turn in enumerate(self._turns(count + 1, 1, 0)):
            time.sleep(random.uniform(0.1, 0.1 + self._peer.gap))  # noqa: S311 - no secret
            sent[turn["number"]] = start = time.monotonic_ns()
            self._peer.put(turn)
            took.append((time.monotonic_ns() - start) / 1e9)
            self._wait(crowd, number + 1)
        used = self._idle_cpu(crowd, idle) if idle else None
        self._peer.end()
        seconds = [(one.began - sent[one.number]) / 1e9 for one in crowd.stop()]
        return {"seconds": seconds[1:], "append": took[1:], "idle_cpu": used}  # the first warms up

    def _idle_cpu(self, crowd: Crowd, seconds: float) -> float:
        """The part of a core that the worker process uses while nothing happens."""
        time.sleep(1)
        cpu, start = crowd.cpu(), time.perf_counter()
        time.sleep(seconds)
        return (crowd.cpu() - cpu) / (time.perf_counter() - start)

    def close(self) -> dict[str, Any]:
        """End the workers."""
        for crowd in self._crowds.values():
            crowd.close()
        return {}

    def _turns(self, count: int, keys: int, nap: float) -> list[Turn]:
        first, self._number = self._number, self._number + count
        return [
            {**self._payload, "key": f"key-{each % keys}", "number": first + each, "nap": nap}
            for each in range(count)
        ]

    def _crowd(self, purpose: str) -> Crowd:
        """The workers for a purpose; those of another are ended."""
        self._peer.size = 1 if purpose == "latency" else 4
        if purpose not in self._crowds:
            self.close()
            alone = purpose == "latency"
            processes = 1 if alone else self._kind.processes[self._store]
            threads = 1 if alone else self._kind.threads[self._store]
            given = (self._store, self._where, 1 if alone else 4)
            self._crowds = {purpose: Crowd(self._kind, processes, threads, given)}
        return self._crowds[purpose]

    def _wait(self, crowd: Crowd, count: int) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while (handled := crowd.handled) < count:
            if time.monotonic() > end:
                raise TimeoutError(f"{handled} of {count} turns in {PATIENCE_SECONDS} s")
            time.sleep(LOOK_SECONDS)


def sqlite_durability(connection: sqlite3.Connection) -> str:
    """What a connection of the peer's says of itself."""
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    level = connection.execute("PRAGMA synchronous").fetchone()[0]
    return f"{('OFF', 'NORMAL', 'FULL', 'EXTRA')[level]} ({mode})"


def postgresql_durability(connection: Any) -> str:
    """What a connection of the peer's says of itself."""
    with closing(connection.cursor()) as cursor:
        cursor.execute("SHOW synchronous_commit")
        return str(cursor.fetchone()[0])


def counted(connection: Any, statement: str) -> int:
    """The one number that a statement gives."""
    return int(connection.execute(statement).fetchone()[0])
