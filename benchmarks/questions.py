"""How long a question about one thread takes in a ledger of 1,000,000 events.

The ledger is that of scale.py, in 10,000 threads; the questions are about one of them. Each is
asked a few times, after a first time that lets the system read what it needs; the CPU time stands
beside the median, since a shared machine makes the one longer and hardly the other.

    python benchmarks/questions.py --ledgers DIR      where the ledger is kept
"""

import statistics
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from time import perf_counter, process_time

import ledgers
import report
from rich.console import Console

import turnledger

EVENTS, THREADS, THREAD = 1_000_000, 10_000, "thread-4321"
MOST = 1_000.0  # milliseconds


def state(ledger: turnledger.Ledger, at: int | datetime) -> object:
    """All that `turnledger state` shows of the thread."""
    with ledger.as_of(at, thread_id=THREAD) as past:
        return past.queue.list(THREAD), past.inbox.list(THREAD), past.timers.list(THREAD)


def questions(ledger: turnledger.Ledger) -> dict[str, Callable[[], object]]:
    """By their names."""
    events = ledger.history(thread_id=THREAD)
    early, middle, last = (events[place].position for place in (0, len(events) // 2, -1))
    turn_id = events[0].data["queued_turn_id"]
    times = [ledger.log.read(at - 1, limit=1)[0].recorded_at for at in (middle, last)]
    return {
        "history": lambda: ledger.history(thread_id=THREAD),
        "queue.list": lambda: ledger.queue.list(THREAD),
        "queue.get": lambda: ledger.queue.get(THREAD, turn_id),
        "why": lambda: ledger.why(THREAD),
        "threads.get": lambda: ledger.threads.get(THREAD),
        "state at a position": lambda: state(ledger, middle),
        "state at a time in the middle": lambda: state(ledger, times[0]),
        "state at a time near now": lambda: state(ledger, times[1]),
        "diff of two positions": lambda: (state(ledger, early), state(ledger, last)),
    }


def figures(path: Path, rounds: int) -> Iterator[report.Figure]:
    """The median and the CPU time of each."""
    with turnledger.open(path, read_only=True) as ledger:
        for name, ask in questions(ledger).items():
            ask()
            took: list[tuple[float, float]] = []
            for _ in range(rounds):
                start, used = perf_counter(), process_time()
                ask()
                took.append((1_000 * (perf_counter() - start), 1_000 * (process_time() - used)))
            wall, cpu = (statistics.median(each) for each in zip(*took, strict=True))
            yield report.Figure(name, "median", wall, "ms", most=MOST)
            yield report.Figure(name, "CPU", cpu, "ms")


def main() -> None:
    """Read the arguments, measure, print."""
    parser = report.arguments(__doc__ or "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ledgers", type=Path, metavar="DIR", help="keep the ledger here")
    given = parser.parse_args()
    with ledgers.folder(given.ledgers) as folder:
        names = [f"thread-{number}" for number in range(THREADS)]
        kept = f"{EVENTS}-events-{THREADS}-threads"
        fill = ledgers.history(EVENTS, names)
        path = ledgers.kept(folder, kept, EVENTS, fill, Console(stderr=True))
        found = list(figures(path, given.rounds))
    report.show("Questions about one thread among 10,000", found, given)


if __name__ == "__main__":
    main()
