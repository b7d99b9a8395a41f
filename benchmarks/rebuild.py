"""How quickly the read models come out of the events again, on one core, and in how much memory.

`ledger.rebuild` makes them beside the live ones, and compares; here nothing differs, so nothing is
written. Read models come from the stored JSON; head rows hold states, so for these every event is
folded, and every rule checked, as `verify` and `copy` do. Beside both stands that replay, part by
part. Each is measured in a fresh process. The ledger's history is of cycles: append, claim,
start_dispatch, ack.

    python benchmarks/rebuild.py                      100,000 events
    python benchmarks/rebuild.py --profile            where the replay's time goes
    python benchmarks/rebuild.py --ledgers DIR        where the ledger is kept
"""

import argparse
import cProfile
import pstats
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from time import perf_counter

import ledgers
import report
from rich.console import Console

import turnledger
from turnledger.domain.settings import Settings
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.chain import Chain
from turnledger.infrastructure.mapper import LedgerMapper
from turnledger.infrastructure.opening import open_store
from turnledger.infrastructure.replay import Replay
from turnledger.infrastructure.schema import TABLES
from turnledger.infrastructure.statement import Row
from turnledger.infrastructure.store import Store

THREADS = 25
LEAST = 60_000  # events per second; the aim is 100,000
PAGE = 2_000
MEBIBYTE = 1024 * 1024

_PAGE_OF_EVENTS = "SELECT * FROM events WHERE position > ? ORDER BY position LIMIT ?"

Work = Callable[[Store], int]


def rows(store: Store) -> Iterator[Row]:
    """Every row of the events."""
    position = 0
    while True:
        with store.reading() as cursor:
            page = cursor.execute(_PAGE_OF_EVENTS, (position, PAGE)).fetchall()
        if not page:
            return
        position = page[-1][0]
        yield from page


def read(store: Store) -> int:
    """Read the rows, and no more."""
    return sum(1 for _ in rows(store))


def decode(store: Store) -> int:
    """Read the rows as events, as pydantic's objects."""
    mapper = LedgerMapper(REGISTRY)
    return sum(1 for row in rows(store) if mapper.to_replay(row))


def replay(store: Store) -> int:
    """Make the read models and head rows, in memory."""
    return replayed(rows(store))


def replay_and_hashes(store: Store) -> int:
    """The same, and every hash looked at: what `verify` and `copy` do of each event."""
    chain = Chain()
    return replayed(row for row in rows(store) if chain.follow(row)[0])


def replayed(events: Iterable[Row]) -> int:
    """Replay events; how many they are."""
    mapper, whole, position = LedgerMapper(REGISTRY), Replay(), 0
    with closing(whole):
        for row in events:
            position = row[0]
            whole.add(position, mapper.to_replay(row), row[-1])
        if whole.broken or whole.unread:
            sys.exit("the history is broken: the measurement is void")
    return position


def verify(store: Store) -> int:
    """All of `verify`, which also compares each row with the replayed one."""
    with turnledger.open(store.url) as ledger:
        return ledger.verify().events


def rebuild_read_models(store: Store) -> int:
    """All of `rebuild` but for the head rows."""
    with turnledger.open(store.url) as ledger:
        return ledger.rebuild(*(table.name for table in TABLES)).events


def rebuild_head_rows(store: Store) -> int:
    """All of `rebuild` of the head rows."""
    with turnledger.open(store.url) as ledger:
        return ledger.rebuild("streams").events


WORKS: dict[str, Work] = {
    "read the rows": read,
    "and decode them": decode,
    "and replay them": replay,
    "and follow the hashes": replay_and_hashes,
    "verify": verify,
    "rebuild of the read models": rebuild_read_models,
    "rebuild of the head rows": rebuild_head_rows,
}
JUDGED = "rebuild of the read models"


def measured(path: Path, name: str) -> None:
    """In a fresh process: print the events per second, and the growth of the memory."""
    with closing(open_store(path, Settings(), read_only=True)) as store:
        next(rows(store))
        before, start = peak(), perf_counter()
        events = WORKS[name](store)
        print(events / (perf_counter() - start), (peak() - before) / MEBIBYTE)


def peak() -> int:
    """The largest memory that this process has had, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def profile(path: Path) -> None:
    """Print where the replay's time goes."""
    with closing(open_store(path, Settings(), read_only=True)) as store:
        profiler = cProfile.Profile()
        profiler.runcall(replay, store)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def side(path: Path, name: str) -> report.Sample:
    """One work in a process of its own."""
    command = [sys.executable, __file__, "--only", name, "--path", str(path)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    rate, growth = map(float, answer.stdout.split())
    return {"rate": rate, "growth": growth}


def figures(path: Path, rounds: int, console: Console) -> Iterator[report.Figure]:
    """All works in turn."""
    sides = {name: (lambda name=name: side(path, name)) for name in WORKS}
    found = report.interleaved(sides, rounds, "rebuild", console)
    for name, samples in found.items():
        rate = statistics.median(sample["rate"] for sample in samples)
        least = LEAST if name == JUDGED else None
        yield report.Figure("speed", name, rate, "events/s", least=least)
    for name, samples in found.items():
        growth = statistics.median(sample["growth"] for sample in samples)
        yield report.Figure("growth of the memory", name, growth, "MiB")


def main() -> None:
    """Read the arguments, measure, print."""
    parser = report.arguments(__doc__ or "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--ledgers", type=Path, metavar="DIR", help="keep the ledger here")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--only", choices=list(WORKS), help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        measured(given.path, given.only)
        return
    console = Console(stderr=True)
    with ledgers.folder(given.ledgers) as folder:
        path = ledgers.of_cycles(folder, given.events, THREADS, console)
        if given.profile:
            profile(path)
            return
        found = list(figures(path, given.rounds, console))
    report.show("Read models out of the events", found, given)


if __name__ == "__main__":
    main()
