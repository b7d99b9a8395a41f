"""What a command costs in a ledger that has grown: with its history, its queues, its idle threads.

The sides work in turn on the same disk, on files that the system has in its memory; what counts are
the ratios, round by round. Large ledgers take some minutes to make, and can be kept; what the
rounds add to them is little.

    python benchmarks/scale.py                        all of it, in 15 rounds
    python benchmarks/scale.py history opening        some of it: history, queue, claims, opening
    python benchmarks/scale.py --ledgers DIR          where the ledgers are kept
    python benchmarks/scale.py --json, --svg FILE     for programs, as a chart
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from itertools import cycle as again
from itertools import islice
from pathlib import Path
from time import perf_counter_ns
from typing import TypeVar
from uuid import uuid4

import ledgers
import report
from ledgers import SUBMISSION
from rich.console import Console

import turnledger

LEVELS = ("NORMAL", "FULL")
EVENTS = (1_000, 100_000, 1_000_000)
THREADS = 10_000
WAITING = (10, 1_000, 10_000)
IDLE, READY = (100, 100_000), 10
MICROSECONDS, MILLISECONDS = "µs", "ms"
MOST_HISTORY, MOST_QUEUE, MOST_CLAIMS, MOST_OPENING = 1.1, 2.0, 1.3, 50.0
Result = TypeVar("Result")

_STRIDE = 3_571  # from one thread to the next one: far apart, and all of them come

_OPEN = """
import sys, turnledger
from time import perf_counter_ns
start = perf_counter_ns()
with turnledger.open(sys.argv[1]) as ledger:
    ledger.queue.list("thread-0")
    print((perf_counter_ns() - start) / 1e6)
"""


class Stopwatch:
    """Adds up how long calls take, by name."""

    def __init__(self) -> None:
        """Start at nothing."""
        self._took: dict[str, list[float]] = defaultdict(list)

    def time(self, name: str, call: Callable[[], Result]) -> Result:
        """Time a call."""
        start = perf_counter_ns()
        result = call()
        self._took[name].append((perf_counter_ns() - start) / 1000)
        return result

    def sample(self) -> report.Sample:
        """Of each: the median of its calls, in microseconds."""
        return {name: statistics.median(took) for name, took in self._took.items()}

    def mean(self) -> float:
        """Microseconds a call, over all of them: with the checkpoints, which a median hides."""
        return statistics.fmean(one for took in self._took.values() for one in took)


def cycles(queue: turnledger.queue.Queue, threads: Iterator[str], times: int) -> report.Sample:
    """Turns go in, are claimed, dispatched and acked, each in the next thread."""
    watch = Stopwatch()
    for thread_id in islice(threads, times):
        watch.time("append", partial(queue.append, thread_id, SUBMISSION))
        settle(queue, thread_id, watch)
    return {"a command, mean": watch.mean(), **watch.sample()}


def settle(queue: turnledger.queue.Queue, thread_id: str, watch: Stopwatch) -> None:
    """The head of a thread's queue is claimed, dispatched and acked."""
    claim = watch.time("claim_head", partial(queue.claim_head, thread_id, "worker"))
    if claim is None:
        sys.exit("nothing could be claimed: the comparison is void")
    watch.time("start_dispatch", partial(queue.start_dispatch, claim, str(uuid4())))
    watch.time("ack", partial(queue.ack, claim))


def live(queue: turnledger.queue.Queue, thread_id: str, times: int) -> report.Sample:
    """Each command in a queue that stays as long as it is."""
    watch = Stopwatch()
    middle = [turn.queued_turn_id for turn in queue.list(thread_id)]
    middle = middle[len(middle) // 2 :]
    for number in range(times):
        watch.time("append", partial(queue.append, thread_id, SUBMISSION))
        settle(queue, thread_id, watch)
        turn = queue.append(thread_id, SUBMISSION)
        chosen = middle[number] if number < len(middle) // 2 else turn.queued_turn_id
        watch.time("edit", partial(queue.edit, thread_id, chosen, SUBMISSION))
        watch.time("delete", partial(queue.delete, thread_id, chosen))
    return watch.sample()


def claims(queue: turnledger.queue.Queue, times: int) -> report.Sample:
    """`claim_next`, with as many threads that are ready at each time."""
    watch = Stopwatch()
    for _ in range(times):
        (claim,) = watch.time("claim_next", partial(queue.claim_next, "worker"))
        queue.start_dispatch(claim, str(uuid4()))
        queue.ack(claim)
        queue.append(claim.thread_id, SUBMISSION)
    return watch.sample()


class Scale:
    """The measurements, and where their ledgers are kept."""

    def __init__(self, given: argparse.Namespace, folder: Path, console: Console) -> None:
        """Take the arguments, and where ledgers are made."""
        self._rounds: int = given.rounds
        self._times: int = given.times
        self._levels: list[str] = given.levels
        self._folder = folder
        self._console = console

    def _kept(self, name: str, events: int, fill: ledgers.Fill) -> Path:
        return ledgers.kept(self._folder, name, events, fill, self._console)

    def _of_history(self, events: int, threads: int) -> Path:
        names = [f"thread-{number}" for number in range(threads)]
        name = f"{events}-events-{threads}-threads"
        return self._kept(name, events, ledgers.history(events, names))

    def _copied(self, stack: ExitStack, path: Path) -> Path:
        """A small ledger, which would grow too much over many runs: a copy of it."""
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir=self._folder))
        copy = Path(folder) / path.name
        with turnledger.open(path) as ledger:
            ledger.backup(copy)
        return copy

    def history(self) -> Iterator[report.Figure]:
        """A cycle's commands, by how many events there are."""
        paths = {f"{events:,} events": self._of_history(events, 1) for events in EVENTS}
        spread = f"{EVENTS[-1]:,} in {THREADS:,} threads"
        paths[spread] = self._of_history(EVENTS[-1], THREADS)
        threads = {
            name: again(["thread-0"])
            if name != spread
            else again(f"thread-{number * _STRIDE % THREADS}" for number in range(THREADS))
            for name in paths
        }
        large = list(paths)[-2:]
        for level in self._levels:
            with ExitStack() as stack:
                sides: dict[str, Callable[[], report.Sample]] = {}
                for name, path in paths.items():
                    own = path if name in large else self._copied(stack, path)
                    ledger = stack.enter_context(ledgers.opened(ledgers.warmed(own), level))
                    sides[name] = partial(cycles, ledger.queue, threads[name], self._times)
                series = f"history, {level}"
                found = report.interleaved(sides, self._rounds, series, self._console)
            yield from report.compared(series, found, MICROSECONDS, MOST_HISTORY, judged=large)

    def queue(self) -> Iterator[report.Figure]:
        """Each command, by how many turns wait in the thread."""
        for level in self._levels:
            with ExitStack() as stack:
                sides: dict[str, Callable[[], report.Sample]] = {}
                for turns in WAITING:
                    fill = ledgers.waiting(turns, "thread-0")
                    path = self._copied(stack, self._kept(f"{turns}-waiting", turns, fill))
                    ledger = stack.enter_context(ledgers.opened(ledgers.warmed(path), level))
                    sides[f"{turns:,} waiting"] = partial(
                        live, ledger.queue, "thread-0", self._times
                    )
                series = f"live queue, {level}"
                found = report.interleaved(sides, self._rounds, series, self._console)
            yield from report.compared(series, found, MICROSECONDS, MOST_QUEUE)

    def claims(self) -> Iterator[report.Figure]:
        """`claim_next`, by how many threads have nothing to do."""
        for level in self._levels:
            with ExitStack() as stack:
                sides: dict[str, Callable[[], report.Sample]] = {}
                for threads in IDLE:
                    kept = self._kept(f"{threads}-idle", 2 * threads, ledgers.idle(threads))
                    path = self._copied(stack, kept)
                    ledger = stack.enter_context(ledgers.opened(ledgers.warmed(path), level))
                    for number in range(READY):
                        ledger.queue.append(f"ready-{number}", SUBMISSION)
                    sides[f"{threads:,} idle"] = partial(claims, ledger.queue, self._times)
                series = f"claims, {level}"
                found = report.interleaved(sides, self._rounds, series, self._console)
            yield from report.compared(series, found, MICROSECONDS, MOST_CLAIMS)

    def opening(self) -> Iterator[report.Figure]:
        """From before `open` to the first answer, in a fresh process after its imports."""
        large = self._of_history(EVENTS[-1], 1)
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            empty = Path(folder) / "empty.db"
            turnledger.open(empty).close()
            sides = {
                "an empty ledger": partial(opening, empty),
                f"{EVENTS[-1]:,} events": partial(opening, large),
                f"{EVENTS[-1]:,} events, not in memory": partial(opening, large, cold=True),
            }
            found = report.interleaved(sides, self._rounds, "opening", self._console)
        middle = {
            name: statistics.median(sample["open"] for sample in samples)
            for name, samples in found.items()
        }
        for name, value in middle.items():
            yield report.Figure("opening", name, value, MILLISECONDS)
        more = middle[f"{EVENTS[-1]:,} events"] - middle["an empty ledger"]
        yield report.Figure("opening", "more than empty", more, MILLISECONDS, None, MOST_OPENING)


def opening(path: Path, *, cold: bool = False) -> report.Sample:
    """Open a ledger in a fresh process; cold: the system has forgotten the file's content."""
    if cold:
        handle = os.open(path, os.O_RDONLY)  # no connection to it is open in this process
        try:
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(handle)
    answer = subprocess.run(  # noqa: S603 - this very Python
        [sys.executable, "-c", _OPEN, str(path)], check=True, capture_output=True, text=True
    )
    return {"open": float(answer.stdout)}


def main() -> None:
    """Read the arguments, measure, print."""
    every = ("history", "queue", "claims", "opening")
    parser = report.arguments(__doc__ or "")
    parser.add_argument("what", nargs="*", choices=(*every, []), help="default: all of it")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--times", type=int, default=125, help="cycles in a round; 125 have one checkpoint"
    )
    parser.add_argument("--levels", nargs="+", choices=LEVELS, default=LEVELS)
    parser.add_argument("--ledgers", type=Path, metavar="DIR", help="keep the large ledgers here")
    given = parser.parse_args()
    console = Console(stderr=True)
    with ledgers.folder(given.ledgers) as folder:
        scale = Scale(given, folder, console)
        figures = [figure for what in given.what or every for figure in getattr(scale, what)()]
    report.show("The cost of a command in a ledger that has grown", figures, given)


if __name__ == "__main__":
    main()
