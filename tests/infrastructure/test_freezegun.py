"""Under freezegun, which many hosts test with: everything works, by the frozen clock."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import freezegun
import pytest
from freezegun import freeze_time
from freezegun.api import FrozenDateTimeFactory

import turnledger
from turnledger import Claim, Ledger

freezegun.configure(extend_ignore_list=["_pytest.timing"])  # pytest's own clock goes on

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
MOMENT = timedelta(microseconds=1)


@pytest.fixture
def clock() -> Iterator[FrozenDateTimeFactory]:
    with freeze_time(NOON) as frozen:
        assert isinstance(frozen, FrozenDateTimeFactory)
        yield frozen


@pytest.fixture
def ledger(clock: FrozenDateTimeFactory, made: Path) -> Iterator[Ledger]:
    assert clock().replace(tzinfo=UTC) == NOON
    with turnledger.open(made) as opened:
        yield opened


def claimed(ledger: Ledger, owner: str = "worker") -> Claim:
    claim = ledger.queue.claim_head("thread", owner, lease=MINUTE)
    assert claim is not None
    return claim


def test_a_whole_cycle_is_recorded_by_the_frozen_clock(
    ledger: Ledger, clock: FrozenDateTimeFactory
) -> None:
    turn = ledger.queue.append("thread", {"text": "fix it"})
    clock.tick(1)
    claim = claimed(ledger)
    clock.tick(1)
    ledger.queue.start_dispatch(claim, "dispatch-1")
    clock.tick(1)
    ledger.queue.ack(claim)

    assert turn.created_at == NOON
    assert claim.expires_at == NOON + timedelta(seconds=61)
    done = ledger.queue.get("thread", turn.queued_turn_id)
    assert done is not None
    assert (done.state, done.updated_at) == ("acked", NOON + timedelta(seconds=3))
    recorded = [event.recorded_at for event in ledger.log.read()]
    assert recorded == [NOON + timedelta(seconds=n) for n in range(4)]


def test_a_lease_is_over_at_its_very_end_and_not_a_moment_earlier(
    ledger: Ledger, clock: FrozenDateTimeFactory
) -> None:
    ledger.queue.append("thread", {})
    claim = claimed(ledger)

    clock.tick(MINUTE - MOMENT)
    assert ledger.queue.why_blocked("thread") == "in_flight"
    assert ledger.queue.recover() == []

    clock.tick(MOMENT)
    assert ledger.queue.why_blocked("thread") == "expired_claim"
    with pytest.raises(turnledger.ClaimLost, match="lease ended"):
        ledger.queue.start_dispatch(claim, "dispatch-1")
    assert [turn.state for turn in ledger.queue.recover()] == ["pending"]
    assert claimed(ledger, "another worker").epoch == 2


def test_a_turn_that_waits_for_its_time_is_given_out_at_that_time(
    ledger: Ledger, clock: FrozenDateTimeFactory
) -> None:
    ledger.queue.append("thread", {}, not_before=NOON + MINUTE)

    assert ledger.queue.why_blocked("thread") == "not_yet"
    assert ledger.queue.claim_next("worker") == []
    clock.tick(MINUTE)
    assert len(ledger.queue.claim_next("worker")) == 1


def test_when_the_clock_steps_back_what_is_recorded_does_not(
    ledger: Ledger, clock: FrozenDateTimeFactory
) -> None:
    ledger.queue.append("thread", {})
    clock.move_to(NOON - MINUTE)
    ledger.queue.append("thread", {})

    assert [event.recorded_at for event in ledger.log.read()] == [NOON, NOON]


def test_waiting_for_a_change_ends_though_the_clock_stands_still(ledger: Ledger) -> None:
    ledger.queue.append("thread", {})

    assert ledger.wait_for_change(since=0, timeout=30) == 1
    assert ledger.wait_for_change(since=1, timeout=0.01) == 1
    assert ledger.wait_for_change(since=1, timeout=timedelta(0)) == 1


def test_what_was_written_under_a_frozen_clock_is_read_under_a_running_one(made: Path) -> None:
    with freeze_time(NOON), turnledger.open(made) as ledger:
        turn = ledger.queue.append("thread", {"text": "fix it"})

    with turnledger.open(made) as ledger:
        assert ledger.queue.list("thread") == [turn]
        assert ledger.verify().ok
