"""Exports of a long history: how many events a second of processor time, and how much memory.

Each export runs in a process of its own, from the command `turnledger export`. Memory is the
largest that the process ever had (its maximum resident set).

    python benchmarks/export.py --keep-in DIR
    python benchmarks/export.py --events 100000 --formats jsonl ocel
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

from ledgers import folder, history, kept, warmed
from rich.console import Console
from rich.table import Table

from turnledger.exporting import FORMATS

WANTED = {  # events a second
    **dict.fromkeys(("jsonl", "csv", "parquet"), 50_000),
    "ocel": 10_000,
    **dict.fromkeys(("cloudevents", "cloudevents-batch"), 5_000),
}
MOST_MEGABYTES = 300


def exported(source: Path, name: str, target: Path, options: list[str]) -> tuple[float, ...]:
    """Export once.

    Returns:
        Seconds on the clock, seconds of the processor, and megabytes.
    """
    command = [sys.executable, "-m", "turnledger", "--db", str(source), "export", name]
    start = perf_counter()
    process = subprocess.Popen(  # noqa: S603 - ours
        [*command, "-o", str(target), *options], stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        msg = f"the export of {name} ended with {process.returncode}"
        raise RuntimeError(msg)
    return perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=1_000)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--ledger", type=Path, help="one that is there, instead of a new one")
    parser.add_argument("--keep-in", type=Path, metavar="DIR")
    parser.add_argument("--redact", action="store_true")
    given = parser.parse_args()
    console = Console()
    table = Table("format", "events/s (cpu)", "events/s (clock)", "most MB", "file MB", "wanted")
    with folder(given.keep_in) as place:
        names = [f"thread-{number}" for number in range(given.threads)]
        fill = history(given.events, names)
        source = given.ledger or kept(place, f"{given.events}-events", given.events, fill, console)
        warmed(source)
        for name in given.formats:
            target = place / f"exported.{name}"
            target.unlink(missing_ok=True)
            clock, cpu, most = exported(source, name, target, ["--redact"] * given.redact)
            size = target.stat().st_size / 1_000_000
            target.unlink()
            wanted = f"{WANTED.get(name, 0):,}/s, {MOST_MEGABYTES} MB"
            rates = (f"{given.events / cpu:,.0f}", f"{given.events / clock:,.0f}")
            row = (name, *rates, f"{most:,.0f}", f"{size:,.1f}", wanted)
            console.print(*row, sep="  ")  # some take minutes
            table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    main()
