"""One queue, two ways, side by side: plain SQL in a CRUD table, and turnledger.

Both do the same work on the same disk at the same durability: append alone, and append, claim,
start_dispatch, ack. The rounds are interleaved, and which side goes first alternates, so that a
machine whose speed drifts treats both alike. What counts is the ratio, not the rate.

    python benchmarks/cycle.py                  the table
    python benchmarks/cycle.py --json           for programs
    python benchmarks/cycle.py --history        the cost at 100,000 events against 1,000
    python benchmarks/cycle.py --postgresql     the same on PostgreSQL, with 1 and with 4 workers
"""

import argparse
import json
import sqlite3
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter, time_ns
from typing import Any, Protocol
from uuid import uuid4

import cycle_postgresql
from rich.console import Console
from rich.progress import track
from rich.table import Table

import turnledger

SUBMISSION = {
    "threadId": "01a22d2f-9333-7c20-bee3-932580b298a8",
    "clientUserMessageId": "client-META",
    "input": [
        {"type": "text", "text": "fix the flaky test in the parser " * 3, "text_elements": []}
    ],
    "responsesapiClientMetadata": {"source": "slack", "channel": "C123"},
}
THREADS = [f"thread-{number}" for number in range(25)]
LEASE_MICROSECONDS = 60_000_000

# What people write by hand, with an index for each question and each rule that turnledger has:
# ids, orders and dispatch ids are unique in a thread; what waits and what is held is found quickly.
CRUD = """
CREATE TABLE queued_turns (
    queued_turn_id TEXT NOT NULL PRIMARY KEY, thread_id TEXT NOT NULL,
    queue_order INTEGER NOT NULL, submission TEXT NOT NULL, state TEXT NOT NULL,
    failure TEXT, dispatch_id TEXT, attempts INTEGER NOT NULL, owner TEXT,
    epoch INTEGER NOT NULL, expires_at INTEGER, not_before INTEGER,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    UNIQUE (thread_id, queue_order), UNIQUE (thread_id, dispatch_id)
);
CREATE INDEX queued_turns_pending ON queued_turns (created_at, thread_id) WHERE state = 'pending';
CREATE INDEX queued_turns_held ON queued_turns (expires_at) WHERE owner IS NOT NULL;
"""


class Side(Protocol):
    """One of the two ways."""

    def append(self, thread_id: str) -> None:
        """Put the submission in."""

    def cycle(self, thread_id: str) -> None:
        """Put it in, claim it, dispatch it, take it out."""


class PlainSql:
    """A table that holds the present, and no history."""

    def __init__(self, folder: Path, synchronous: str) -> None:
        """Make the table."""
        self._db = sqlite3.connect(folder / "crud.db", isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(f"PRAGMA synchronous={synchronous}")
        self._db.executescript(CRUD)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def append(self, thread_id: str) -> None:
        """Put the submission in."""
        now = time_ns() // 1000
        with self._transaction() as db:
            order = (
                "SELECT coalesce(max(queue_order), -1) + 1 FROM queued_turns WHERE thread_id = ?"
            )
            (queue_order,) = db.execute(order, (thread_id,)).fetchone()
            row = (thread_id, queue_order, str(uuid4()), json.dumps(SUBMISSION), now, now)
            db.execute(
                "INSERT INTO queued_turns (thread_id, queue_order, queued_turn_id, submission, "
                "state, attempts, epoch, created_at, updated_at) "
                "VALUES (?, ?, ?, ?, 'pending', 0, 0, ?, ?)",
                row,
            )

    def cycle(self, thread_id: str) -> None:
        """Put it in, claim it, dispatch it, take it out."""
        self.append(thread_id)
        now = time_ns() // 1000
        with self._transaction() as db:
            turn_id, epoch, submission = db.execute(
                "SELECT queued_turn_id, epoch, submission FROM queued_turns "
                "WHERE thread_id = ? ORDER BY queue_order LIMIT 1",
                (thread_id,),
            ).fetchone()
            json.loads(submission)
            db.execute(
                "UPDATE queued_turns SET state = 'claimed', owner = 'worker', epoch = epoch + 1, "
                "expires_at = ?, updated_at = ? WHERE queued_turn_id = ?",
                (now + LEASE_MICROSECONDS, now, turn_id),
            )
        fence = (turn_id, epoch + 1)
        with self._transaction() as db:
            db.execute(
                "UPDATE queued_turns SET state = 'dispatching', dispatch_id = ?, updated_at = ? "
                "WHERE queued_turn_id = ? AND epoch = ?",
                (str(uuid4()), now, *fence),
            )
        with self._transaction() as db:
            db.execute("DELETE FROM queued_turns WHERE queued_turn_id = ? AND epoch = ?", fence)

    def commit_seconds(self, times: int) -> float:
        """What a commit costs here: the median of so many, each of one changed row."""
        took = []
        for number in range(times):
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute(f"PRAGMA user_version = {number}")
            start = perf_counter()
            self._db.execute("COMMIT")
            took.append(perf_counter() - start)
        return statistics.median(took)

    def close(self) -> None:
        """Close the database."""
        self._db.close()


class Turnledger:
    """The same with every event kept, fenced and hashed."""

    def __init__(self, folder: Path, synchronous: str) -> None:
        """Open a ledger."""
        settings: dict[str, Any] = {"synchronous": synchronous, "max_visible_turns": 1_000_000}
        self._ledger = turnledger.open(
            folder / "turnledger.db", settings=turnledger.Settings(**settings)
        )

    def append(self, thread_id: str) -> None:
        """Put the submission in."""
        self._ledger.queue.append(thread_id, SUBMISSION)

    def cycle(self, thread_id: str) -> None:
        """Put it in, claim it, dispatch it, take it out."""
        queue = self._ledger.queue
        queue.append(thread_id, SUBMISSION)
        claim = queue.claim_head(thread_id, "worker")
        if claim is None:
            sys.exit("nothing could be claimed: the comparison is void")
        queue.start_dispatch(claim, str(uuid4()))
        queue.ack(claim)

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()


def seconds(work: Callable[[str], None], times: int) -> float:
    """How long it takes to do the work so often, over the threads in turn."""
    start = perf_counter()
    for number in range(times):
        work(THREADS[number % len(THREADS)])
    return perf_counter() - start


def compare(synchronous: str, rounds: int, times: int, console: Console) -> dict[str, Any]:
    """Both sides at one durability: for each work the median rates, and the ratio's quartiles."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        plain, ours = PlainSql(folder, synchronous), Turnledger(folder, synchronous)
        for what, count in (("cycle", times), ("append", times * 2)):
            pairs: list[tuple[float, float]] = []
            label = f"{synchronous} {what}"
            for number in track(range(rounds + 1), label, console=console, transient=True):
                works = [getattr(plain, what), getattr(ours, what)]
                first = number % 2
                took = [0.0, 0.0]
                took[first] = seconds(works[first], count)
                took[1 - first] = seconds(works[1 - first], count)
                if number:  # the first round warms up
                    pairs.append((count / took[0], count / took[1]))
            figures[what] = summary(pairs)
        plain.close()
        ours.close()
    return figures


def summary(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    """Medians of the rates, and of the ratio round by round."""
    ratios = sorted(ours / plain for plain, ours in pairs)
    low, middle, high = statistics.quantiles(ratios, n=4)
    return {
        "plain_per_second": round(statistics.median(plain for plain, _ in pairs)),
        "turnledger_per_second": round(statistics.median(ours for _, ours in pairs)),
        "ratio": round(middle, 3),
        "ratio_quartiles": [round(low, 3), round(high, 3)],
    }


def history(rounds: int, times: int, console: Console) -> dict[str, Any]:
    """The cost of a command in a thread of 100,000 events against one of 1,000."""
    sizes = (1_000, 100_000)
    with tempfile.TemporaryDirectory(dir=".") as name:
        sides = []
        for size in sizes:
            folder = Path(name) / str(size)
            folder.mkdir()
            side = Turnledger(folder, "NORMAL")
            for _ in track(range(size // 4), f"{size:,} events", console=console, transient=True):
                side.cycle(THREADS[0])
            sides.append(side)
        took: list[list[float]] = [[], []]
        for number in range(rounds * 2):
            for which in (number % 2, 1 - number % 2):
                side = sides[which]
                start = perf_counter()
                for _ in range(times):
                    side.cycle(THREADS[0])
                took[which].append((perf_counter() - start) / times / 4)
        for side in sides:
            side.close()
    short, long = (statistics.median(each) for each in took)
    microseconds = [round(short * 1e6, 1), round(long * 1e6, 1)]
    return {
        "events": sizes,
        "microseconds_per_command": microseconds,
        "ratio": round(long / short, 3),
    }


def on_postgresql(
    workers: int, urls: tuple[str, str], rounds: int, times: int, console: Console
) -> dict[str, Any]:
    """Both sides on a server, with so many processes at the same time."""
    figures: dict[str, Any] = {}
    with cycle_postgresql.Workers(workers, urls, SUBMISSION) as crowd:
        for what, count in (("cycle", times), ("append", times * 2)):
            pairs: list[tuple[float, float]] = []
            cpu: list[list[float]] = [[], []]
            label = f"{workers} workers, {what}"
            for number in track(range(rounds + 1), label, console=console, transient=True):
                took = [0.0, 0.0]
                for which in (number % 2, 1 - number % 2):
                    side = cycle_postgresql.SIDES[which]
                    took[which], used = crowd.seconds(side, what, count)
                    cpu[which].append(used / count * 1e6)
                if number:  # the first round warms up
                    pairs.append((workers * count / took[0], workers * count / took[1]))
            client = [round(statistics.median(each)) for each in cpu]
            figures[what] = {**summary(pairs), "client_cpu_microseconds": client}
    return figures


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--times", type=int, default=100, help="cycles in a round")
    parser.add_argument("--history", action="store_true")
    parser.add_argument("--postgresql", action="store_true", help="on a server of our own")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    console = Console(stderr=True)
    if given.history:
        print(json.dumps(history(given.rounds, given.times, console), indent=1))
        return
    if given.postgresql:
        with ExitStack() as stack:
            urls = cycle_postgresql.private_server(stack)
            cycle_postgresql.prepare(urls[0])
            measure = (urls, given.rounds, given.times, console)
            found = {f"on, {count} workers": on_postgresql(count, *measure) for count in (1, 4)}
    else:
        levels = ("FULL", "NORMAL")
        found = {level: compare(level, given.rounds, given.times, console) for level in levels}
    if given.json:
        print(json.dumps(found, indent=1))
        return
    table = Table("synchronous", "work", "plain SQL/s", "turnledger/s", "ratio", "quartiles")
    for level, works in found.items():
        for what, row in works.items():
            rates = (f"{row['plain_per_second']:,}", f"{row['turnledger_per_second']:,}")
            quartiles = " to ".join(f"{value:.2f}" for value in row["ratio_quartiles"])
            table.add_row(level, what, *rates, f"{row['ratio']:.2f}", quartiles)
    Console().print(table)


if __name__ == "__main__":
    main()
