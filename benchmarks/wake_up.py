"""How soon an idle worker has what another process appends, and what it costs to be idle.

The worker waits as workers do, in `ledger.turns`. One clock of the machine is read in both
processes: before the append, and when the claim is in hand. In between the worker has been idle for
as long as chance says. Two commits lie in between, which wait for the disk; what two commits of one
row cost without turnledger stands beside it, measured by turns.

    python benchmarks/wake_up.py                      SQLite at NORMAL and FULL, and PostgreSQL
    python benchmarks/wake_up.py --stores NORMAL      one of NORMAL, FULL, PostgreSQL
    python benchmarks/wake_up.py --times 50 --idle 3  quicker
"""

import multiprocessing
import random
import resource
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Timer
from time import monotonic, monotonic_ns, sleep
from typing import Any

import ledgers
import psycopg
import report
from ledgers import SUBMISSION
from rich.console import Console
from rich.progress import track

import turnledger

STORES = ("NORMAL", "FULL", "PostgreSQL")
MOST_MILLISECONDS, MOST_PERCENT = 5.0, 1.0
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.12  # seconds between a claim and the next append
SETTLE_SECONDS = 0.5


def opened(place: str, level: str) -> turnledger.Ledger:
    """Open a ledger, in a file or on a server."""
    return turnledger.open(place) if level == "PostgreSQL" else ledgers.opened(Path(place), level)


def work(place: str, level: str, orders: Connection) -> None:
    """The worker: says when it has a claim; on the word, what being idle costs."""
    with opened(place, level) as ledger:
        turns = ledger.turns()
        orders.send("ready")
        while (order := orders.recv()) is not None:
            if isinstance(order, float):
                orders.send(idle(ledger, order))
            else:
                orders.send(claimed(turns))


def claimed(turns: turnledger.Turns) -> tuple[str, int]:
    """Wait for a claim: the turn's id, and when the claim was in hand."""
    turn = next(turns)
    at = monotonic_ns()
    with turn:
        turn.dispatch()
        turn.ack()
    return turn.queued_turn_id, at


def idle(ledger: turnledger.Ledger, seconds: float) -> float:
    """Be idle for some time: the CPU that it takes, in percent of a core."""
    turns = ledger.turns()
    before, start = cpu_seconds(), monotonic()
    Timer(seconds, turns.stop).start()
    if list(turns):
        sys.exit("there is something to do: the measurement is void")
    return 100 * (cpu_seconds() - before) / (monotonic() - start)


def cpu_seconds() -> float:
    """The CPU that this process has used."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@contextmanager
def bare(place: str, level: str) -> Iterator[Callable[[], object]]:
    """Commits a row at the same durability, with the driver alone."""
    if level == "PostgreSQL":
        conninfo = place.replace("postgresql+psycopg", "postgresql")
        with psycopg.connect(conninfo, autocommit=True) as server:
            server.execute("CREATE TABLE bare (text text)")
            yield partial(server.execute, "INSERT INTO bare VALUES ('a row')")
        return
    with closing(sqlite3.connect(f"{place}.bare", isolation_level=None)) as file:
        file.execute("PRAGMA journal_mode = WAL")
        file.execute(f"PRAGMA synchronous = {level}")
        file.execute("CREATE TABLE bare (text)")
        yield partial(file.execute, "INSERT INTO bare VALUES ('a row')")


def milliseconds(commit: Callable[[], object]) -> float:
    """How long a commit takes."""
    start = monotonic_ns()
    commit()
    return (monotonic_ns() - start) / 1e6


def measured(
    place: str, level: str, times: int, idle_seconds: float, console: Console
) -> Iterator[report.Figure]:
    """Append to a worker's ledger, so many times; then let it be idle."""
    context = multiprocessing.get_context("spawn")
    orders, theirs = context.Pipe()
    chance = random.Random(1)  # noqa: S311 - no secret
    label = level if level == "PostgreSQL" else f"SQLite, {level}"
    with opened(place, level) as ledger, bare(place, level) as commit:
        worker = context.Process(target=work, args=(place, level, theirs))
        worker.start()
        orders.recv()
        delays, commits = [], []
        for number in track(range(times + 1), label, console=console, transient=True):
            orders.send("claim")
            sleep(chance.uniform(SHORTEST_PAUSE, LONGEST_PAUSE))
            start = monotonic_ns()
            turn = ledger.queue.append(f"thread-{number % 25}", SUBMISSION)
            claimed_id, at = answer(orders)
            if claimed_id != turn.queued_turn_id:
                sys.exit("another turn was claimed: the measurement is void")
            if number:  # the first one warms up
                delays.append((at - start) / 1e6)
                commits.append(milliseconds(commit))
        sleep(SETTLE_SECONDS)
        orders.send(idle_seconds)
        percent = answer(orders)
        orders.send(None)
        worker.join()
    half = report.percentile(delays, 0.5)
    yield report.Figure(label, "append to claim, p50", half, "ms", None, MOST_MILLISECONDS)
    yield report.Figure(label, "append to claim, p95", report.percentile(delays, 0.95), "ms")
    floor = 2 * report.percentile(commits, 0.5)
    yield report.Figure(label, "two bare commits, p50", floor, "ms")
    yield report.Figure(f"{label}, idle", "CPU", percent, "% of a core", None, MOST_PERCENT)


def answer(orders: Connection) -> Any:
    """What the worker says; the end, if it has died."""
    try:
        return orders.recv()
    except EOFError:
        sys.exit("the worker has died: the measurement is void")


def main() -> None:
    """Read the arguments, measure, print."""
    parser = report.arguments(__doc__ or "")
    parser.add_argument("--stores", nargs="+", choices=STORES, default=STORES)
    parser.add_argument("--times", type=int, default=200, help="appends")
    parser.add_argument("--idle", type=float, default=10.0, metavar="SECONDS")
    given = parser.parse_args()
    figures: list[report.Figure] = []
    for level in given.stores:
        with ExitStack() as stack:
            if level == "PostgreSQL":
                place = ledgers.server(stack)
            else:
                place = stack.enter_context(tempfile.TemporaryDirectory(dir=".")) + "/ledger.db"
            how_often = (given.times, given.idle)
            figures += measured(place, level, *how_often, Console(stderr=True))
    report.show("From an append to the claim of an idle worker", figures, given)


if __name__ == "__main__":
    main()
