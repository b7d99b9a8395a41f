"""What a claim costs in a work item with a long past: many settled turns against few.

    python benchmarks/coordinator.py                 on files
    python benchmarks/coordinator.py --postgresql    on a server of our own
    python benchmarks/coordinator.py --settled 10000 --json

Two ledgers, each with one work item and one turn in it that waits, work in turn: the turn is
claimed and given back, by its id, as the next of its work item, and as the next of all.
"""

import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from time import perf_counter_ns

import cycle_postgresql
import report
from rich.console import Console
from rich.progress import Progress

import turnledger
from turnledger import TurnClaim
from turnledger.coordinator import Coordinator

FEW, BATCH, TIMES, MOST_TIMES = 100, 500, 40, 1.2
ITEM, TURN, OWNER = "item", "waiting", "worker"


def fill(ledger: turnledger.Ledger, settled: int, console: Console) -> None:
    """So many settled turns in the work item, and one that waits."""
    coordinator = ledger.coordinator
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(f"{settled:,} settled turns", total=settled)
        for first in range(0, settled, BATCH):
            last = min(first + BATCH, settled)
            with ledger.transaction():
                for number in range(first, last):
                    claim = coordinator.begin(ITEM, {"n": number}, owner=OWNER).claim
                    if claim is None:
                        msg = "a turn wasn't claimed: the ledger is of no use"
                        raise RuntimeError(msg)
                    coordinator.ack(claim)
            progress.update(task, completed=last)
    coordinator.begin(ITEM, {"n": "last"}, turn_id=TURN)


def ways(coordinator: Coordinator) -> dict[str, Callable[[], TurnClaim | None]]:
    """How the turn can be claimed."""
    return {
        "claim": partial(coordinator.claim, TURN, OWNER),
        "claim_next of a work item": partial(coordinator.claim_next, ITEM, owner=OWNER),
        "claim_next of any": partial(coordinator.claim_next, owner=OWNER),
    }


def claims(ledger: turnledger.Ledger) -> report.Sample:
    """Medians in microseconds."""
    coordinator = ledger.coordinator
    took: dict[str, list[float]] = defaultdict(list)
    for _ in range(TIMES):
        for name, claim in ways(coordinator).items():
            start = perf_counter_ns()
            claimed = claim()
            took[name].append((perf_counter_ns() - start) / 1000)
            if claimed is None or claimed.turn_id != TURN:
                msg = "another turn was given out: the measurement is void"
                raise RuntimeError(msg)
            coordinator.release(claimed)
    return {name: statistics.median(times) for name, times in took.items()}


def main() -> None:
    """Read the arguments, measure, print."""
    parser = report.arguments(__doc__ or "")
    parser.add_argument("--postgresql", action="store_true")
    parser.add_argument("--settled", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    console = Console(stderr=True)
    with ExitStack() as stack:
        if given.postgresql:
            urls = cycle_postgresql.private_server(stack)
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir="."))
            urls = (f"{folder}/few.db", f"{folder}/many.db")
        sides = {}
        for url, settled in zip(urls, (FEW, given.settled), strict=True):
            ledger = stack.enter_context(turnledger.open(url))
            fill(ledger, settled, console)
            sides[f"{settled:,} settled"] = partial(claims, ledger)
        found = report.interleaved(sides, given.rounds, "claims", console)
    show = report.compared("a claim", found, "µs", MOST_TIMES)
    report.show("Claims in a work item with a past", show, given)


if __name__ == "__main__":
    main()
