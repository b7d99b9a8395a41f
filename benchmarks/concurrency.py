"""Many callers of one process on one file: their commands share the price of a commit.

Every side puts the same submission into 25 threads, as in cycle.py. In each round all sides take
their turn, in another order each time:

    plain        one connection to a CRUD table, one commit for each append, at FULL
    NORMAL 1     turnledger, one caller, at synchronous=NORMAL, which waits for no disk
    FULL n       turnledger, n threads, at synchronous=FULL
    async n      the same with n tasks of asyncio

    python benchmarks/concurrency.py            the table
    python benchmarks/concurrency.py --json     for programs
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import cycle
from rich.console import Console
from rich.progress import track
from rich.table import Table

import turnledger

if TYPE_CHECKING:
    from collections.abc import Callable

CALLERS = (1, 8, 64, 256)
SETTINGS = turnledger.Settings(max_visible_turns=1_000_000)


def in_threads(ledger: turnledger.Ledger, callers: int, times: int) -> float:
    """Seconds for so many appends, by so many threads that are there already."""

    def appends(caller: int) -> None:
        for number in range(caller, times, callers):
            ledger.queue.append(cycle.THREADS[number % len(cycle.THREADS)], cycle.SUBMISSION)

    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(int, range(callers)))
        start = perf_counter()
        list(pool.map(appends, range(callers)))
        return perf_counter() - start


def in_tasks(path: Path, callers: int, times: int) -> float:
    """Seconds for so many appends, by so many tasks."""

    async def appends(ledger: turnledger.AsyncLedger, caller: int) -> None:
        for number in range(caller, times, callers):
            await ledger.queue.append(cycle.THREADS[number % len(cycle.THREADS)], cycle.SUBMISSION)

    async def main() -> float:
        async with turnledger.open_async(path, settings=SETTINGS) as ledger:
            await ledger.queue.append(cycle.THREADS[0], cycle.SUBMISSION)
            start = perf_counter()
            await asyncio.gather(*(appends(ledger, caller) for caller in range(callers)))
            return perf_counter() - start

    return asyncio.run(main())


def measure(rounds: int, times: int, console: Console) -> dict[str, list[float]]:
    """Appends per second of every side, round by round."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        plain = cycle.PlainSql(folder, "FULL")
        normal = turnledger.open(
            folder / "normal.db", settings=SETTINGS.model_copy(update={"synchronous": "NORMAL"})
        )
        full = turnledger.open(folder / "full.db", settings=SETTINGS)
        sides: dict[str, Callable[[], float]] = {
            "plain": lambda: cycle.seconds(plain.append, times),
            "NORMAL 1": lambda: in_threads(normal, 1, times),
        }
        for callers in CALLERS:
            sides[f"FULL {callers}"] = lambda n=callers: in_threads(full, n, times)
            sides[f"async {callers}"] = lambda n=callers: in_tasks(folder / "async.db", n, times)
        found: dict[str, list[float]] = {side: [] for side in sides}
        found["commit ms"] = []
        names = list(sides)
        for number in track(range(rounds + 1), "appends", console=console, transient=True):
            turned = number % len(names)
            for side in names[turned:] + names[:turned]:
                took = sides[side]()
                if number:  # the first round warms up
                    found[side].append(times / took)
            found["commit ms"].append(plain.commit_seconds(50) * 1000)
        for side in (plain, normal, full):
            side.close()
    return found


def summary(found: dict[str, list[float]]) -> dict[str, object]:
    """Medians of the rates, and of the ratios round by round."""

    def ratio(side: str, other: str) -> float:
        pairs = zip(found[side], found[other], strict=True)
        return round(statistics.median(one / two for one, two in pairs), 2)

    sides = [side for side in found if side != "commit ms"]
    return {
        "commit_milliseconds": round(statistics.median(found["commit ms"]), 3),
        "sides": {
            side: {
                "per_second": round(statistics.median(found[side])),
                "against_normal_1": ratio(side, "NORMAL 1"),
                "against_plain": ratio(side, "plain"),
            }
            for side in sides
        },
    }


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--times", type=int, default=1024, help="appends in a round")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = summary(measure(given.rounds, given.times, Console(stderr=True)))
    if given.json:
        print(json.dumps(found, indent=1))
        return
    table = Table("side", "appends/s", "against NORMAL 1", "against plain")
    for side, row in found["sides"].items():
        table.add_row(side, *(f"{value:,}" for value in row.values()))
    Console().print(table)
    print(f"a commit of one page at FULL costs {found['commit_milliseconds']} ms", file=sys.stdout)


if __name__ == "__main__":
    main()
