"""What encryption costs: the same work on a plain ledger and on an encrypted one, side by side.

The rounds are interleaved, and which side goes first alternates. What counts is the ratio.

    python benchmarks/encryption.py
    python benchmarks/encryption.py --synchronous NORMAL --rounds 9
"""

import argparse
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter

from cycle import SUBMISSION, THREADS
from rich.console import Console
from rich.table import Table

import turnledger
from turnledger import Ledger, Settings


def append(ledger: Ledger, number: int) -> None:
    """Put a submission in."""
    ledger.queue.append(THREADS[number % len(THREADS)], SUBMISSION)


def cycle(ledger: Ledger, number: int) -> None:
    """Put a submission in, claim the head, dispatch it, take it out."""
    append(ledger, number)
    claim = ledger.queue.claim_head(THREADS[number % len(THREADS)], "worker")
    if claim is not None:
        ledger.queue.start_dispatch(claim, f"dispatch-{number}-{claim.epoch}")
        ledger.queue.ack(claim)


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--turns", type=int, default=200)
    parser.add_argument("--synchronous", choices=("FULL", "NORMAL"), default="FULL")
    given = parser.parse_args()
    settings = Settings(synchronous=given.synchronous, max_visible_turns=1_000_000)
    table = Table(
        "work", "plain/s", "encrypted/s", "ratio", title=f"synchronous={given.synchronous}"
    )
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=Path.cwd())))
        for work in (append, cycle):
            sides = [
                stack.enter_context(
                    turnledger.open(
                        folder / f"{work.__name__}-{encrypt}.db", settings=settings, encrypt=encrypt
                    )
                )
                for encrypt in (False, True)
            ]
            rates: tuple[list[float], list[float]] = ([], [])
            for turn in range(given.rounds + 1):
                for side in (0, 1) if turn % 2 else (1, 0):
                    start = perf_counter()
                    for number in range(given.turns):
                        work(sides[side], turn * given.turns + number)
                    if turn:  # the first one warms up
                        rates[side].append(given.turns / (perf_counter() - start))
            plain, encrypted = map(statistics.median, rates)
            ratio = statistics.median(b / a for a, b in zip(*rates, strict=True))
            table.add_row(work.__name__, f"{plain:,.0f}", f"{encrypted:,.0f}", f"{ratio:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
