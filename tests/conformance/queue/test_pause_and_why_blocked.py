"""`pause`, `resume`, and why there is no claim."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger


def test_a_paused_queue_gives_out_no_claims(ledger: Ledger, host: Host) -> None:
    host.append("only")
    ledger.queue.pause("thread", "by hand")
    assert ledger.queue.claim_head("thread", "worker") is None
    assert ledger.queue.claim_next("worker") == []
    assert ledger.queue.why_blocked("thread") == "paused"
    ledger.queue.resume("thread")
    assert ledger.queue.why_blocked("thread") is None
    assert host.text(host.claim()) == "only"


def test_a_paused_queue_accepts_everything(ledger: Ledger, host: Host, clock: Clock) -> None:
    first, second = host.append("first", "second")
    claim = host.claim()
    ledger.queue.pause("thread", "by hand")
    ledger.queue.start_dispatch(ledger.queue.renew(claim), "dispatch")
    ledger.queue.fail(claim, "no")
    ledger.queue.edit("thread", second, {"text": "edited"})
    ledger.queue.reorder("thread", [second, first])
    ledger.queue.retry("thread", first)
    ledger.queue.append_many("thread", [{"text": "third"}, {"text": "fourth"}])
    assert ledger.queue.delete("thread", second)
    assert host.texts() == ["first", "third", "fourth"]
    clock.advance(60)
    assert ledger.queue.recover() == []
    assert ledger.queue.clear("thread") == 3


def test_a_turn_in_flight_is_settled_while_its_queue_is_paused(ledger: Ledger, host: Host) -> None:
    acked, released = host.append("acked", "released")
    claim = host.dispatch()
    ledger.queue.pause("thread", "by hand")
    ledger.queue.ack(claim)
    assert host.turn(acked).state == "acked"
    ledger.queue.resume("thread")
    claim = host.claim()
    ledger.queue.pause("thread", "by hand")
    ledger.queue.release(claim)
    assert host.turn(released).state == "pending"
    assert ledger.queue.claim_head("thread", "worker") is None


def test_a_pause_survives_a_restart(
    ledger: Ledger, host: Host, open_ledger: Callable[..., Ledger]
) -> None:
    host.append("only")
    ledger.queue.pause("thread", "by hand")
    ledger.close()
    queue = open_ledger().queue
    assert queue.why_blocked("thread") == "paused"
    assert queue.claim_head("thread", "worker") is None
    assert queue.claim_next("worker") == []


def test_a_thread_can_be_paused_before_anything_is_in_it(ledger: Ledger, host: Host) -> None:
    ledger.queue.pause("thread", "not yet")
    host.append("only")
    assert ledger.queue.claim_head("thread", "worker") is None


def test_pausing_and_resuming_again_is_nothing(ledger: Ledger, host: Host, store: Store) -> None:
    host.append("only")
    before = store.events()
    ledger.queue.resume("thread")
    assert store.events() == before
    ledger.queue.pause("thread", "by hand")
    before = store.events()
    ledger.queue.pause("thread", "by hand")
    assert store.events() == before
    ledger.queue.resume("thread")
    before = store.events()
    ledger.queue.resume("thread")
    assert store.events() == before


def test_the_reason_of_a_pause_is_recorded(ledger: Ledger, store: Store) -> None:
    ledger.queue.pause("thread", "the provider is down")
    assert "the provider is down" in store.events()[-1].data


def test_a_pause_touches_no_other_thread(ledger: Ledger, host: Host) -> None:
    host.append("there", thread="other")
    ledger.queue.pause("thread", "by hand")
    assert host.text(host.claim(thread="other")) == "there"


def test_a_thread_that_never_was_is_empty(ledger: Ledger) -> None:
    assert ledger.queue.why_blocked("thread") == "empty"


def test_a_claimable_thread_has_no_reason(ledger: Ledger, host: Host) -> None:
    host.append("only")
    assert ledger.queue.why_blocked("thread") is None


@pytest.mark.parametrize("dispatching", [False, True])
def test_a_live_claim_is_the_reason_until_it_expires(
    ledger: Ledger, host: Host, clock: Clock, *, dispatching: bool
) -> None:
    host.append("only")
    _ = host.dispatch() if dispatching else host.claim()
    assert ledger.queue.why_blocked("thread") == "in_flight"
    clock.advance(59.999)
    assert ledger.queue.why_blocked("thread") == "in_flight"
    clock.advance(0.001)
    assert ledger.queue.why_blocked("thread") == "expired_claim"


def test_what_is_in_flight_comes_before_a_failed_head(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    first, second = host.append("first", "second")
    ledger.queue.fail(host.claim(), "no")
    ledger.queue.reorder("thread", [second, first])
    host.claim()
    assert ledger.queue.why_blocked("thread") == "in_flight"
    clock.advance(60)
    assert ledger.queue.why_blocked("thread") == "expired_claim"
    ledger.queue.clear("thread")
    assert ledger.queue.why_blocked("thread") == "empty"


def test_what_is_in_flight_comes_before_a_time_to_wait_for(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    host.append("only")
    host.claim()
    ledger.queue.append("thread", {}, not_before=clock.now + timedelta(days=1))
    assert ledger.queue.why_blocked("thread") == "in_flight"
    clock.advance(60)
    assert ledger.queue.why_blocked("thread") == "expired_claim"


def test_a_failed_head_comes_before_its_time(ledger: Ledger, host: Host, clock: Clock) -> None:
    later = clock.now + timedelta(hours=1)
    ledger.queue.append("thread", {"text": "only"}, not_before=later)
    clock.advance(3600)
    ledger.queue.fail(host.claim(), "no")
    clock.advance(-3600)
    assert ledger.queue.why_blocked("thread") == "failed_head"


@pytest.mark.parametrize("other", ["empty", "failed_head", "in_flight", "expired_claim", "not_yet"])
def test_paused_comes_before(ledger: Ledger, host: Host, clock: Clock, other: str) -> None:
    if other == "not_yet":
        ledger.queue.append("thread", {}, not_before=clock.now + timedelta(days=1))
    elif other != "empty":
        host.append("only")
        claim = host.claim()
        if other == "failed_head":
            ledger.queue.fail(claim, "no")
        elif other == "expired_claim":
            clock.advance(60)
    assert ledger.queue.why_blocked("thread") == other
    ledger.queue.pause("thread", "by hand")
    assert ledger.queue.why_blocked("thread") == "paused"
    ledger.queue.resume("thread")
    assert ledger.queue.why_blocked("thread") == other
