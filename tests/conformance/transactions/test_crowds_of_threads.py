"""Many threads on one ledger: each command has its own answer, whoever carries it out."""

from __future__ import annotations

import random
from contextlib import suppress
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.transactions.conftest import THREADS, Undo
from turnledger import IdempotencyConflict, LedgerError, QueueFull, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from tests.conformance.conftest import Store
    from turnledger import Ledger

    Work = Callable[[int], Any]


@pytest.fixture
def at_once(pool: ThreadPoolExecutor) -> Callable[[Work], list[Any]]:
    """Lets all threads do something at the same moment; an error is a result, too."""

    def doing(work: Work) -> list[Any]:
        met = Barrier(THREADS)

        def one(number: int) -> Any:
            met.wait(60)
            return work(number)

        ends = [pool.submit(one, number) for number in range(THREADS)]
        return [end.exception() or end.result() for end in ends]

    return doing


def test_each_append_has_its_own_place(
    ledger: Ledger, at_once: Callable[[Work], list[Any]], store: Store
) -> None:
    turns = at_once(lambda number: ledger.queue.append("thread", {"n": number}))
    assert sorted(turn.queue_order for turn in turns) == list(range(THREADS))
    for turn in ledger.queue.list("thread"):
        assert turn == turns[(turn.submission or {})["n"]]
    assert [event.position for event in store.events()] == list(range(1, THREADS + 1))
    assert ledger.verify().findings == ()


def test_of_those_that_are_too_many_each_is_refused_and_the_others_are_not(
    open_ledger: Callable[..., Ledger], at_once: Callable[[Work], list[Any]]
) -> None:
    ledger = open_ledger(max_visible_turns=5)
    ends = at_once(lambda number: ledger.queue.append("thread", {"n": number}))
    refused = [type(end) for end in ends if isinstance(end, BaseException)]
    assert refused == [QueueFull] * (THREADS - 5)
    there = {(turn.submission or {})["n"] for turn in ledger.queue.list("thread")}
    assert there == {n for n, end in enumerate(ends) if not isinstance(end, BaseException)}


def test_each_is_recorded_under_the_name_of_its_caller(
    ledger: Ledger, at_once: Callable[[Work], list[Any]]
) -> None:
    def work(number: int) -> None:
        with ledger.acting_as(actor=f"actor {number}", correlation_id=str(number)):
            for _ in range(5):
                ledger.queue.append(f"thread {number}", {})

    assert at_once(work) == [None] * THREADS
    for event in ledger.log.read():
        number = event.stream_id.rpartition(" ")[2]
        found = (event.metadata["actor"], event.metadata["correlation_id"])
        assert found == (f"actor {number}", number)


def test_of_two_contents_under_one_key_one_is_appended(
    ledger: Ledger, at_once: Callable[[Work], list[Any]], store: Store
) -> None:
    ends = at_once(
        lambda number: ledger.queue.append("thread", {"n": number % 2}, idempotency_key="key")
    )
    conflicts = [end for end in ends if isinstance(end, BaseException)]
    assert [type(end) for end in conflicts] == [IdempotencyConflict] * (THREADS // 2)
    turns = [end for end in ends if not isinstance(end, BaseException)]
    assert len({turn.queued_turn_id for turn in turns}) == 1
    assert [turn.duplicate for turn in turns].count(False) == 1
    assert len(store.events()) == 1


def test_each_of_many_heads_is_claimed_dispatched_and_acked_once(
    ledger: Ledger, at_once: Callable[[Work], list[Any]]
) -> None:
    with ledger.transaction():
        for number in range(40):
            ledger.queue.append(f"thread {number:02}", {"n": number})

    def work(number: int) -> list[int]:
        done = []
        while claims := ledger.queue.claim_next(f"worker {number}", limit=3):
            for claim in claims:
                ledger.queue.start_dispatch(claim, f"dispatch {claim.epoch}")
                done.append((claim.submission or {})["n"])
            assert ledger.queue.ack_many(claims) == []
        return done

    ends = at_once(work)
    assert [end for end in ends if isinstance(end, BaseException)] == []
    assert sorted(number for done in ends for number in done) == list(range(40))
    assert ledger.verify().findings == ()


def pair(ledger: Ledger, number: int, place: int) -> None:
    """A block of two commands, of which every third is undone."""
    with ledger.transaction():
        for thread in ("a", "b"):
            ledger.queue.append(thread, {"n": [number, place]})
        if place % 3 == 2:
            raise Undo


def give(ledger: Ledger, number: int, place: int) -> bool:
    """A block or a command; False if it is to be done again."""
    try:
        if number % 2:
            ledger.queue.append("c", {"n": [number, place]})
        else:
            with suppress(Undo):
                pair(ledger, number, place)
    except StoreUnavailable:
        return False
    return True


def test_blocks_and_commands_side_by_side_are_each_whole(
    ledger: Ledger, at_once: Callable[[Work], list[Any]]
) -> None:
    """A block that is told to do it again does so, as a host would."""

    def work(number: int) -> None:
        for place in range(6):
            while not give(ledger, number, place):
                pass

    assert at_once(work) == [None] * THREADS
    a, b, c = ([(turn.submission or {})["n"] for turn in ledger.queue.list(t)] for t in "abc")
    assert a == b
    assert sorted(a) == [[n, place] for n in range(0, THREADS, 2) for place in (0, 1, 3, 4)]
    assert sorted(c) == [[n, place] for n in range(1, THREADS, 2) for place in range(6)]
    assert ledger.verify().findings == ()


def step(ledger: Ledger, chance: random.Random, name: str) -> None:
    """Something that a worker may do."""
    queue, thread = ledger.queue, f"thread {chance.randrange(3)}"
    match chance.randrange(6):
        case 0 | 1:
            queue.append(thread, {"name": name})
        case 2:
            queue.append_many(thread, [{}] * 3, idempotency_key=name)
        case 3:
            queue.fail_in_flight(thread, "no")
        case 4:
            for turn in queue.list(thread):
                queue.delete(thread, turn.queued_turn_id)
        case _:
            claim = queue.claim_head(thread, name)
            if claim is not None:
                queue.start_dispatch(claim, f"dispatch {name}")
                queue.ack(claim)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_many_threads_do_in_whatever_order_the_ledger_is_whole(
    open_ledger: Callable[..., Ledger], at_once: Callable[[Work], list[Any]], seed: int
) -> None:
    ledger = open_ledger(max_visible_turns=6)

    def work(number: int) -> set[str]:
        chance = random.Random(f"{seed} {number}")
        said: set[str] = set()
        for place in range(25):
            try:
                step(ledger, chance, f"{number} {place}")
            except LedgerError as error:
                said.add(error.code)
        return said

    ends = at_once(work)
    assert [end for end in ends if isinstance(end, BaseException)] == []
    assert set().union(*ends) <= {"queue_full", "claim_lost"}
    assert ledger.verify().findings == ()
