"""`renew` and `release`: keeping a claim, and giving it back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from turnledger import ClaimLost, InvalidTransition

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger


def test_a_renewed_claim_has_a_new_end_and_the_same_epoch(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    host.append("only")
    claim = host.claim("me")
    clock.advance(59.999)
    renewed = ledger.queue.renew(claim, lease=30)
    assert renewed.expires_at == clock.now + timedelta(seconds=30)
    assert (renewed.owner, renewed.epoch) == ("me", claim.epoch)
    assert renewed.queued_turn_id == claim.queued_turn_id


def test_the_new_end_is_the_one_that_counts(ledger: Ledger, host: Host, clock: Clock) -> None:
    [only] = host.append("only")
    claim = host.claim()
    ledger.queue.renew(claim, lease=100)
    clock.advance(99.999)
    assert ledger.queue.recover() == []
    ledger.queue.start_dispatch(claim, "dispatch")
    clock.advance(0.001)
    with pytest.raises(ClaimLost):
        ledger.queue.renew(claim)
    assert [turn.queued_turn_id for turn in ledger.queue.recover()] == [only]


def test_a_claim_is_renewed_while_it_is_dispatching(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    [only] = host.append("only")
    claim = host.dispatch()
    clock.advance(30)
    assert ledger.queue.renew(claim).expires_at == clock.now + timedelta(seconds=60)
    assert host.turn(only).state == "dispatching"


def test_a_lease_can_be_made_shorter(ledger: Ledger, host: Host, clock: Clock) -> None:
    host.append("only")
    claim = ledger.queue.renew(host.claim(lease=3600), lease=1)
    assert claim.expires_at == clock.now + timedelta(seconds=1)
    clock.advance(1)
    with pytest.raises(ClaimLost):
        ledger.queue.renew(claim)


@pytest.mark.parametrize("lease", [90, 90.0, timedelta(seconds=90)])
def test_a_lease_is_seconds_or_a_timedelta(
    ledger: Ledger, host: Host, clock: Clock, lease: float | timedelta
) -> None:
    host.append("only")
    head = ledger.queue.claim_head("thread", "worker", lease)
    assert head is not None
    assert head.expires_at == clock.now + timedelta(seconds=90)
    assert ledger.queue.renew(head, lease).expires_at == clock.now + timedelta(seconds=90)
    ledger.queue.release(head)
    [following] = ledger.queue.claim_next("worker", lease=lease)
    assert following.expires_at == clock.now + timedelta(seconds=90)


def test_a_released_turn_waits_in_its_old_place(ledger: Ledger, host: Host) -> None:
    first, _, _ = host.append("first", "second", "third")
    before = host.turn(first).queue_order
    ledger.queue.release(host.claim())
    turn = host.turn(first)
    assert (turn.state, turn.queue_order, turn.owner) == ("pending", before, None)
    assert host.texts() == ["first", "second", "third"]
    assert host.text(host.claim()) == "first"


def test_a_release_once_dispatching_is_refused(ledger: Ledger, host: Host, store: Store) -> None:
    [only] = host.append("only")
    claim = host.dispatch()
    before = store.events()
    with pytest.raises(InvalidTransition):
        ledger.queue.release(claim)
    assert store.events() == before
    assert host.turn(only).state == "dispatching"
    ledger.queue.ack(claim)


def test_a_released_turn_can_be_edited_moved_and_deleted(ledger: Ledger, host: Host) -> None:
    first, second = host.append("first", "second")
    ledger.queue.release(host.claim())
    ledger.queue.edit("thread", first, {"text": "edited"})
    ledger.queue.reorder("thread", [second, first])
    assert host.texts() == ["second", "edited"]
    assert ledger.queue.delete("thread", first)
