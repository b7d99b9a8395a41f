"""Group commit on SQLite: what comes at the same time shares a transaction, and nobody is harmed.

The crowd's order is known: each thread waits for the writer before the next one comes.
"""

import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier, Event, get_ident
from typing import Any

import pytest

import turnledger
from turnledger import Ledger, QueueFull, Settings, StoreFull, StoreUnavailable
from turnledger.infrastructure import grouping
from turnledger.infrastructure.fair_lock import FairLock

Program = Callable[..., "subprocess.Popen[str]"]
Command = Callable[[], Any]

THREADS = 8
START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
LARGE = {"text": "x" * 900_000}


class Clock:
    """A clock that is a second on at each reading, knows who read it, and can be made to stop."""

    def __init__(self) -> None:
        self.readers: list[int] = []
        self.at_reading: dict[int, Command] = {}  # what happens then; the first is 1

    def __call__(self) -> datetime:
        self.readers.append(get_ident())
        happens = self.at_reading.get(len(self.readers))
        if happens is not None:
            happens()
        return START + timedelta(seconds=len(self.readers))

    def reset(self) -> None:
        self.readers.clear()


class Crowd:
    """Threads that give commands to a ledger at the same time."""

    def __init__(self, ledger: Ledger, pool: ThreadPoolExecutor) -> None:
        self.ledger = ledger
        self._pool = pool
        writer = ledger._backend.store.writer
        assert writer is not None
        self.writer = writer
        self.commands: list[Future[Any]] = []

    def come(self, *commands: Command) -> None:
        """Let threads give commands, each once the one before it waits."""
        for command in commands:
            expected = len(self.writer._waiting) + 1
            self.commands.append(self._pool.submit(command))
            while len(self.writer._waiting) != expected:
                pass

    def together(self, *commands: Command) -> list[Future[Any]]:
        """Let threads give commands while the writer is held, and wait for their ends."""
        self.commands = []
        with self.ledger.transaction():
            self.come(*commands)
        wait(self.commands)
        return self.commands

    def in_each_thread(self, work: Command) -> None:
        """Do something in each of the pool's threads."""
        met = Barrier(THREADS)

        def do() -> None:
            work()
            met.wait(30)

        for each in [self._pool.submit(do) for _ in range(THREADS)]:
            each.result()

    def appends(self, number: int = THREADS, thread: str = "thread {}") -> list[Command]:
        """Commands that append to a thread each."""
        queue = self.ledger.queue
        return [
            lambda place=place: queue.append(thread.format(place), {"n": place})
            for place in range(number)
        ]

    def commits(self) -> int:
        """How many transactions this process has committed in the ledger's file."""
        commits: int = self.ledger._backend.store.log._commits  # type: ignore[attr-defined]
        return commits

    def numbers(self, thread: str = "thread") -> list[int]:
        return [(turn.submission or {})["n"] for turn in self.ledger.queue.list(thread)]


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, a crowd is carried out in one go."""
    monkeypatch.setattr(grouping, "LONGEST_SECONDS", 600.0)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(THREADS) as started:
        yield started


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_ledger(made: Path, clock: Clock) -> Iterator[Callable[..., Ledger]]:
    opened: list[Ledger] = []

    def opening(**fields: Any) -> Ledger:
        settings = Settings(**{"synchronous": "NORMAL", **fields})
        opened.append(turnledger.open(made, clock=clock, settings=settings))
        clock.reset()
        return opened[-1]

    yield opening
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(open_ledger: Callable[..., Ledger]) -> Ledger:
    return open_ledger()


@pytest.fixture
def crowd(ledger: Ledger, pool: ThreadPoolExecutor) -> Crowd:
    return Crowd(ledger, pool)


def set_largest(ledger: Ledger, pages: int) -> None:
    """Let the disk be full, for this thread's connection, at so many pages."""
    with ledger._backend.store.reading() as cursor:
        cursor.execute(f"PRAGMA max_page_count={pages}").fetchall()


def pages_of(ledger: Ledger) -> int:
    with ledger._backend.store.reading() as cursor:
        return int(cursor.execute("PRAGMA page_count").fetchone()[0])


# --- sharing


def test_commands_that_come_together_share_a_transaction(crowd: Crowd) -> None:
    before = crowd.commits()
    ends = crowd.together(*crowd.appends())

    assert [end.result().submission for end in ends] == [{"n": n} for n in range(THREADS)]
    assert crowd.commits() - before == 2  # that of the block for which they waited, and theirs
    assert crowd.ledger.verify().findings == ()


def test_they_are_carried_out_in_the_order_of_asking(crowd: Crowd) -> None:
    ends = crowd.together(*crowd.appends(thread="thread"))

    assert [end.result().queue_order for end in ends] == list(range(THREADS))
    assert crowd.numbers() == list(range(THREADS))


def test_one_thread_carries_them_all_out_and_each_reads_the_clock_for_itself(
    crowd: Crowd, clock: Clock
) -> None:
    ends = crowd.together(*crowd.appends())

    readers = clock.readers[1:]  # the first is that of the block for which they waited
    assert len(readers) == THREADS
    assert len(set(readers)) == 1
    assert readers[0] != get_ident()
    created = [(end.result().created_at - START).total_seconds() for end in ends]
    assert created == list(range(2, THREADS + 2))


def test_nobody_is_answered_before_the_commit(crowd: Crowd) -> None:
    answered: list[list[bool]] = []
    there: list[int] = []

    def note(statement: str) -> None:
        if statement == "COMMIT" and crowd.commands:
            answered.append([end.done() for end in crowd.commands])

    def trace() -> None:
        crowd.ledger._backend.store.held().driver.set_trace_callback(note)  # type: ignore[attr-defined]

    def answered_append(command: Command) -> Command:
        return lambda: (command(), there.append(len(crowd.ledger.log.read())))

    crowd.in_each_thread(trace)
    crowd.together(*map(answered_append, crowd.appends()))

    assert answered == [[False] * THREADS]
    assert there == [THREADS] * THREADS


def test_after_a_while_no_more_commands_are_taken_into_a_transaction(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "LONGEST_SECONDS", -1.0)
    before = crowd.commits()
    ends = crowd.together(*crowd.appends(thread="thread"))

    assert [end.result().queue_order for end in ends] == list(range(THREADS))
    assert crowd.commits() - before == 1 + THREADS


def test_a_lone_command_waits_for_nobody(crowd: Crowd, pool: ThreadPoolExecutor) -> None:
    """However long a group may be waited for: here it would be ten minutes."""
    before = crowd.commits()
    for command in crowd.appends(3):
        pool.submit(command).result(timeout=60)
        command()

    assert crowd.commits() - before == 6


def test_the_main_thread_never_does_the_errands_of_others(crowd: Crowd, clock: Clock) -> None:
    clock.at_reading[1] = lambda: crowd.come(*crowd.appends(4))
    before = crowd.commits()
    crowd.ledger.queue.append("main", {})
    wait(crowd.commands)

    assert clock.readers.count(get_ident()) == 1
    assert crowd.commits() - before == 2
    assert len(crowd.ledger.log.read()) == 5


def test_who_comes_while_another_thread_works_is_taken_along(
    crowd: Crowd, clock: Clock, pool: ThreadPoolExecutor
) -> None:
    clock.at_reading[1] = lambda: crowd.come(*crowd.appends(3))
    clock.at_reading[3] = lambda: crowd.come(*crowd.appends(2, "later {}"))
    before = crowd.commits()
    pool.submit(crowd.ledger.queue.append, "first", {}).result()
    wait(crowd.commands)

    assert crowd.commits() - before == 1
    assert len(set(clock.readers)) == 1
    streams = [event.stream_id.partition(":")[2] for event in crowd.ledger.log.read()]
    assert streams == ["first", "thread 0", "thread 1", "thread 2", "later 0", "later 1"]


def test_a_block_in_the_queue_is_neither_joined_nor_overtaken(crowd: Crowd) -> None:
    def block() -> None:
        with crowd.ledger.transaction():
            crowd.ledger.queue.append("thread", {"n": 10})
            crowd.ledger.queue.append("thread", {"n": 11})

    first, second, third, fourth = crowd.appends(4, "thread")
    before = crowd.commits()
    for end in crowd.together(first, second, block, third, fourth):
        end.result()

    assert crowd.numbers() == [0, 1, 10, 11, 2, 3]
    assert crowd.commits() - before == 4


def test_the_callers_name_applies_to_its_own_command_only(crowd: Crowd) -> None:
    def named(place: int, command: Command) -> Command:
        def give() -> Any:
            with crowd.ledger.acting_as(actor=f"actor {place}"):
                return command()

        return give if place % 2 else command

    crowd.together(*(named(place, command) for place, command in enumerate(crowd.appends())))

    actors = [event.metadata.get("actor") for event in crowd.ledger.log.read()]
    assert actors == [f"actor {n}" if n % 2 else None for n in range(THREADS)]


def test_the_same_key_given_by_all_at_once_is_carried_out_once(crowd: Crowd) -> None:
    def give() -> Any:
        return crowd.ledger.queue.append("thread", {"n": 1}, idempotency_key="key")

    turns = [end.result() for end in crowd.together(*[give] * THREADS)]

    assert [turn.duplicate for turn in turns] == [False] + [True] * (THREADS - 1)
    assert len({turn.queued_turn_id for turn in turns}) == 1
    assert len(crowd.ledger.log.read()) == 1


def test_of_those_who_claim_the_same_head_at_once_one_wins(crowd: Crowd) -> None:
    crowd.ledger.queue.append("thread", {"n": 1})
    claims = [
        lambda owner=owner: crowd.ledger.queue.claim_head("thread", owner) for owner in "abcdefgh"
    ]
    won = [end.result() for end in crowd.together(*claims)]

    assert [claim and (claim.owner, claim.epoch) for claim in won] == [("a", 1)] + [None] * 7


# --- refusals


@pytest.mark.parametrize("place", [0, 3, THREADS - 1])
def test_a_refused_command_does_no_harm_to_its_neighbours(
    open_ledger: Callable[..., Ledger], pool: ThreadPoolExecutor, place: int
) -> None:
    crowd = Crowd(open_ledger(max_visible_turns=1), pool)
    crowd.ledger.queue.append("full", {})
    commands = crowd.appends()
    commands[place] = lambda: crowd.ledger.queue.append("full", {})
    before = crowd.commits()
    ends = crowd.together(*commands)

    refused = [type(end.exception()) for end in ends]
    assert refused == [QueueFull if n == place else type(None) for n in range(THREADS)]
    assert crowd.commits() - before == 2
    assert len(crowd.ledger.log.read()) == THREADS
    assert crowd.ledger.verify().findings == ()


def test_if_all_are_refused_each_is_told_its_own_reason(
    open_ledger: Callable[..., Ledger], pool: ThreadPoolExecutor
) -> None:
    crowd = Crowd(open_ledger(max_visible_turns=1), pool)
    for command in crowd.appends():
        command()
    ends = crowd.together(*crowd.appends())

    refusals = [end.exception() for end in ends]
    assert [type(error) for error in refusals] == [QueueFull] * THREADS
    assert [error.thread_id for error in refusals] == [f"thread {n}" for n in range(THREADS)]  # type: ignore[union-attr]
    assert len(crowd.ledger.log.read()) == THREADS


@pytest.mark.parametrize("reading", [2, 5, THREADS + 1])
def test_a_clock_that_fails_once_fails_one_command(
    crowd: Crowd, clock: Clock, reading: int
) -> None:
    def fail() -> None:
        raise LookupError(reading)

    clock.at_reading[reading] = fail
    ends = crowd.together(*crowd.appends())

    failed = [type(end.exception()) for end in ends]
    assert failed == [LookupError if n == reading - 2 else type(None) for n in range(THREADS)]
    assert len(crowd.ledger.log.read()) == THREADS - 1
    assert crowd.ledger.verify().findings == ()


def test_evidence_of_a_lost_claim_is_kept_when_its_ack_was_one_of_many(crowd: Crowd) -> None:
    queue = crowd.ledger.queue
    turn = queue.append("lost", {})
    claim = queue.claim_head("lost", "worker")
    assert claim is not None
    queue.start_dispatch(claim, "dispatch")
    queue.recover("lost", owner="worker")
    commands = crowd.appends()
    commands[2] = commands[5] = lambda: queue.ack(claim)
    ends = crowd.together(*commands)

    lost = [type(ends[place].exception()) for place in (2, 5)]
    assert lost == [turnledger.ClaimLost] * 2
    known = queue.get("lost", turn.queued_turn_id)
    assert known is not None
    assert [one.kind for one in known.evidence] == ["ack"]
    assert sum(end.exception() is None for end in ends) == THREADS - 2
    assert crowd.ledger.verify().findings == ()


# --- the whole transaction is lost


@pytest.mark.parametrize("place", [0, 3, THREADS - 1])
@pytest.mark.parametrize("slack", [0, 100])
def test_if_the_disk_is_full_for_one_command_the_others_are_carried_out(
    crowd: Crowd, place: int, slack: int
) -> None:
    """Those that need no new page, at least: with some room left, that is all of them."""
    for command in crowd.appends():
        command()
    largest = pages_of(crowd.ledger) + slack
    crowd.in_each_thread(lambda: set_largest(crowd.ledger, largest))
    commands = crowd.appends()
    commands[place] = lambda: crowd.ledger.queue.append(f"thread {place}", LARGE)
    ends = crowd.together(*commands)

    errors = [end.exception() for end in ends]
    assert type(errors[place]) is StoreFull
    assert {type(error) for error in errors} <= {StoreFull, type(None)}
    assert not slack or errors.count(None) == THREADS - 1
    for number, error in enumerate(errors):
        found = len(crowd.ledger.queue.list(f"thread {number}"))
        assert found == (2 if error is None else 1)
    assert crowd.ledger.verify().findings == ()

    crowd.in_each_thread(lambda: set_largest(crowd.ledger, largest * 100))
    assert all(end.exception() is None for end in crowd.together(*commands))
    assert crowd.ledger.verify().findings == ()


def test_if_their_commit_is_refused_each_is_carried_out_alone_and_once(crowd: Crowd) -> None:
    """SQLite asks before it prepares a statement: a way to refuse one commit, and no other."""
    refused: list[str] = []

    def ask(action: int, what: str | None, *_rest: object) -> int:
        if action == sqlite3.SQLITE_TRANSACTION and what == "COMMIT" and not refused:
            refused.append(what)
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    def watch() -> None:
        crowd.ledger._backend.store.held().driver.set_authorizer(ask)  # type: ignore[attr-defined]

    crowd.in_each_thread(watch)
    before = crowd.commits()
    ends = crowd.together(*crowd.appends())

    assert [end.exception() for end in ends] == [None] * THREADS
    assert refused == ["COMMIT"]
    assert crowd.commits() - before == 1 + THREADS
    assert len(crowd.ledger.log.read()) == THREADS
    assert crowd.ledger.verify().findings == ()


# --- waiting too long


def test_who_waits_longer_than_the_busy_timeout_is_told_so_and_nothing_was_done(
    open_ledger: Callable[..., Ledger], pool: ThreadPoolExecutor
) -> None:
    crowd = Crowd(open_ledger(busy_timeout=0.02), pool)
    with crowd.ledger.transaction():
        ends = [pool.submit(command) for command in crowd.appends()]
        assert [type(end.exception()) for end in ends] == [StoreUnavailable] * THREADS
        assert not crowd.writer._waiting

    assert crowd.ledger.log.read() == []
    for command in crowd.appends():
        pool.submit(command).result()
    assert crowd.ledger.verify().findings == ()


def test_no_command_waits_longer_than_the_busy_timeout_in_all(
    open_ledger: Callable[..., Ledger], pool: ThreadPoolExecutor
) -> None:
    waits: list[float] = []

    class Noting(FairLock):
        def acquire(self, timeout: float, errand: Any = None) -> bool:
            got = super().acquire(timeout, errand)
            if not got:
                waits.append(timeout)
            return got

    ledger = open_ledger(busy_timeout=0.02)
    store: Any = ledger._backend.store
    store.writer = store._lock = Noting()
    with ledger.transaction():
        refused = pool.submit(ledger.queue.append, "thread", {})
        assert type(refused.exception()) is StoreUnavailable

    assert sum(waits) == pytest.approx(0.02)


def test_a_command_that_another_thread_has_begun_is_not_refused_though_its_time_is_out(
    open_ledger: Callable[..., Ledger], pool: ThreadPoolExecutor, clock: Clock
) -> None:
    crowd = Crowd(open_ledger(busy_timeout=0.2), pool)
    clock.at_reading[1] = lambda: crowd.come(*crowd.appends(1))
    clock.at_reading[2] = lambda: wait(crowd.commands, timeout=0.5)
    pool.submit(crowd.ledger.queue.append, "first", {}).result()

    assert crowd.commands[0].result().queue_order == 0
    assert len(crowd.ledger.log.read()) == 2


# --- signals


@pytest.fixture
def on_signal() -> Iterator[Callable[[Callable[[], None]], None]]:
    """Says what SIGUSR1 is to do in the main thread."""
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda handler: signal.signal(signal.SIGUSR1, lambda *_: handler()) and None
    signal.signal(signal.SIGUSR1, before)


def press() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)


def press_until(done: Event) -> None:
    """Press as often as it takes: just before a lock is waited for, it doesn't end the wait."""
    while not done.wait(0.01):
        press()


def until_one_waits(crowd: Crowd) -> None:
    """Look until a thread waits for the lock."""
    while len(crowd.writer._waiting) != 1:
        pass


def said_by(command: Command) -> str:
    try:
        command()
    except turnledger.LedgerError as error:
        return error.code
    return "done"


def test_a_handler_that_gives_a_command_while_its_thread_waits_is_refused(
    crowd: Crowd, pool: ThreadPoolExecutor, on_signal: Callable[[Callable[[], None]], None]
) -> None:
    said: list[str] = []
    held, asked, told = Event(), Event(), Event()

    def give() -> None:
        if not asked.is_set():
            asked.set()
            said.append(said_by(lambda: crowd.ledger.queue.pause("thread", "stop")))
            told.set()

    def hold() -> None:
        with crowd.ledger.transaction():
            held.set()
            until_one_waits(crowd)
            press_until(told)

    on_signal(give)
    holding = pool.submit(hold)
    assert held.wait(30)
    crowd.ledger.queue.append("thread", {"n": 1})
    holding.result()

    assert said == ["store_unavailable"]
    assert crowd.numbers() == [1]
    assert crowd.ledger.queue.why_blocked("thread") is None
    crowd.ledger.queue.append("thread", {"n": 2})
    assert crowd.ledger.verify().findings == ()


@pytest.mark.parametrize("kind", ["a command", "a block"])
def test_a_handler_that_gives_one_while_another_thread_does_its_threads_errand_is_told_the_truth(
    crowd: Crowd,
    clock: Clock,
    pool: ThreadPoolExecutor,
    on_signal: Callable[[Callable[[], None]], None],
    kind: str,
) -> None:
    said: list[str] = []
    begun, reached = Event(), Event()

    def give() -> None:
        if begun.is_set():
            return
        begun.set()
        if kind == "a command":
            said.append(said_by(lambda: crowd.ledger.queue.pause("thread", "stop")))
        else:
            said.append(said_by(block))

    def block() -> None:
        with crowd.ledger.transaction():
            crowd.ledger.queue.pause("thread", "stop")

    def hold() -> None:
        reached.set()
        until_one_waits(crowd)

    def interrupt() -> None:
        press_until(begun)

    clock.at_reading[1] = hold
    clock.at_reading[2] = interrupt  # the errand of the main thread is under way
    on_signal(give)
    leading = pool.submit(crowd.ledger.queue.append, "other", {})
    assert reached.wait(30)
    crowd.ledger.queue.append("thread", {"n": 1})
    leading.result()

    assert crowd.numbers() == [1]
    assert len(said) == 1
    paused = crowd.ledger.queue.why_blocked("thread") == "paused"
    assert paused is (said == ["done"])
    assert crowd.ledger.queue.append("thread", {"n": 2}).queue_order == 1
    assert crowd.ledger.verify().findings == ()


@pytest.mark.parametrize("when", ["while it waits", "while its errand is done"])
def test_an_interrupted_wait_leaves_a_whole_command_or_none_and_the_way_free(
    crowd: Crowd,
    clock: Clock,
    pool: ThreadPoolExecutor,
    on_signal: Callable[[Callable[[], None]], None],
    when: str,
) -> None:
    reached, stopped, gone = Event(), Event(), Event()

    def stop() -> None:
        if not stopped.is_set():
            stopped.set()
            raise KeyboardInterrupt

    def hold() -> None:
        reached.set()
        until_one_waits(crowd)
        if when == "while it waits":
            interrupt()

    def interrupt() -> None:
        press_until(gone)

    clock.at_reading[1] = hold
    if when == "while its errand is done":
        clock.at_reading[2] = interrupt
    on_signal(stop)
    leading = pool.submit(crowd.ledger.queue.append, "other", {})
    assert reached.wait(30)
    with pytest.raises(KeyboardInterrupt):
        crowd.ledger.queue.append("thread", {"n": 1})
    gone.set()
    leading.result()

    expected = [] if when == "while it waits" else [1]
    assert crowd.numbers() == expected
    crowd.ledger.queue.append("thread", {"n": 2})
    assert all(end.exception() is None for end in crowd.together(*crowd.appends()))
    assert crowd.ledger.verify().findings == ()


# --- fork

FORK_WHILE_THREADS_WAIT = """
import os, sys, threading, warnings
import turnledger
warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads: it is the point
with turnledger.open(sys.argv[1]) as ledger:
    writer = ledger._backend.store.writer
    with ledger.transaction():
        threads = [
            threading.Thread(target=ledger.queue.append, args=(f"thread {n}", {})) for n in range(4)
        ]
        for thread in threads:
            thread.start()
        while len(writer._waiting) != 4:
            pass
        child = os.fork()
    if child == 0:
        os._exit(7)  # its block is over, of which nothing was in it
    for thread in threads:
        thread.join()
    os.waitpid(child, 0)
    ledger.queue.append("after", {})
"""
FORK_AND_WRITE = """
import os, sys, threading, traceback, warnings
import turnledger
warnings.simplefilter("ignore", DeprecationWarning)
with turnledger.open(sys.argv[1]) as ledger:
    writer = ledger._backend.store.writer
    free = threading.Event()

    def hold():
        with ledger.transaction():
            held.set()
            free.wait()

    held = threading.Event()
    threads = [threading.Thread(target=hold)]
    threads[0].start()
    held.wait()
    for n in range(4):
        threads.append(threading.Thread(target=ledger.queue.append, args=(f"thread {n}", {})))
        threads[-1].start()
    while len(writer._waiting) != 4:
        pass
    child = os.fork()
    if child == 0:
        try:
            ledger.queue.append("child", {})
        except turnledger.StoreError as refusal:  # SQLite can't tell the lock from its own
            os._exit(0 if "forked" in str(refusal) else 2)
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    free.set()
    for thread in threads:
        thread.join()
    assert os.waitpid(child, 0)[1] == 0
    ledger.queue.append("after", {})
"""


@pytest.mark.parametrize(("code", "count"), [(FORK_WHILE_THREADS_WAIT, 5), (FORK_AND_WRITE, 5)])
def test_a_child_that_is_forked_while_threads_wait_waits_for_none_of_them(
    made: Path, program: Program, code: str, count: int
) -> None:
    parent = program(code, made)
    parent.communicate()

    assert parent.returncode == 0
    with turnledger.open(made) as ledger:
        assert len(ledger.log.read()) == count
        assert ledger.verify().findings == ()


# --- all at once


def test_a_crowd_that_does_everything_at_once_leaves_the_ledger_whole(
    ledger: Ledger, pool: ThreadPoolExecutor
) -> None:
    acked: list[str] = []

    def work(number: int) -> None:
        for place in range(30):
            thread = f"thread {place % 3}"
            ledger.queue.append(thread, {"n": place}, idempotency_key=f"{number} {place}")
            claim = ledger.queue.claim_head(thread, f"worker {number}")
            if claim is not None:
                ledger.queue.start_dispatch(claim, f"dispatch {claim.epoch}")
                ledger.queue.ack(claim)
                acked.append(str(claim.queued_turn_id))

    for each in [pool.submit(work, number) for number in range(THREADS)]:
        each.result()

    waiting = [turn.queued_turn_id for n in range(3) for turn in ledger.queue.list(f"thread {n}")]
    assert len(acked) == len(set(acked))
    assert len(acked) + len(waiting) == len({*acked, *waiting}) == THREADS * 30
    assert ledger.verify().findings == ()
