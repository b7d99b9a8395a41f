"""F14: many processes on one ledger. No call fails, and each turn is won once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import turnledger

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Store
    from tests.conformance.processes.conftest import Worker
    from turnledger import Ledger

    Together = Callable[[list[Worker]], None]


def wins(workers: list[Worker]) -> dict[str, list[tuple[int, Any]]]:
    """What was won of each thread, by epoch."""
    won: dict[str, list[tuple[int, Any]]] = {}
    for worker in workers:
        [(word, claims)] = worker.finish()
        assert word == "won"
        for thread, epoch, submission in claims:
            won.setdefault(thread, []).append((epoch, submission["number"]))
    return {thread: sorted(pairs) for thread, pairs in won.items()}


class Crowd(NamedTuple):
    """How many workers, on how many threads of how many turns, claiming how many at once."""

    workers: int
    threads: int
    turns: int
    limit: int


@pytest.mark.parametrize(
    "size", [Crowd(2, 20, 10, 1), Crowd(8, 60, 20, 50)], ids=["two processes", "eight processes"]
)
def test_f14_processes_that_claim_at_the_same_time_win_each_turn_once_in_order(
    ledger: Ledger, begin: Callable[..., Worker], together: Together, size: Crowd
) -> None:
    queue = ledger.queue
    names = [f"thread {number:03}" for number in range(size.threads)]
    for name in names:
        queue.append_many(name, [{"number": number} for number in range(size.turns)])
    crowd = [begin("work", f"worker {one}", str(size.limit)) for one in range(size.workers)]
    together(crowd)
    every = [(number + 1, number) for number in range(size.turns)]
    assert wins(crowd) == dict.fromkeys(names, every)
    assert [queue.list(name) for name in names] == [[]] * size.threads
    assert queue.recover() == []


def test_f14_processes_that_open_the_same_new_file_at_the_same_moment_all_succeed(
    new_store_url: str,
    clock: Clock,
    begin: Callable[..., Worker],
    together: Together,
    store: Store,
) -> None:
    crowd = [begin("open", f"text {number}") for number in range(8)]
    together(crowd)
    answers = [worker.finish() for worker in crowd]
    with turnledger.open(new_store_url, clock=clock) as ledger:
        assert answers == [[("opened", [ledger.ledger_id, ledger.generation])]] * 8
        texts = sorted(str(turn.submission) for turn in ledger.queue.list("thread"))
    assert texts == [str({"text": f"text {number}"}) for number in range(8)]
    assert [event.version for event in store.events()] == list(range(1, 9))
