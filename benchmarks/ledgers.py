"""Ledgers with a history, for the benchmarks: made through the public API, and kept in a folder.

A long history is mostly made of whole queues that are appended and cleared at once, since that is
four times as quick as turn by turn; a part of it is made of cycles as workers make them.
"""

import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import cycle_postgresql
from cycle import SUBMISSION
from rich.console import Console
from rich.progress import Progress

import turnledger

CYCLE = 4  # events: appended, claimed, dispatch started, acked
CYCLED = 0.2  # this part of the events is of cycles
LARGEST_BATCH = 500
LARGEST_READ = 4 * 1024 * 1024  # bytes

Told = Callable[[int], None]
Fill = Callable[[turnledger.Ledger, Told], None]


@contextmanager
def folder(kept_in: Path | None) -> Generator[Path]:
    """Where ledgers are made: a folder to keep, or one that is removed at the end."""
    if kept_in is None:
        with tempfile.TemporaryDirectory(dir=".") as name:
            yield Path(name)
    else:
        kept_in.mkdir(parents=True, exist_ok=True)
        yield kept_in


def opened(path: Path, synchronous: str = "NORMAL") -> turnledger.Ledger:
    """Open a ledger that lets as many wait as one likes."""
    settings = {"synchronous": synchronous, "max_visible_turns": 1_000_000}
    return turnledger.open(path, settings=turnledger.Settings.model_validate(settings))


def kept(folder: Path, name: str, events: int, fill: Fill, console: Console) -> Path:
    """The ledger of a name; it is made, if it isn't there yet."""
    path, growing = folder / f"{name}.db", folder / f"{name}.growing.db"
    if not path.exists():
        for left in folder.glob(f"{growing.name}*"):
            left.unlink()
        with Progress(console=console, transient=True) as progress, opened(growing) as ledger:
            task = progress.add_task(f"making {name}", total=events)
            fill(ledger, lambda so_many: progress.update(task, advance=so_many))
        growing.rename(path)
    return path


def warmed(path: Path) -> Path:
    """Let the system have a ledger's file in memory. No connection to it may be open here."""
    with path.open("rb") as file:
        while file.read(LARGEST_READ):
            pass
    return path


def cycle(queue: turnledger.queue.Queue, thread_id: str) -> None:
    """A turn goes in, is claimed, dispatched and acked."""
    queue.append(thread_id, SUBMISSION)
    claim = queue.claim_head(thread_id, "worker")
    if claim is None:
        msg = "nothing could be claimed: the ledger is of no use"
        raise RuntimeError(msg)
    queue.start_dispatch(claim, str(uuid4()))
    queue.ack(claim)


def cycles(events: int, threads: list[str]) -> Fill:
    """So many events, by cycles in the threads in turn."""

    def fill(ledger: turnledger.Ledger, told: Told) -> None:
        for number in range(events // CYCLE):
            cycle(ledger.queue, threads[number % len(threads)])
            told(CYCLE)

    return fill


def of_cycles(folder: Path, events: int, threads: int, console: Console) -> Path:
    """A ledger whose history is of cycles."""
    names = [f"thread-{number}" for number in range(threads)]
    return kept(folder, f"{events}-events-of-cycles", events, cycles(events, names), console)


def history(events: int, threads: list[str]) -> Fill:
    """So many events, evenly over the threads: queues that were appended and cleared, and cycles.

    Not thread by thread, but so that each thread's events are spread over the whole log.
    """

    def fill(ledger: turnledger.Ledger, told: Told) -> None:
        left, number = events, 0
        share = events // len(threads)
        batch = max(1, min(LARGEST_BATCH, int(share * (1 - CYCLED)) // 2 - 1))
        owed = 0.0  # cycles
        while left > 0:
            thread_id = threads[number % len(threads)]
            ledger.queue.append_many(thread_id, [SUBMISSION] * batch)
            ledger.queue.clear(thread_id)
            owed += (batch + 1) * CYCLED / (1 - CYCLED) / CYCLE
            done = batch + 1
            while owed >= 1:
                cycle(ledger.queue, thread_id)
                owed, done = owed - 1, done + CYCLE
            told(done)
            left, number = left - done, number + 1

    return fill


def idle(threads: int) -> Fill:
    """So many threads in which nothing is left to do."""

    def fill(ledger: turnledger.Ledger, told: Told) -> None:
        for number in range(threads):
            turn = ledger.queue.append(f"idle-{number}", SUBMISSION)
            ledger.queue.delete(f"idle-{number}", turn.queued_turn_id)
            told(2)

    return fill


def waiting(turns: int, thread_id: str) -> Fill:
    """So many turns wait in a thread."""

    def fill(ledger: turnledger.Ledger, told: Told) -> None:
        for start in range(0, turns, LARGEST_BATCH):
            batch = min(LARGEST_BATCH, turns - start)
            ledger.queue.append_many(thread_id, [SUBMISSION] * batch)
            told(batch)

    return fill


def server(stack: ExitStack) -> str:
    """A database on a PostgreSQL server of our own."""
    return cycle_postgresql.private_server(stack)[0]
