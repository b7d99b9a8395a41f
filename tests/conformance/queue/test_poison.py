"""Poison: a turn that kills every owner before it is dispatched is set aside at last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host
    from turnledger import Ledger

SAID = "claimed 26 times and never dispatched"


def give_back(host: Host, clock: Clock, way: str, times: int) -> None:
    queue = host.ledger.queue
    for _ in range(times):
        claim = host.claim()
        if way == "release":
            queue.release(claim)
        elif way == "expiry":
            clock.advance(60)
            queue.recover()
        else:
            queue.recover(owner="worker")


@pytest.mark.parametrize("way", ["release", "expiry", "owner"])
def test_a_turn_that_was_given_back_26_times_is_failed(
    ledger: Ledger, host: Host, clock: Clock, way: str
) -> None:
    first, _ = host.append("first", "second")
    order = host.turn(first).queue_order
    give_back(host, clock, way, 25)
    assert host.turn(first).state == "pending"
    give_back(host, clock, way, 1)
    turn = host.turn(first)
    assert (turn.state, turn.failure, turn.outcome_unknown) == ("failed", SAID, False)
    assert turn.queue_order == order
    assert ledger.queue.why_blocked("thread") == "failed_head"
    assert ledger.queue.claim_next("worker") == []


def test_every_way_of_giving_back_counts(host: Host, clock: Clock) -> None:
    [only] = host.append("only")
    give_back(host, clock, "release", 9)
    give_back(host, clock, "expiry", 8)
    give_back(host, clock, "owner", 8)
    assert host.turn(only).state == "pending"
    give_back(host, clock, "release", 1)
    assert host.turn(only).failure == SAID


def test_recovery_says_what_it_set_aside(ledger: Ledger, host: Host, clock: Clock) -> None:
    [only] = host.append("only")
    give_back(host, clock, "release", 25)
    host.claim()
    clock.advance(60)
    [turn] = ledger.queue.recover()
    assert (turn.queued_turn_id, turn.state, turn.failure) == (only, "failed", SAID)


def test_dispatched_claims_dont_count(ledger: Ledger, host: Host, clock: Clock) -> None:
    [only] = host.append("only")
    give_back(host, clock, "release", 20)
    for number in range(10):
        ledger.queue.fail(host.dispatch(str(number)), "no")
        ledger.queue.retry("thread", only)
    give_back(host, clock, "release", 5)
    assert host.turn(only).state == "pending"


def test_each_turn_has_a_count_of_its_own(ledger: Ledger, host: Host, clock: Clock) -> None:
    first, second = host.append("first", "second")
    give_back(host, clock, "release", 25)
    ledger.queue.ack(host.dispatch())
    give_back(host, clock, "release", 25)
    assert [host.turn(one).state for one in (first, second)] == ["acked", "pending"]


def test_a_turn_that_was_set_aside_can_be_retried(ledger: Ledger, host: Host, clock: Clock) -> None:
    [only] = host.append("only")
    give_back(host, clock, "release", 26)
    ledger.queue.retry("thread", only)
    ledger.queue.ack(host.dispatch())
    assert host.turn(only).state == "acked"


def test_the_number_is_a_setting(open_ledger: Callable[..., Ledger]) -> None:
    queue = open_ledger(max_claims=1).queue
    only = queue.append("thread", {}).queued_turn_id
    states = []
    for _ in range(2):
        claim = queue.claim_head("thread", "worker")
        assert claim is not None
        queue.release(claim)
        [turn] = queue.list("thread")
        states.append((turn.queued_turn_id, turn.state, turn.failure))
    poisoned = "claimed 2 times and never dispatched"
    assert states == [(only, "pending", None), (only, "failed", poisoned)]


def test_the_count_survives_a_restart(
    ledger: Ledger, host: Host, clock: Clock, open_ledger: Callable[..., Ledger]
) -> None:
    [only] = host.append("only")
    give_back(host, clock, "release", 25)
    ledger.close()
    queue = open_ledger().queue
    claim = queue.claim_head("thread", "worker")
    assert claim is not None
    queue.release(claim)
    turn = queue.get("thread", only)
    assert turn is not None
    assert turn.failure == SAID
