"""How quickly a reader of the log catches up with what is there, on SQLite and PostgreSQL.

python benchmarks/follow.py                   100,000 events, both stores
python benchmarks/follow.py --stores SQLite   one of them
python benchmarks/follow.py --ledgers DIR     where the ledger is kept
"""

import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter

import ledgers
import report
from rich.console import Console

import turnledger

STORES = ("SQLite", "PostgreSQL")
THREADS = 25
PAGE = 1_000


def followed(ledger: turnledger.Ledger, events: int) -> int:
    """Follow the log from its start."""
    return sum(1 for _ in islice(ledger.log.follow(), events))


def read(ledger: turnledger.Ledger, events: int, streams: list[str] | None = None) -> int:
    """Read the log page by page."""
    position = count = 0
    while page := ledger.log.read(position, limit=PAGE, streams=streams):
        position = page[-1].position
        count += len(page)
    if streams is None and count != events:
        sys.exit(f"{count:,} of {events:,} events were read: the measurement is void")
    return count


def sample(work: Callable[[], int]) -> report.Sample:
    """The events per second of a work."""
    start = perf_counter()
    return {"rate": work() / (perf_counter() - start)}


def figures(
    ledger: turnledger.Ledger, store: str, rounds: int, console: Console
) -> Iterator[report.Figure]:
    """The ways to read a ledger, in turn."""
    events = ledger.wait_for_change(0, 0)
    one = ["thread_queue:thread-0"]
    works = {
        "log.follow": partial(followed, ledger, events),
        "log.read": partial(read, ledger, events),
        "log.read of one stream": partial(read, ledger, events, one),
    }
    sides = {name: partial(sample, work) for name, work in works.items()}
    found = report.interleaved(sides, rounds, store, console)
    for name, samples in found.items():
        rate = statistics.median(each["rate"] for each in samples)
        yield report.Figure(f"{store}, {events:,} events", name, rate, "events/s")


def main() -> None:
    """Read the arguments, measure, print."""
    parser = report.arguments(__doc__ or "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--stores", nargs="+", choices=STORES, default=STORES)
    parser.add_argument("--ledgers", type=Path, metavar="DIR", help="keep the ledger here")
    given = parser.parse_args()
    console = Console(stderr=True)
    found: list[report.Figure] = []
    with ExitStack() as stack:
        folder = stack.enter_context(ledgers.folder(given.ledgers))
        path = ledgers.of_cycles(folder, given.events, THREADS, console)
        for store in given.stores:
            place = str(path)
            if store == "PostgreSQL":
                place = ledgers.server(stack)
                turnledger.copy(path, place)
            ledger = stack.enter_context(turnledger.open(place))
            found += figures(ledger, store, given.rounds, console)
    report.show("Catching up with the log", found, given)


if __name__ == "__main__":
    main()
