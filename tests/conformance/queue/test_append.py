"""`append`: at the end of everything, within the limit, from a time on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from turnledger import InvalidInput, InvalidTime, QueueFull

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger


def test_append_returns_the_turn_as_it_waits(ledger: Ledger, clock: Clock) -> None:
    turn = ledger.queue.append("thread", {"text": "hello"})
    assert (turn.thread_id, turn.submission, turn.state) == ("thread", {"text": "hello"}, "pending")
    assert (turn.failure, turn.outcome_unknown, turn.dispatch_id) == (None, False, None)
    assert (turn.evidence, turn.attempts, turn.not_before) == ((), 0, None)
    assert (turn.created_at, turn.updated_at, turn.duplicate) == (clock.now, clock.now, False)


def test_a_turn_goes_behind_everything_that_is_there(ledger: Ledger, host: Host) -> None:
    host.append("first", "second", "third")
    ledger.queue.fail(host.claim(), "no")
    host.append("fourth")
    assert host.texts() == ["first", "second", "third", "fourth"]


def test_a_turn_goes_behind_the_one_in_flight(ledger: Ledger, host: Host) -> None:
    host.append("first")
    claim = host.claim()
    host.append("second")
    ledger.queue.release(claim)
    assert host.texts() == ["first", "second"]


def test_a_turn_goes_behind_after_a_reorder(ledger: Ledger, host: Host) -> None:
    first, second = host.append("first", "second")
    ledger.queue.reorder("thread", [second, first])
    host.append("third")
    assert host.texts() == ["second", "first", "third"]


def test_threads_have_queues_of_their_own(host: Host) -> None:
    host.append("here")
    host.append("there", thread="other")
    assert (host.texts(), host.texts("other")) == (["here"], ["there"])


def test_generated_ids_are_uuids_of_version_7_that_grow(host: Host, clock: Clock) -> None:
    ids = host.append("first", "second")
    clock.advance(-3600)
    ids += host.append("third", "fourth")
    assert ids == sorted(set(ids))
    assert [UUID(one).version for one in ids] == [7, 7, 7, 7]
    assert [str(UUID(one)) for one in ids] == ids


def test_a_chosen_id_is_kept(ledger: Ledger) -> None:
    turn = ledger.queue.append("thread", {}, queued_turn_id="my message")
    assert turn.queued_turn_id == "my message"
    assert [one.queued_turn_id for one in ledger.queue.list("thread")] == ["my message"]


def test_the_hundred_and_first_visible_turn_is_refused(
    ledger: Ledger, host: Host, store: Store
) -> None:
    ledger.queue.append_many("thread", [{"text": str(number)} for number in range(100)])
    before = store.events()
    with pytest.raises(QueueFull) as refusal:
        host.append("one too many")
    assert (vars(refusal.value)["thread_id"], refusal.value.limit) == ("thread", 100)
    assert store.events() == before


def test_the_limit_is_a_setting_for_each_thread(open_ledger: Callable[..., Ledger]) -> None:
    queue = open_ledger(max_visible_turns=1).queue
    queue.append("thread", {})
    queue.append("other", {})
    with pytest.raises(QueueFull):
        queue.append("thread", {})


def test_a_turn_in_flight_doesnt_count_against_the_limit(
    open_ledger: Callable[..., Ledger],
) -> None:
    queue = open_ledger(max_visible_turns=1).queue
    queue.append("thread", {"text": "first"})
    assert queue.claim_head("thread", "worker") is not None
    queue.append("thread", {"text": "second"})
    with pytest.raises(QueueFull):
        queue.append("thread", {"text": "third"})


def test_a_failed_turn_counts_against_the_limit(open_ledger: Callable[..., Ledger]) -> None:
    queue = open_ledger(max_visible_turns=1).queue
    queue.append("thread", {"text": "first"})
    claim = queue.claim_head("thread", "worker")
    assert claim is not None
    queue.fail(claim, "no")
    with pytest.raises(QueueFull):
        queue.append("thread", {"text": "second"})


def test_a_turn_that_comes_back_finds_its_place_in_a_full_queue(
    open_ledger: Callable[..., Ledger],
) -> None:
    queue = open_ledger(max_visible_turns=1).queue
    queue.append("thread", {"text": "first"})
    claim = queue.claim_head("thread", "worker")
    queue.append("thread", {"text": "second"})
    assert claim is not None
    queue.release(claim)
    assert [turn.submission for turn in queue.list("thread")] == [
        {"text": "first"},
        {"text": "second"},
    ]
    with pytest.raises(QueueFull):
        queue.append("thread", {"text": "third"})


def test_a_turn_cant_be_claimed_before_its_time_and_blocks(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    ledger.queue.append("thread", {"text": "later"}, not_before=clock.now + timedelta(hours=1))
    host.append("behind")
    assert host.texts() == ["later", "behind"]
    clock.advance(3599.999)
    assert ledger.queue.claim_head("thread", "worker") is None
    assert ledger.queue.claim_next("worker") == []
    assert ledger.queue.why_blocked("thread") == "not_yet"
    clock.advance(0.001)
    assert ledger.queue.why_blocked("thread") is None
    assert host.text(host.claim()) == "later"


def test_a_time_that_is_past_delays_nothing(ledger: Ledger, host: Host, clock: Clock) -> None:
    ledger.queue.append("thread", {"text": "now"}, not_before=clock.now - timedelta(days=1))
    assert host.text(host.claim()) == "now"


def test_a_time_comes_back_as_the_same_instant_in_utc(ledger: Ledger) -> None:
    tokyo = datetime(2026, 1, 6, 9, 30, 0, 123000, tzinfo=timezone(timedelta(hours=9)))
    ledger.queue.append("thread", {}, not_before=tokyo)
    [turn] = ledger.queue.list("thread")
    assert turn.not_before == datetime(2026, 1, 6, 0, 30, 0, 123000, tzinfo=UTC)
    assert turn.not_before.utcoffset() == timedelta(0)


def test_a_naive_time_is_refused(ledger: Ledger, store: Store) -> None:
    with pytest.raises(InvalidTime):
        ledger.queue.append("thread", {}, not_before=datetime(2026, 1, 6, 9, 30))  # noqa: DTZ001
    assert store.events() == []


@pytest.mark.parametrize("wrong", ["2026-01-06T09:30:00Z", 1767690000, True])
def test_what_is_no_time_is_refused(ledger: Ledger, store: Store, wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        ledger.queue.append("thread", {}, not_before=wrong)
    assert store.events() == []
