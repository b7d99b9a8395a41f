"""`claim_next`: the longest waiting heads of claimable threads."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from turnledger import InvalidInput

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger


def threads_of(ledger: Ledger, limit: int = 100) -> list[str]:
    return [claim.thread_id for claim in ledger.queue.claim_next("worker", limit=limit)]


def test_the_longest_waiting_head_comes_first(ledger: Ledger, host: Host, clock: Clock) -> None:
    for thread in ("c", "a", "b"):
        host.append("only", thread=thread)
        clock.advance(1)
    assert threads_of(ledger) == ["c", "a", "b"]


def test_one_claim_is_given_by_default(ledger: Ledger, host: Host, clock: Clock) -> None:
    for thread in ("b", "a"):
        host.append("only", thread=thread)
        clock.advance(1)
    [claim] = ledger.queue.claim_next("me", lease=5)
    assert (claim.thread_id, claim.owner, claim.submission) == ("b", "me", {"text": "only"})
    assert (claim.epoch, claim.expires_at) == (1, clock.now + timedelta(seconds=5))
    assert threads_of(ledger) == ["a"]


def test_at_most_limit_claims_are_given(ledger: Ledger, host: Host) -> None:
    for thread in "abcde":
        host.append("only", thread=thread)
    assert threads_of(ledger, 2) == ["a", "b"]
    assert threads_of(ledger, 2) == ["c", "d"]
    assert threads_of(ledger, 2) == ["e"]
    assert threads_of(ledger, 2) == []


def test_heads_of_one_instant_go_by_the_bytes_of_the_thread_id(ledger: Ledger, host: Host) -> None:
    by_bytes = ["A", "B", "a", "aa", "b", "é", "\ufffd", "\U00010000"]
    for thread in ("\ufffd", "b", "A", "é", "aa", "\U00010000", "a", "B"):
        host.append("only", thread=thread)
    assert threads_of(ledger) == by_bytes


def test_the_age_of_the_head_counts_and_not_that_of_the_thread(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    host.append("first", thread="a")
    clock.advance(1)
    host.append("only", thread="b")
    clock.advance(1)
    host.append("second", thread="a")
    ledger.queue.ack(host.dispatch(thread="a"))
    assert threads_of(ledger) == ["b", "a"]


def test_an_edit_and_a_release_dont_make_a_head_younger(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    [head] = host.append("old", thread="a")
    clock.advance(1)
    host.append("young", thread="b")
    clock.advance(1)
    ledger.queue.edit("a", head, {"text": "edited"})
    ledger.queue.release(host.claim(thread="a"))
    assert threads_of(ledger) == ["a", "b"]


def test_a_reordered_head_brings_its_own_age(ledger: Ledger, host: Host, clock: Clock) -> None:
    [old] = host.append("old", thread="a")
    clock.advance(1)
    host.append("between", thread="b")
    clock.advance(1)
    [young] = host.append("young", thread="a")
    ledger.queue.reorder("a", [young, old])
    assert threads_of(ledger) == ["b", "a"]


def test_a_time_to_wait_for_doesnt_change_the_age(ledger: Ledger, host: Host, clock: Clock) -> None:
    ledger.queue.append("a", {"text": "old"}, not_before=clock.now + timedelta(seconds=10))
    clock.advance(1)
    host.append("young", thread="b")
    clock.advance(8.999)
    assert [claim.thread_id for claim in ledger.queue.claim_next("worker", limit=1)] == ["b"]
    ledger.queue.recover(owner="worker")
    clock.advance(0.001)
    assert threads_of(ledger) == ["a", "b"]


def test_busy_threads_dont_starve_another(ledger: Ledger, host: Host, clock: Clock) -> None:
    host.append(*"abcdefgh", thread="busy")
    clock.advance(1)
    host.append("only", thread="quiet")
    clock.advance(1)
    host.append(*"ijklmnop", thread="busy")
    served = []
    while claims := ledger.queue.claim_next("worker"):
        served.append(claims[0].thread_id)
        ledger.queue.start_dispatch(claims[0], str(len(served)))
        ledger.queue.ack(claims[0])
    assert served.index("quiet") == 8
    assert len(served) == 17


def test_threads_that_give_no_claim_are_passed_over(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    for thread in ("failed", "claimed", "dispatching", "paused", "expired", "gone", "good"):
        host.append("only", thread=thread)
    ledger.queue.fail(host.claim(thread="failed"), "no")
    host.claim(thread="expired", lease=1)
    clock.advance(1)
    host.claim(thread="claimed")
    host.dispatch(thread="dispatching")
    ledger.queue.pause("paused", "by hand")
    ledger.queue.clear("gone")
    ledger.queue.append("later", {}, not_before=clock.now + timedelta(seconds=1))
    assert threads_of(ledger) == ["good"]


@pytest.mark.parametrize("way", ["resume", "retry", "delete", "ack", "recover", "reorder"])
def test_a_thread_that_was_unblocked_is_found(
    ledger: Ledger, host: Host, clock: Clock, way: str
) -> None:
    first, second = host.append("first", "second")
    if way == "resume":
        ledger.queue.pause("thread", "by hand")
        ledger.queue.resume("thread")
    elif way == "ack":
        ledger.queue.ack(host.dispatch())
    elif way == "recover":
        host.claim()
        clock.advance(60)
        ledger.queue.recover()
    else:
        ledger.queue.fail(host.claim(), "no")
        if way == "retry":
            ledger.queue.retry("thread", first)
        elif way == "delete":
            ledger.queue.delete("thread", first)
        else:
            ledger.queue.reorder("thread", [second, first])
    assert threads_of(ledger) == ["thread"]


def test_a_thread_gives_one_claim_at_a_time(ledger: Ledger, host: Host) -> None:
    host.append("first", "second", "third")
    assert threads_of(ledger) == ["thread"]
    assert threads_of(ledger) == []


def test_the_claims_of_one_call_are_recorded_together(
    ledger: Ledger, host: Host, store: Store
) -> None:
    for thread in "abc":
        host.append("only", thread=thread)
    before = len(store.events())
    ledger.queue.claim_next("worker", limit=3)
    events = store.events()[before:]
    assert len(events) == 3
    assert len({event.recorded_at for event in events}) == 1


def test_a_negative_limit_is_refused(ledger: Ledger, host: Host) -> None:
    host.append("only")
    with pytest.raises(InvalidInput):
        ledger.queue.claim_next("worker", limit=-1)
