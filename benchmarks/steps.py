"""Where the time of a command goes on SQLite: in SQLite with its driver, and in Python.

Every statement of every command is timed where it is run, in the middle of the work, since the
same statements in a bare loop are quicker than that. Plain SQL beside it, as in cycle.py.

    python benchmarks/steps.py               medians in microseconds, at NORMAL
    python benchmarks/steps.py --loop 250    so many cycles and nothing else, for a profiler
"""

import argparse
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import cycle

CYCLES = 600


class TimedCursor:
    """A driver's cursor that notes how long each statement takes."""

    def __init__(self, cursor: Any) -> None:
        """Take the cursor."""
        self._cursor = cursor
        self.took: list[tuple[str, float]] = []

    def execute(self, sql: str, *arguments: Any) -> Any:
        """Run a statement."""
        start = perf_counter_ns()
        result = self._cursor.execute(sql, *arguments)
        self.took.append((" ".join(sql.split()[:3]), (perf_counter_ns() - start) / 1000))
        return result

    def __getattr__(self, name: str) -> Any:
        """Everything else is the cursor's own."""
        return getattr(self._cursor, name)


def medians(side: cycle.Side, cursor: TimedCursor | None) -> tuple[float, dict[str, float]]:
    """Of a cycle: microseconds per command, and what each statement adds to it."""
    whole: list[float] = []
    statements: dict[str, list[float]] = defaultdict(list)
    for number in range(CYCLES):
        if cursor is not None:
            cursor.took.clear()
        start = perf_counter_ns()
        side.cycle(cycle.THREADS[number % len(cycle.THREADS)])
        whole.append((perf_counter_ns() - start) / 4000)
        sums: dict[str, float] = defaultdict(float)
        for name, took in cursor.took if cursor is not None else ():
            sums[name] += took / 4
        for name, took in sums.items():
            statements[name].append(took)
    return statistics.median(whole), {k: statistics.median(v) for k, v in statements.items()}


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loop", type=int, metavar="CYCLES")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as name:
        ours = cycle.Turnledger(Path(name), "NORMAL")
        plain = cycle.PlainSql(Path(name), "NORMAL")
        if given.loop:
            for number in range(given.loop):
                ours.cycle(cycle.THREADS[number % len(cycle.THREADS)])
            return
        held = ours._ledger._backend.store.held()  # noqa: SLF001 - it looks inside
        medians(ours, None)
        whole, _ = medians(ours, None)
        beside, _ = medians(plain, None)
        held.cursor = cursor = TimedCursor(held.cursor)
        _, statements = medians(ours, cursor)
        print(f"plain SQL, whole   {beside:6.1f}")
        print(f"turnledger, whole  {whole:6.1f}")
        for sql, took in sorted(statements.items(), key=lambda each: -each[1]):
            if not sql.startswith("PRAGMA"):  # those are of checkpoints
                print(f"  {took:6.1f}  {sql}")
        kept = sum(took for sql, took in statements.items() if not sql.startswith("PRAGMA"))
        print(f"  {kept:6.1f}  all statements")
        ours.close()
        plain.close()


if __name__ == "__main__":
    main()
