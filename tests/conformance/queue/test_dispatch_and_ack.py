"""`start_dispatch`, `ack` and `ack_dispatch`: the hand-over that can't be taken back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnledger import ClaimLost, InvalidTransition

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger


def test_a_started_dispatch_is_shown(ledger: Ledger, host: Host, store: Store) -> None:
    [only] = host.append("only")
    ledger.queue.start_dispatch(host.claim(), "my turn id")
    turn = host.turn(only)
    assert (turn.state, turn.dispatch_id) == ("dispatching", "my turn id")
    assert store.rows("SELECT dispatch_id FROM in_flight_turns") == [("my turn id",)]


def test_the_same_dispatch_again_is_nothing(ledger: Ledger, host: Host, store: Store) -> None:
    host.append("only")
    claim = host.dispatch("dispatch")
    before = store.events()
    ledger.queue.start_dispatch(claim, "dispatch")
    assert store.events() == before


def test_another_dispatch_of_a_turn_that_is_dispatching_is_refused(
    ledger: Ledger, host: Host, store: Store
) -> None:
    [only] = host.append("only")
    claim = host.dispatch("dispatch")
    before = store.events()
    with pytest.raises(InvalidTransition):
        ledger.queue.start_dispatch(claim, "another")
    assert store.events() == before
    assert host.turn(only).dispatch_id == "dispatch"


@pytest.mark.parametrize("end", ["acked", "failed", "cleared", "recovered"])
def test_a_dispatch_id_is_used_once_in_a_thread_ever(
    ledger: Ledger, host: Host, clock: Clock, end: str
) -> None:
    [first] = host.append("first")
    claim = host.dispatch("used")
    if end == "acked":
        ledger.queue.ack(claim)
    elif end == "failed":
        ledger.queue.fail(claim, "no")
        ledger.queue.retry("thread", first)
    elif end == "cleared":
        ledger.queue.clear("thread")
    else:
        clock.advance(60)
        ledger.queue.recover()
        ledger.queue.resolve("thread", first, "retry", by="me")
    [second] = host.append("second")
    following = host.claim()
    with pytest.raises(InvalidTransition):
        ledger.queue.start_dispatch(following, "used")
    state = host.turn(first if end in ("failed", "recovered") else second).state
    assert state == "claimed"
    ledger.queue.start_dispatch(following, "new")


def test_another_thread_may_use_the_same_dispatch_id(ledger: Ledger, host: Host) -> None:
    host.append("here")
    host.append("there", thread="other")
    host.dispatch("dispatch")
    [claim] = ledger.queue.claim_next("worker")
    ledger.queue.start_dispatch(claim, "dispatch")
    assert ledger.queue.ack_dispatch("other", "dispatch") is True
    assert ledger.queue.why_blocked("thread") == "in_flight"


def test_an_acked_turn_is_gone_and_stays_known(ledger: Ledger, host: Host, store: Store) -> None:
    only, _ = host.append("only", "next")
    ledger.queue.ack(host.dispatch())
    assert host.turn(only).state == "acked"
    assert store.rows("SELECT * FROM in_flight_turns") == []
    assert host.texts() == ["next"]
    assert ledger.queue.why_blocked("thread") is None


def test_an_ack_without_a_dispatch_is_refused(ledger: Ledger, host: Host, store: Store) -> None:
    [only] = host.append("only")
    claim = host.claim()
    before = store.events()
    with pytest.raises(InvalidTransition):
        ledger.queue.ack(claim)
    assert store.events() == before
    assert host.turn(only).state == "claimed"


def test_a_turn_is_acked_once(ledger: Ledger, host: Host) -> None:
    host.append("first", "second")
    claim = host.dispatch()
    ledger.queue.ack(claim)
    with pytest.raises(ClaimLost):
        ledger.queue.ack(claim)
    assert host.texts() == ["second"]


def test_ack_dispatch_acks_the_dispatch_that_is_in_flight(ledger: Ledger, host: Host) -> None:
    [only] = host.append("only")
    host.dispatch("my turn id")
    assert ledger.queue.ack_dispatch("thread", "my turn id") is True
    assert host.turn(only).state == "acked"
    assert ledger.queue.ack_dispatch("thread", "my turn id") is False


def test_ack_dispatch_doesnt_look_at_the_lease(ledger: Ledger, host: Host, clock: Clock) -> None:
    [only] = host.append("only")
    host.dispatch("dispatch")
    clock.advance(86_400 * 365)
    assert ledger.queue.ack_dispatch("thread", "dispatch") is True
    assert host.turn(only).state == "acked"


def test_ack_dispatch_is_false_unless_that_very_dispatch_is_in_flight(
    ledger: Ledger, host: Host, store: Store
) -> None:
    first, second = host.append("first", "second")
    host.append("elsewhere", thread="other")
    before = len(store.events())
    assert ledger.queue.ack_dispatch("never", "dispatch") is False
    assert ledger.queue.ack_dispatch("thread", "dispatch") is False
    claim = host.claim()
    assert ledger.queue.ack_dispatch("thread", "dispatch") is False
    ledger.queue.start_dispatch(claim, "dispatch")
    assert ledger.queue.ack_dispatch("thread", "another") is False
    assert ledger.queue.ack_dispatch("other", "dispatch") is False
    assert [host.turn(one).state for one in (first, second)] == ["dispatching", "pending"]
    assert len(store.events()) == before + 2


def test_an_ack_of_a_former_dispatch_doesnt_end_the_later_one(ledger: Ledger, host: Host) -> None:
    [only] = host.append("only")
    ledger.queue.fail(host.dispatch("one"), "no")
    ledger.queue.retry("thread", only)
    host.dispatch("two")
    assert ledger.queue.ack_dispatch("thread", "one") is False
    assert host.turn(only).state == "dispatching"
    assert ledger.queue.ack_dispatch("thread", "two") is True


def test_a_stolen_claim_cant_ack_for_another(ledger: Ledger, host: Host) -> None:
    first, second = host.append("first", "second")
    old = host.dispatch("one", "old")
    ledger.queue.fail_in_flight("thread", "restart")
    ledger.queue.resolve("thread", first, "acked", by="me")
    host.dispatch("two", "new")
    with pytest.raises(ClaimLost):
        ledger.queue.ack(old)
    assert host.turn(second).state == "dispatching"
