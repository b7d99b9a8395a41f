"""`claim_head`: the head, to one owner at a time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Claim, Ledger


def test_a_claim_carries_the_head_and_its_fence(host: Host, clock: Clock) -> None:
    first, _ = host.append("first", "second")
    claim = host.claim("me", lease=30)
    assert (claim.thread_id, claim.queued_turn_id) == ("thread", first)
    assert claim.submission == {"text": "first"}
    assert (claim.owner, claim.expires_at) == ("me", clock.now + timedelta(seconds=30))
    assert claim.epoch == 1


def test_a_lease_is_sixty_seconds_by_default(ledger: Ledger, host: Host, clock: Clock) -> None:
    host.append("first")
    host.append("other", thread="other")
    head = ledger.queue.claim_head("thread", "worker")
    assert head is not None
    [following] = ledger.queue.claim_next("worker")
    ends = [head.expires_at, following.expires_at, ledger.queue.renew(head).expires_at]
    assert ends == [clock.now + timedelta(seconds=60)] * 3


def test_an_empty_queue_gives_no_claim(ledger: Ledger, store: Store) -> None:
    assert ledger.queue.claim_head("thread", "worker") is None
    assert ledger.queue.claim_next("worker") == []
    assert store.events() == []


def test_one_turn_of_a_thread_is_in_flight_at_most(ledger: Ledger, host: Host) -> None:
    host.append("first", "second")
    claim = host.claim()
    assert ledger.queue.claim_head("thread", "worker") is None
    assert ledger.queue.claim_head("thread", "other") is None
    ledger.queue.start_dispatch(claim, "dispatch")
    assert ledger.queue.claim_head("thread", "other") is None
    ledger.queue.ack(claim)
    assert host.text(host.claim()) == "second"


def test_an_expired_claim_is_not_taken_over_without_recovery(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    host.append("first")
    host.claim("old")
    clock.advance(3600)
    assert ledger.queue.claim_head("thread", "new") is None
    assert ledger.queue.claim_next("new") == []


def test_a_failed_head_blocks_the_rest(ledger: Ledger, host: Host) -> None:
    host.append("first", "second")
    ledger.queue.fail(host.claim(), "no")
    assert ledger.queue.claim_head("thread", "worker") is None
    assert ledger.queue.claim_next("worker") == []
    assert host.texts() == ["first", "second"]


def test_a_failed_turn_behind_the_head_doesnt_block_it(ledger: Ledger, host: Host) -> None:
    first, second = host.append("first", "second")
    ledger.queue.fail(host.claim(), "no")
    ledger.queue.reorder("thread", [second, first])
    ledger.queue.ack(host.dispatch())
    assert ledger.queue.claim_head("thread", "worker") is None
    assert ledger.queue.why_blocked("thread") == "failed_head"


def test_turns_go_out_in_the_order_in_which_they_came(ledger: Ledger, host: Host) -> None:
    host.append(*"abc")
    gone = []
    for number in range(3):
        claim = host.dispatch(str(number))
        gone.append(host.text(claim))
        ledger.queue.ack(claim)
    assert gone == ["a", "b", "c"]
    assert ledger.queue.claim_head("thread", "worker") is None


def test_every_claim_adds_one_to_the_epoch_the_same_owners_too(ledger: Ledger, host: Host) -> None:
    host.append("first", "second")
    epochs = []
    for owner in ("a", "a", "b"):
        claim = host.claim(owner)
        epochs.append(claim.epoch)
        ledger.queue.release(claim)
    claim = host.dispatch("one", "b")
    epochs.append(claim.epoch)
    ledger.queue.ack(claim)
    epochs.append(host.claim("a").epoch)
    assert epochs == [1, 2, 3, 4, 5]


def test_a_refused_claim_adds_nothing_to_the_epoch(ledger: Ledger, host: Host) -> None:
    host.append("first")
    claim = host.claim()
    for _ in range(3):
        assert ledger.queue.claim_head("thread", "other") is None
    ledger.queue.release(claim)
    assert host.claim().epoch == claim.epoch + 1


def test_each_thread_has_an_epoch_of_its_own(ledger: Ledger, host: Host) -> None:
    host.append("here")
    ledger.queue.release(host.claim())
    host.append("there", thread="other")
    assert host.claim(thread="other").epoch == 1
    assert host.claim().epoch == 2


def test_exactly_one_of_many_concurrent_callers_wins(ledger: Ledger, host: Host) -> None:
    callers = 8
    barrier = Barrier(callers)

    def call(number: int) -> list[Claim | None]:
        barrier.wait()
        return [ledger.queue.claim_head(thread, f"owner {number}") for thread in threads]

    threads = [f"thread {number}" for number in range(10)]
    for thread in threads:
        host.append("only", thread=thread)
    with ThreadPoolExecutor(callers) as pool:
        answers = [claim for claims in pool.map(call, range(callers)) for claim in claims]
    won = [claim for claim in answers if claim is not None]
    assert sorted(claim.thread_id for claim in won) == sorted(threads)
    assert {claim.epoch for claim in won} == {1}


def test_a_claim_survives_reopening(open_ledger: Callable[..., Ledger], host: Host) -> None:
    host.append("only")
    claim = host.claim()
    host.ledger.close()
    queue = open_ledger().queue
    assert queue.claim_head("thread", "another") is None
    queue.start_dispatch(claim, "dispatch")
    queue.ack(claim)
    assert queue.why_blocked("thread") == "empty"
