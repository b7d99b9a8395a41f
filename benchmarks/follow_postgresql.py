"""A follower of the log beside a plain reader, while many processes write to one server.

The writers' transactions overlap: some rows wait up to five milliseconds before their commit, and
one for seconds, while thousands are written behind it. The plain reader asks for `id > last`, as
one does where a row's number is its place in the log. It misses events, and must, or this shows
nothing; the follower must see each once, in order.

    python benchmarks/follow_postgresql.py                  16 processes, 200,000 events
    python benchmarks/follow_postgresql.py --events 20000
    python benchmarks/follow_postgresql.py --url URL        an empty database of a server
"""

import argparse
import multiprocessing
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import psycopg
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import turnledger

THREADS = 25  # of each writer
DELAYED, LONGEST_SECONDS = 0.1, 0.005  # this part of the rows, up to so long
HELD, END = "held back", "the end"
LOOK_SECONDS = 0.002  # the plain reader's pause when there is nothing new
SETTINGS = turnledger.Settings(max_visible_turns=1_000_000)

_DELAYS = """
CREATE OR REPLACE FUNCTION delay_the_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NEW.stream_id = 'thread_queue:{held}' THEN
        PERFORM pg_sleep({seconds});
    ELSIF random() < {part} THEN
        PERFORM pg_sleep(random() * {longest});
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER delayed BEFORE INSERT ON stored_events
FOR EACH ROW EXECUTE FUNCTION delay_the_commit();
"""
_BEHIND = "SELECT id, stream_id, version FROM stored_events WHERE id > %s ORDER BY id LIMIT 5000"
_ALL = "SELECT stream_id, version FROM stored_events"

Place = tuple[str, int]


@dataclass
class Seen:
    """What a reader saw.

    Attributes:
        places: Stream and version of each event.
        twice: So many were seen again.
        disorder: So many didn't come right behind the one before them in the log or their stream.
        seconds: From the start to the last one.
    """

    places: set[Place] = field(default_factory=set)
    twice: int = 0
    disorder: int = 0
    seconds: float = 0.0
    _versions: dict[str, int] = field(default_factory=dict)

    def add(self, stream_id: str, version: int, *, in_place: bool = True) -> None:
        """Count an event."""
        self.twice += (stream_id, version) in self.places
        self.places.add((stream_id, version))
        follows = version == self._versions.get(stream_id, 0) + 1
        self.disorder += not (follows and in_place)
        self._versions[stream_id] = version


def write(url: str, number: int, events: int, start: Any) -> None:
    """A writer: so many appends, to threads of its own."""
    with turnledger.open(url, settings=SETTINGS) as ledger:
        start.wait()
        for each in range(events):
            ledger.queue.append(f"{number} {each % THREADS}", {"number": each})


def hold_back(url: str, start: Any) -> None:
    """The writer of the one row that is committed much later."""
    with turnledger.open(url) as ledger:
        start.wait()
        ledger.queue.append(HELD, {})


def follow(url: str, progress: Progress, events: int) -> Seen:
    """Follow the log to its end."""
    seen, start = Seen(), perf_counter()
    task = progress.add_task("followed", total=events)
    with turnledger.open(url) as ledger:
        followed = takewhile(lambda one: not one.stream_id.endswith(END), ledger.log.follow())
        for position, event in enumerate(followed, 1):
            seen.add(event.stream_id, event.version, in_place=event.position == position)
            progress.update(task, completed=position)
            seen.seconds = perf_counter() - start
    return seen


def read_plainly(url: str, over: threading.Event) -> Seen:
    """Read what comes behind the last id, until there is nothing more after the end."""
    seen, start, last = Seen(), perf_counter(), 0
    with psycopg.connect(plain(url), autocommit=True) as connection:
        while True:
            ending = over.is_set()
            page = connection.execute(_BEHIND, (last,)).fetchall()
            for last, stream_id, version in page:  # noqa: B007 - the last one is where to go on
                seen.add(stream_id, version)
            if page:
                seen.seconds = perf_counter() - start
            elif ending:
                return seen
            else:
                sleep(LOOK_SECONDS)


def run(url: str, writers: int, events: int, held_seconds: float, console: Console) -> bool:
    """Let them all work, and print what the readers saw; whether it is as it must be."""
    turnledger.open(url).close()
    given = {"held": HELD, "part": DELAYED, "longest": LONGEST_SECONDS, "seconds": held_seconds}
    with psycopg.connect(plain(url), autocommit=True) as connection:
        connection.execute(_DELAYS.format(**given).encode())
    context, over = multiprocessing.get_context("spawn"), threading.Event()
    start = context.Barrier(writers + 2)
    share, rest = divmod(events - 1, writers)
    processes = [context.Process(target=hold_back, args=(url, start))]
    for number in range(writers):
        mine = share + (number < rest)
        processes.append(context.Process(target=write, args=(url, number, mine, start)))
    with Progress(console=console, transient=True) as progress, ThreadPoolExecutor(2) as pool:
        for process in processes:
            process.start()
        follower = pool.submit(follow, url, progress, events)
        reader = pool.submit(read_plainly, url, over)
        start.wait()
        began = perf_counter()
        for process in processes:
            process.join()
        seconds = perf_counter() - began
        over.set()
        with turnledger.open(url) as ledger:
            ledger.queue.append(END, {})
        found = {"turnledger's log.follow": follower.result(), "plain id > last": reader.result()}
    return report(found, set(stored(url)), events, seconds)


def report(found: dict[str, Seen], there: set[Place], events: int, seconds: float) -> bool:
    """Print what was seen; whether the follower saw all of it, and the plain reader didn't."""
    table = Table("reader", "seen", "missed", "twice", "out of order", "events/s")
    for name, seen in found.items():
        counts = (len(seen.places & there), len(there - seen.places), seen.twice, seen.disorder)
        rate = len(seen.places) / seen.seconds
        table.add_row(name, *(f"{count:,}" for count in counts), f"{rate:,.0f}")
    print(f"{len(there):,} events written in {seconds:.1f} s: {len(there) / seconds:,.0f}/s")
    Console().print(table)
    follower, reader = found.values()
    exact = follower.places == there and not follower.twice and not follower.disorder
    return exact and len(there) == events and not there <= reader.places


def stored(url: str) -> Iterator[Place]:
    """What there is, but for the end."""
    with psycopg.connect(plain(url)) as connection:
        for stream_id, version in connection.execute(_ALL):
            if not stream_id.endswith(END):
                yield stream_id, version


def plain(url: str) -> str:
    """The URL as libpq takes it."""
    return url.replace("+psycopg", "")


def private_server(stack: ExitStack) -> str:
    """A database on a server of our own."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.postgresql.server import server  # noqa: PLC0415 - of a checkout only

    return stack.enter_context(stack.enter_context(server()).new_database()).url


def main() -> None:
    """Read the arguments, write and read, print; the exit status says if it is as it must be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--writers", type=int, default=16, help="processes")
    parser.add_argument("--held", type=float, default=5.0, help="seconds that one row is held back")
    parser.add_argument("--url", help="of an empty database; default: a server of our own")
    given = parser.parse_args()
    console = Console(stderr=True)
    with ExitStack() as stack:
        url = given.url or private_server(stack)
        if not run(url, given.writers, given.events, given.held, console):
            sys.exit("it isn't as it must be")


if __name__ == "__main__":
    main()
