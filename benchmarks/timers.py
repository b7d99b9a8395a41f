"""What timers cost: two schedulers on many due timers, and a scan among many that aren't due.

    python benchmarks/timers.py                 on files
    python benchmarks/timers.py --postgresql    on a server of our own
    python benchmarks/timers.py --due 1000 --waiting 100000 --json

The scans are measured on two ledgers in turn, one with 1,000 timers that aren't due and one with a
million. These are written into the read model alone, as a replay would write them: setting a
million of them by command takes an hour, and the scan reads nothing else.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from time import perf_counter, perf_counter_ns
from typing import Any

import cycle_postgresql
import report
from rich.console import Console

import turnledger
from turnledger import Delay, Settings
from turnledger.infrastructure import timer_rows
from turnledger.infrastructure.statement import SQLITE
from turnledger.timers.running import ahead

THREADS, TIMES, BATCH, FEW, MOST_TIMES = 100, 50, 10_000, 1_000, 1.3
SETTINGS = Settings(max_timers=1_000_000)
_INSERT = """
INSERT INTO due_timers (timer_id, thread_id, next_run_at, due, runs, paused, trigger, delivery,
    content, instructions, metadata, source, created_at, state, idle, archived, time_zone_data,
    version)
SELECT 'waiting ' || n, 'thread ' || n % 1000, 4000000000000000 + n, false, 0, false, '{}',
    'after-turn', 'null', 'null', '{}', 'host', 0, 'scheduled', false, false, '', 1
FROM (SERIES) AS numbers
"""
_SERIES_ON_SQLITE = """
WITH RECURSIVE s(n) AS (SELECT FIRST UNION ALL SELECT n + 1 FROM s WHERE n < LAST) SELECT n FROM s
"""
_SERIES_ON_POSTGRESQL = "SELECT n FROM generate_series(FIRST, LAST) AS n"


def fired(url: str) -> None:
    """A scheduler process: fires until nothing is due, and says what."""
    with turnledger.open(url, settings=SETTINGS) as ledger:
        print("ready", flush=True)
        sys.stdin.readline()
        ids: list[str] = []
        scheduler = ledger.timers.scheduler(
            "scheduler", lambda posted: ids.extend(str(message.content) for message in posted)
        )
        scheduler.run(once=True)
    print(json.dumps(ids))


def crowd(url: str, count: int) -> Iterator[report.Figure]:
    """Two scheduler processes on so many timers that are due."""
    with turnledger.open(url, settings=SETTINGS) as ledger:
        for number in range(count):
            ledger.timers.create(f"busy {number % THREADS}", Delay(seconds=0), str(number))
        command = [sys.executable, __file__, "--scheduler", url]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        workers = [subprocess.Popen(command, **pipes) for _ in range(2)]  # noqa: S603 - this file
        for worker in workers:
            worker.stdout.readline()
        start = perf_counter()
        for worker in workers:
            worker.stdin.write("go\n")
            worker.stdin.flush()
        shares = [json.loads(worker.communicate()[0]) for worker in workers]
        seconds = perf_counter() - start
        if not ledger.verify().ok:
            sys.exit("the ledger isn't whole: the measurement is void")
    ids = sorted(int(one) for share in shares for one in share)
    twice = len(ids) - len(set(ids))
    series = "two schedulers"
    yield report.Figure(series, "timers fired of those due", len(set(ids)), f"of {count:,}")
    yield report.Figure(series, "fired twice", twice, "timers", None, 0)
    yield report.Figure(series, "the smaller share", min(map(len, shares)), "timers")
    yield report.Figure(series, "it took", seconds, "s")


def fill(ledger: turnledger.Ledger, first: int, last: int) -> None:
    """Write rows of timers that wait."""
    store = ledger._backend.store  # noqa: SLF001 - beside every command
    for start in range(first, last, BATCH):
        end = min(start + BATCH, last)
        series = _SERIES_ON_SQLITE if store.dialect == SQLITE else _SERIES_ON_POSTGRESQL
        numbers = series.replace("FIRST", str(start)).replace("LAST", str(end - 1))
        with store.writing() as cursor:
            cursor.execute(_INSERT.replace("SERIES", numbers))
    if store.dialect == SQLITE:
        with store.writing() as cursor:
            cursor.execute("ANALYZE due_timers")
        return
    with store.reading() as cursor:  # what a million new rows bring with them isn't measured
        for sentence in ("VACUUM ANALYZE due_timers", "CHECKPOINT"):
            cursor.execute(sentence)


def scans(ledger: turnledger.Ledger) -> report.Sample:
    """Medians in microseconds: the scan's query, a scheduler's look, and a fire_due of nothing."""
    backend = ledger._backend  # noqa: SLF001 - the query alone is measured
    ready = timer_rows.DUE[backend.store.dialect]
    given = {"now": 2_000_000_000_000_000, "limit": 100}
    took: dict[str, list[float]] = {"the query": [], "a scheduler's look": [], "fire_due": []}
    for _ in range(TIMES):
        with backend.store.writing() as cursor:
            start = perf_counter_ns()
            found = cursor.execute(ready.sql, ready.arguments(given)).fetchall()
            took["the query"].append(perf_counter_ns() - start)
        start = perf_counter_ns()
        ahead(backend)
        took["a scheduler's look"].append(perf_counter_ns() - start)
        start = perf_counter_ns()
        fired_now = ledger.timers.fire_due("owner")
        took["fire_due"].append(perf_counter_ns() - start)
        if found or fired_now:
            sys.exit("something was due: the measurement is void")
    return {name: statistics.median(times) / 1000 for name, times in took.items()}


def waiting(
    urls: tuple[str, str], count: int, rounds: int, console: Console
) -> list[report.Figure]:
    """The cost of a scan among so many timers that aren't due, against 1,000."""
    with ExitStack() as stack:
        sides = {}
        for url, most in zip(urls, (FEW, count), strict=True):
            ledger = stack.enter_context(turnledger.open(url, settings=SETTINGS))
            fill(ledger, 0, most)
            sides[f"{most:,} waiting"] = partial(scans, ledger)
        found = report.interleaved(sides, rounds, "scans", console)
    return report.compared("a scan", found, "µs", MOST_TIMES)


def places(stack: ExitStack, *, postgresql: bool) -> tuple[str, str]:
    """Where two ledgers can be."""
    if postgresql:
        return cycle_postgresql.private_server(stack)
    folder = stack.enter_context(tempfile.TemporaryDirectory(dir="."))
    return f"{folder}/one.db", f"{folder}/other.db"


def main() -> None:
    """Read the arguments, measure, print."""
    parser = report.arguments(__doc__ or "")
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--due", type=int, default=10_000)
    parser.add_argument("--waiting", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--scheduler", metavar="URL", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.scheduler:
        fired(given.scheduler)
        return
    with ExitStack() as stack:
        urls = places(stack, postgresql=given.postgresql)
        figures = list(crowd(urls[1], given.due))
        figures += waiting(urls, given.waiting, given.rounds, Console(stderr=True))
    report.show("Timers", figures, given)


if __name__ == "__main__":
    main()
