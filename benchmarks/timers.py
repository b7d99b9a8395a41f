"""What timers cost: two schedulers on many due timers, and a scan among many that aren't due.

    python benchmarks/timers.py                          on a file of its own
    python benchmarks/timers.py --url postgresql+psycopg://USER@HOST/EMPTY_DATABASE
    python benchmarks/timers.py --due 10000 --waiting 1000 1000000 --json

The timers that wait are written into the read model alone, as a replay would write them: setting a
million of them by command takes an hour, and the scan reads nothing else. So run it on a database
that nobody needs.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, perf_counter_ns
from typing import Any

import turnledger
from turnledger import Delay, Settings
from turnledger.infrastructure import timer_rows
from turnledger.infrastructure.statement import SQLITE
from turnledger.timers.running import ahead

THREADS, ROUNDS, BATCH = 100, 400, 10_000
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


def fired(url: str) -> int:
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
    return 0


def crowd(url: str, count: int) -> dict[str, Any]:
    """Two scheduler processes on so many timers that are due."""
    with turnledger.open(url, settings=SETTINGS) as ledger:
        for number in range(count):
            ledger.timers.create(f"busy {number % THREADS}", Delay(seconds=0), str(number))
        command = [sys.executable, __file__, "--url", url, "--scheduler"]
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
        ids = [one for share in shares for one in share]
        whole = ledger.verify().ok
    once = sorted(ids, key=int) == [str(number) for number in range(count)]
    return {
        "due": count,
        "fired": len(ids),
        "each once": once,
        "shares": [len(share) for share in shares],
        "seconds": round(seconds, 2),
        "per second": round(count / seconds),
        "verify": whole,
    }


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


def scans(ledger: turnledger.Ledger) -> dict[str, float]:
    """Medians in microseconds: the scan's query, a scheduler's look, and a fire_due of nothing."""
    backend = ledger._backend  # noqa: SLF001 - the query alone is measured
    ready = timer_rows.DUE[backend.store.dialect]
    given = {"now": 2_000_000_000_000_000, "limit": 100}
    took: dict[str, list[float]] = {"query": [], "look": [], "fire_due": []}
    for _ in range(ROUNDS):
        with backend.store.writing() as cursor:
            start = perf_counter_ns()
            found = cursor.execute(ready.sql, ready.arguments(given)).fetchall()
            took["query"].append(perf_counter_ns() - start)
        start = perf_counter_ns()
        ahead(backend)
        took["look"].append(perf_counter_ns() - start)
        start = perf_counter_ns()
        fired_now = ledger.timers.fire_due("owner")
        took["fire_due"].append(perf_counter_ns() - start)
        if found or fired_now:
            msg = "something was due"
            raise RuntimeError(msg)
    return {name: round(statistics.median(times) / 1000, 1) for name, times in took.items()}


def waiting(url: str, counts: list[int]) -> list[dict[str, Any]]:
    """The cost of a scan among so many timers that aren't due."""
    found, there = [], 0
    with turnledger.open(url, settings=SETTINGS) as ledger:
        for count in sorted(counts):
            fill(ledger, there, count)
            there = count
            found.append({"waiting": count, **scans(ledger)})
    return found


def report(url: str, args: argparse.Namespace) -> None:
    """Measure, and print a table, or JSON."""
    measured: dict[str, Any] = {"url": url, "crowd": crowd(url, args.due)}
    measured["scans"] = rows = waiting(url, args.waiting)
    names = ("query", "look", "fire_due")
    measured["ratio"] = {name: round(rows[-1][name] / rows[0][name], 2) for name in names}
    if args.json:
        print(json.dumps(measured, indent=2))
        return
    for name, value in measured["crowd"].items():
        print(f"{name:>12}  {value}")
    print(f"\n{'waiting':>12}" + "".join(f"{name:>12}" for name in names) + "   µs, medians")
    for row in rows:
        print(f"{row['waiting']:>12,}" + "".join(f"{row[name]:>12}" for name in names))
    print(f"{'ratio':>12}" + "".join(f"{measured['ratio'][name]:>12}" for name in names))


def main() -> int:
    """Read what was typed."""
    parser = argparse.ArgumentParser(description="What timers cost.")
    parser.add_argument("--url")
    parser.add_argument("--due", type=int, default=10_000)
    parser.add_argument("--waiting", type=int, nargs="+", default=[1_000, 1_000_000])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--scheduler", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.scheduler:
        return fired(args.url)
    with tempfile.TemporaryDirectory() as folder:
        report(args.url or str(Path(folder) / "ledger.db"), args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
