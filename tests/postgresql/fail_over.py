"""Threads that append without a pause, whatever becomes of the server, and a follower beside them.

Each worker has a thread of the ledger of its own, in which it counts. So what is lost, or there
twice, or out of order, shows in what the thread holds in the end.
"""

import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from itertools import takewhile
from time import perf_counter
from typing import NamedTuple

import turnledger
from tests.postgresql.standby import StandbyPair
from turnledger import Ledger, Settings, StoreUnavailable
from turnledger.log import RecordedEvent

SETTINGS = Settings(max_visible_turns=1_000_000, busy_timeout=timedelta(seconds=60))
SECONDS = 120  # so long may the workers take to come to their end
END = "the end"
_BETWEEN = 10  # each worker gets so many answers between two deaths


class Acknowledged(NamedTuple):
    """An append that was answered.

    Attributes:
        raised: So often it said that the server isn't there, before it was given again.
        seconds: How long the caller waited for the answer.
    """

    thread_id: str
    number: int
    queued_turn_id: str
    raised: int
    seconds: float


class Outcome(NamedTuple):
    """What came of it.

    Attributes:
        acknowledged: All appends; each was answered in the end.
        lost: Of them, those that aren't there.
        stored: For each thread, what is there, in order.
        followed: The positions that the follower saw, in its order.
        findings: What `verify` finds.
    """

    acknowledged: list[Acknowledged]
    lost: list[Acknowledged]
    stored: dict[str, list[int]]
    followed: list[int]
    findings: tuple[object, ...]

    @property
    def in_order_once(self) -> bool:
        """Whether each thread holds all that was appended to it, once, in order."""
        per_thread: dict[str, int] = {}
        for each in self.acknowledged:
            per_thread[each.thread_id] = per_thread.get(each.thread_id, 0) + 1
        expected = {thread_id: list(range(number)) for thread_id, number in per_thread.items()}
        return self.stored == expected

    @property
    def followed_once(self) -> bool:
        """Whether the follower saw each event once, in order."""
        return self.followed == list(range(1, len(self.acknowledged) + 1))


class Load:
    """The workers. Every other append has an idempotency key; only such a one is given again."""

    def __init__(self, ledger: Ledger, pool: ThreadPoolExecutor, workers: int) -> None:
        self._ledger = ledger
        self._stopping = threading.Event()
        self._answers = [threading.Semaphore(0) for _ in range(workers)]
        self.follower = pool.submit(self._follow)
        self._running: list[Future[list[Acknowledged]]] = [
            pool.submit(self._work, f"thread {number}", answers)
            for number, answers in enumerate(self._answers)
        ]

    def wait(self) -> None:
        """Return when each worker has had answers since the last time."""
        for running, answers in zip(self._running, self._answers, strict=True):
            for _ in range(_BETWEEN):
                while not answers.acquire(timeout=0.1):
                    assert not running.done(), running.result()
            while answers.acquire(blocking=False):
                pass

    def stop(self) -> list[Acknowledged]:
        """Let them come to their end; returns what was answered."""
        self._stopping.set()
        return [each for running in self._running for each in running.result(SECONDS)]

    def _work(self, thread_id: str, answers: threading.Semaphore) -> list[Acknowledged]:
        done: list[Acknowledged] = []
        while not self._stopping.is_set():
            done.append(self._append(thread_id, len(done)))
            answers.release()
        return done

    def _append(self, thread_id: str, number: int) -> Acknowledged:
        key = f"key {number}" if number % 2 else None
        start, raised = perf_counter(), 0
        while True:
            try:
                turn = self._ledger.queue.append(thread_id, {"number": number}, idempotency_key=key)
            except StoreUnavailable:
                if key is None:
                    raise
                raised += 1
            else:
                took = perf_counter() - start
                return Acknowledged(thread_id, number, turn.queued_turn_id, raised, took)

    def _follow(self) -> list[int]:
        log = self._ledger.log.follow()
        return [each.position for each in takewhile(lambda one: END not in one.stream_id, log)]


@contextmanager
def load(pair: StandbyPair, workers: int) -> Generator[tuple[Load, Callable[[], Outcome]]]:
    """Workers on the pair's ledger, and what ends them and says what came of it."""
    with (
        turnledger.open(pair.database().url, settings=SETTINGS) as ledger,
        ThreadPoolExecutor(workers + 1) as pool,
    ):
        working = Load(ledger, pool, workers)

        def end() -> Outcome:
            acknowledged = working.stop()
            ledger.queue.append(END, {})
            return _outcome(ledger, acknowledged, working.follower.result(SECONDS))

        try:
            yield working, end
        finally:
            working._stopping.set()
            ledger.queue.append(END, {})  # the follower waits for it


def _outcome(ledger: Ledger, acknowledged: list[Acknowledged], followed: list[int]) -> Outcome:
    stored: dict[str, list[int]] = {}
    there = set()
    for event in _events(ledger):
        thread_id = event.stream_id.partition(":")[2]
        if thread_id != END:
            stored.setdefault(thread_id, []).append(event.data["submission"]["number"])
            there.add((thread_id, event.data["queued_turn_id"]))
    lost = [one for one in acknowledged if (one.thread_id, one.queued_turn_id) not in there]
    return Outcome(acknowledged, lost, stored, followed, ledger.verify().findings)


def _events(ledger: Ledger) -> Iterator[RecordedEvent]:
    position = 0
    while page := ledger.log.read(position):
        yield from page
        position = page[-1].position
