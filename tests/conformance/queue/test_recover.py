"""`recover` and `fail_in_flight`: what becomes of turns whose owner is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnledger import ClaimLost

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger, QueuedTurn

EXPIRED = "outcome unknown after the claim expired"


def ids(turns: list[QueuedTurn]) -> list[str]:
    return [turn.queued_turn_id for turn in turns]


def test_a_turn_that_was_never_dispatched_is_pending_again(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    first, _ = host.append("first", "second")
    order = host.turn(first).queue_order
    host.claim()
    clock.advance(60)
    [turn] = ledger.queue.recover()
    assert (turn.queued_turn_id, turn.state, turn.queue_order) == (first, "pending", order)
    assert host.texts() == ["first", "second"]
    assert ledger.queue.why_blocked("thread") is None


def test_a_turn_that_was_dispatching_is_failed_with_its_outcome_unknown(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    first, _ = host.append("first", "second")
    order = host.turn(first).queue_order
    host.dispatch("dispatch")
    clock.advance(60)
    [turn] = ledger.queue.recover()
    assert (turn.queued_turn_id, turn.state, turn.queue_order) == (first, "failed", order)
    assert (turn.failure, turn.outcome_unknown) == (EXPIRED, True)
    assert turn.dispatch_id == "dispatch"
    assert host.texts() == ["first", "second"]
    assert ledger.queue.why_blocked("thread") == "failed_head"


def test_the_failure_can_be_given(ledger: Ledger, host: Host, clock: Clock) -> None:
    host.append("only")
    host.dispatch()
    clock.advance(60)
    [turn] = ledger.queue.recover("thread", failure={"found at": "start"})
    assert turn.failure == {"found at": "start"}


def test_a_live_claim_is_left_alone(ledger: Ledger, host: Host, clock: Clock, store: Store) -> None:
    host.append("here")
    host.append("there", thread="other")
    host.claim()
    host.dispatch(thread="other")
    clock.advance(59.999)
    before = store.events()
    assert ledger.queue.recover() == []
    assert ledger.queue.recover("thread") == []
    assert ledger.queue.recover("other", owner="another") == []
    assert ledger.queue.recover(owner="another") == []
    assert store.events() == before


def test_at_exactly_the_end_of_its_lease_a_claim_is_stale(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    [only] = host.append("only")
    claim = host.claim()
    assert claim.expires_at is not None
    clock.now = claim.expires_at
    assert ids(ledger.queue.recover()) == [only]


def test_what_a_former_owner_holds_is_stale_whatever_its_lease(ledger: Ledger, host: Host) -> None:
    [claimed] = host.append("claimed", thread="a")
    [dispatching] = host.append("dispatching", thread="b")
    host.append("of another", thread="c")
    host.claim("former", thread="a")
    host.dispatch("d", "former", thread="b")
    other = host.claim("live", thread="c")
    recovered = ledger.queue.recover(owner="former")
    assert {turn.queued_turn_id: turn.state for turn in recovered} == {
        claimed: "pending",
        dispatching: "failed",
    }
    ledger.queue.renew(other)


def test_expired_claims_of_others_are_stale_beside_a_former_owners(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    [expired] = host.append("expired", thread="a")
    host.claim("other", thread="a")
    clock.advance(60)
    [held] = host.append("held", thread="b")
    host.claim("former", thread="b")
    assert sorted(ids(ledger.queue.recover(owner="former"))) == sorted([expired, held])


def test_recovery_can_be_of_one_thread(ledger: Ledger, host: Host, clock: Clock) -> None:
    [here] = host.append("here")
    [there] = host.append("there", thread="other")
    host.claim()
    host.claim(thread="other")
    clock.advance(60)
    assert ids(ledger.queue.recover("thread")) == [here]
    assert ledger.queue.why_blocked("other") == "expired_claim"
    assert ids(ledger.queue.recover("other")) == [there]


def test_recovery_of_every_thread_finds_them_all(ledger: Ledger, host: Host, clock: Clock) -> None:
    threads = [f"thread {number:03}" for number in range(230)]
    for thread in threads:
        host.append("only", thread=thread)
    assert len(ledger.queue.claim_next("gone", limit=230)) == 230
    clock.advance(60)
    assert sorted(turn.thread_id for turn in ledger.queue.recover()) == threads


def test_recovery_again_is_nothing(ledger: Ledger, host: Host, clock: Clock, store: Store) -> None:
    host.append("here")
    host.append("there", thread="other")
    host.claim()
    host.dispatch(thread="other")
    clock.advance(60)
    assert len(ledger.queue.recover()) == 2
    before = store.events()
    assert ledger.queue.recover() == []
    assert ledger.queue.recover("thread") == []
    assert ledger.queue.recover(owner="worker") == []
    assert store.events() == before


def test_recovery_of_nothing_is_an_empty_list(ledger: Ledger, store: Store) -> None:
    assert ledger.queue.recover() == []
    assert ledger.queue.recover("never") == []
    assert store.events() == []


def test_a_paused_thread_is_recovered_too(ledger: Ledger, host: Host, clock: Clock) -> None:
    [only] = host.append("only")
    host.claim()
    ledger.queue.pause("thread", "by hand")
    clock.advance(60)
    assert ids(ledger.queue.recover()) == [only]


def test_the_former_owner_lost_its_claim(ledger: Ledger, host: Host, clock: Clock) -> None:
    host.append("only")
    claim = host.claim()
    clock.advance(60)
    ledger.queue.recover()
    clock.advance(-60)
    with pytest.raises(ClaimLost):
        ledger.queue.start_dispatch(claim, "dispatch")


def test_a_dispatched_turn_never_goes_out_again_by_itself(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    host.append("only")
    host.dispatch()
    for _ in range(3):
        clock.advance(86_400)
        ledger.queue.recover()
        assert ledger.queue.claim_head("thread", "worker") is None
        assert ledger.queue.claim_next("worker") == []


@pytest.mark.parametrize("expired", [False, True])
@pytest.mark.parametrize("dispatching", [False, True])
def test_the_only_owner_fails_what_is_in_flight(
    ledger: Ledger, host: Host, clock: Clock, *, expired: bool, dispatching: bool
) -> None:
    first, _ = host.append("first", "second")
    order = host.turn(first).queue_order
    claim = host.dispatch() if dispatching else host.claim()
    clock.advance(60 if expired else 0)
    assert ledger.queue.fail_in_flight("thread", {"why": "restart"}) == 1
    turn = host.turn(first)
    assert (turn.state, turn.failure, turn.queue_order) == ("failed", {"why": "restart"}, order)
    assert turn.outcome_unknown is dispatching
    assert host.texts() == ["first", "second"]
    with pytest.raises(ClaimLost):
        ledger.queue.renew(claim)


def test_failing_nothing_in_flight_is_nothing(ledger: Ledger, host: Host, store: Store) -> None:
    host.append("only")
    host.append("there", thread="other")
    host.claim(thread="other")
    before = store.events()
    assert ledger.queue.fail_in_flight("thread", "restart") == 0
    assert ledger.queue.fail_in_flight("never", "restart") == 0
    assert store.events() == before
    ledger.queue.fail_in_flight("other", "restart")
    before = store.events()
    assert ledger.queue.fail_in_flight("other", "restart") == 0
    assert store.events() == before
