"""A wrong clock: times never fall within a stream, and leases heal when the clock does."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import turnledger
from turnledger import ClaimLost, InvalidTime

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger

DAY = 86_400


def test_recorded_times_never_fall_within_a_stream(
    ledger: Ledger, host: Host, clock: Clock, store: Store
) -> None:
    first, _ = host.append("first", "second")
    clock.advance(-10)
    claim = host.dispatch()
    clock.advance(5)
    ledger.queue.fail(claim, "no")
    clock.advance(20)
    ledger.queue.retry("thread", first)
    clock.advance(-3600)
    host.append("third")
    times = [event.recorded_at for event in store.events()]
    assert all(before <= after for before, after in pairwise(times))
    assert times[0] == times[1] == times[2] == times[3] == times[4]
    assert times[4] < times[5] == times[6]


def test_another_stream_takes_the_reading_itself(ledger: Ledger, host: Host, clock: Clock) -> None:
    [before] = host.append("here")
    clock.advance(-100)
    [after] = host.append("there", thread="other")
    assert host.turn(before).created_at - host.turn(after, "other").created_at == timedelta(
        seconds=100
    )
    assert [claim.thread_id for claim in ledger.queue.claim_next("worker", limit=2)] == [
        "other",
        "thread",
    ]


def test_a_lease_begins_at_the_reading_itself(host: Host, clock: Clock) -> None:
    host.append("only")
    clock.advance(-1000)
    assert host.claim(lease=10).expires_at == clock.now + timedelta(seconds=10)


def test_a_lease_is_judged_by_the_reading_itself(ledger: Ledger, host: Host, clock: Clock) -> None:
    host.append("only")
    claim = host.claim(lease=60)
    clock.advance(-1000)
    ledger.queue.start_dispatch(claim, "dispatch")
    assert ledger.queue.recover() == []
    assert ledger.queue.why_blocked("thread") == "in_flight"


def test_a_claim_lives_until_just_before_its_end(ledger: Ledger, host: Host, clock: Clock) -> None:
    host.append("only")
    claim = host.claim(lease=60)
    clock.advance(59.999)
    ledger.queue.start_dispatch(claim, "dispatch")
    clock.advance(0.001)
    with pytest.raises(ClaimLost):
        ledger.queue.renew(claim)


@pytest.mark.parametrize("dispatching", [False, True])
def test_an_end_further_ahead_than_the_longest_lease_is_over(
    ledger: Ledger, host: Host, clock: Clock, *, dispatching: bool
) -> None:
    [only] = host.append("only")
    claim = host.dispatch() if dispatching else host.claim()
    clock.advance(-DAY)
    assert ledger.queue.why_blocked("thread") == "expired_claim"
    for command in (ledger.queue.renew, ledger.queue.release):
        with pytest.raises(ClaimLost):
            command(claim)
    with pytest.raises(ClaimLost):
        ledger.queue.start_dispatch(claim, "dispatch")
    assert [turn.queued_turn_id for turn in ledger.queue.recover()] == [only]
    assert host.turn(only).state == ("failed" if dispatching else "pending")


def test_an_end_as_far_ahead_as_the_longest_lease_is_not_over(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    host.append("only")
    claim = host.claim(lease=60)
    clock.advance(60 - DAY)
    assert ledger.queue.why_blocked("thread") == "in_flight"
    assert ledger.queue.recover() == []
    ledger.queue.start_dispatch(claim, "dispatch")


def test_the_longest_lease_is_the_setting(open_ledger: Callable[..., Ledger], clock: Clock) -> None:
    queue = open_ledger(max_lease=timedelta(seconds=100)).queue
    queue.append("thread", {})
    claim = queue.claim_head("thread", "worker", 100)
    assert claim is not None
    clock.advance(-0.001)
    assert queue.why_blocked("thread") == "expired_claim"
    with pytest.raises(ClaimLost):
        queue.renew(claim)


@pytest.mark.parametrize("settle", ["ack", "fail"])
def test_a_claim_whose_end_is_too_far_ahead_is_current_and_can_be_settled(
    ledger: Ledger, host: Host, clock: Clock, settle: str
) -> None:
    [only] = host.append("only")
    claim = host.dispatch()
    clock.advance(-10 * DAY)
    if settle == "ack":
        ledger.queue.ack(claim)
    else:
        ledger.queue.fail(claim, "no")
    assert host.turn(only).state == {"ack": "acked", "fail": "failed"}[settle]


def test_one_wrong_reading_heals_when_the_clock_does(
    ledger: Ledger, host: Host, clock: Clock, store: Store
) -> None:
    right = clock.now
    host.append("first", "second")
    clock.now = right.replace(year=2999)
    host.claim("misled")
    clock.now = right
    assert len(ledger.queue.recover()) == 1
    claim = host.dispatch("dispatch", "next")
    assert claim.expires_at == right + timedelta(seconds=60)
    ledger.queue.ack(claim)
    assert host.text(host.claim("next")) == "second"
    times = [event.recorded_at for event in store.events()]
    assert times == sorted(times)


def test_expiry_needs_no_event(ledger: Ledger, host: Host, clock: Clock, store: Store) -> None:
    host.append("only")
    claim = host.claim()
    before = store.events()
    clock.advance(60)
    assert ledger.queue.why_blocked("thread") == "expired_claim"
    clock.advance(-1)
    assert ledger.queue.why_blocked("thread") == "in_flight"
    assert store.events() == before
    ledger.queue.renew(claim)


def test_a_clock_of_another_timezone_gives_the_same_instants(store_url: str, clock: Clock) -> None:
    tokyo = timezone(timedelta(hours=9))
    with turnledger.open(store_url, clock=lambda: clock.now.astimezone(tokyo)) as ledger:
        turn = ledger.queue.append("thread", {})
        claim = ledger.queue.claim_head("thread", "worker")
    assert claim is not None
    assert claim.expires_at == clock.now + timedelta(seconds=60)
    assert turn.created_at == clock.now
    for time in (turn.created_at, claim.expires_at):
        assert time.utcoffset() == timedelta(0)


def test_a_naive_clock_is_refused(store_url: str) -> None:
    naive = datetime(2026, 1, 5)  # noqa: DTZ001
    with (
        pytest.raises(InvalidTime),
        turnledger.open(store_url, clock=lambda: naive) as ledger,
    ):
        ledger.queue.append("thread", {})


def test_times_are_kept_to_the_millisecond_at_least(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    clock.now = clock.now.replace(microsecond=123_000)
    [only] = host.append("only")
    ledger.queue.append("thread", {}, not_before=clock.now)
    assert host.turn(only).created_at == clock.now
    assert ledger.queue.list("thread")[1].not_before == clock.now
    assert host.claim(lease=0.001).expires_at == clock.now + timedelta(milliseconds=1)
