"""Rules 1, 2, 6 and 10: what every command of the queue records, and how it refuses."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

import turnledger
from turnledger import LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store, StoredEvent
    from turnledger import Ledger


def work(host: Host, clock: Clock) -> None:
    """Every command of the queue, once at least."""
    queue = host.ledger.queue
    first, second = host.append("first", "second")
    queue.append_many("thread", [{"text": "third"}, {"text": "fourth"}], idempotency_key="key")
    queue.edit("thread", second, {"text": "edited"})
    queue.pause("thread", "by hand")
    queue.resume("thread")
    queue.release(host.claim())
    [claim] = queue.claim_next("worker")
    queue.start_dispatch(queue.renew(claim), "one")
    queue.fail(claim, "no")
    queue.retry("thread", first)
    host.dispatch("two")
    clock.advance(60)
    queue.recover()
    queue.resolve("thread", first, "acked", by="me")
    queue.reorder("thread", [turn.queued_turn_id for turn in queue.list("thread")][::-1])
    queue.ack(host.dispatch("three"))
    host.dispatch("four")
    queue.ack_dispatch("thread", "four")
    queue.delete("thread", second)
    host.append("fifth", "sixth")
    host.claim()
    queue.fail_in_flight("thread", "restart")
    queue.clear("thread")


def metadata(event: StoredEvent) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(event.metadata)
    return decoded


def test_positions_and_versions_have_no_gaps(host: Host, clock: Clock, store: Store) -> None:
    work(host, clock)
    host.append("there", thread="other")
    events = store.events()
    assert all(a.position < b.position for a, b in pairwise(events))
    for stream in {event.stream_id for event in events}:
        versions = [event.version for event in events if event.stream_id == stream]
        assert versions == list(range(versions[0], versions[0] + len(versions)))


def test_every_command_has_an_id_of_its_own(host: Host, clock: Clock, store: Store) -> None:
    work(host, clock)
    ids: dict[str, list[StoredEvent]] = {}
    for event in store.events():
        ids.setdefault(metadata(event)["command"]["id"], []).append(event)
    for command_id, events in ids.items():
        assert UUID(command_id).version == 7
        assert str(UUID(command_id)) == command_id
        assert len({metadata(event)["command"]["name"] for event in events}) == 1
        positions = [event.position for event in events]
        assert positions[-1] - positions[0] == len(positions) - 1


def test_the_events_of_append_many_are_of_one_command(ledger: Ledger, store: Store) -> None:
    ledger.queue.append_many("thread", [{}, {}, {}])
    assert len({metadata(event)["command"]["id"] for event in store.events()}) == 1


def test_who_acts_is_recorded_for_a_block(ledger: Ledger, host: Host, store: Store) -> None:
    with ledger.acting_as(actor="ada", correlation_id="request 7"):
        host.append("first")
    host.append("second")
    first, second = (metadata(event) for event in store.events())
    assert (first["actor"], first["correlation_id"]) == ("ada", "request 7")
    assert second.get("actor") is None
    assert second.get("correlation_id") is None


def test_a_key_is_recorded(ledger: Ledger, store: Store) -> None:
    ledger.queue.append("thread", {}, idempotency_key="my key")
    [event] = store.events()
    assert metadata(event)["idempotency_key"] == "my key"


def test_a_submission_is_recorded_once(ledger: Ledger, store: Store) -> None:
    ledger.queue.append("thread", {"text": "the submission"})
    [event] = store.events()
    assert event.data.count("the submission") == 1
    assert "the submission" not in event.metadata


def refusals(ledger: Ledger, host: Host) -> list[tuple[str, Callable[[], object]]]:
    """One call for each kind of refusal of the queue."""
    queue = ledger.queue
    claim = host.hand_made("worker", 1)
    return [
        ("claim_lost", lambda: queue.renew(claim)),
        ("idempotency_conflict", lambda: queue.append("thread", {"n": 2}, idempotency_key="key")),
        ("invalid_duration", lambda: queue.claim_head("thread", "worker", 0)),
        ("invalid_identifier", lambda: queue.append("", {})),
        ("invalid_payload", lambda: queue.append("thread", {"n": float("nan")})),
        ("invalid_transition", lambda: queue.retry("thread", "mine")),
        ("payload_too_large", lambda: queue.append("thread", {"t": "x" * 1024 * 1024})),
        ("queued_turn_not_found", lambda: queue.edit("thread", "never", {})),
        ("reorder_mismatch", lambda: queue.reorder("thread", ["never"])),
        ("queue_full", lambda: queue.append_many("thread", [{}] * 101)),
    ]


def test_every_refusal_has_a_stable_code_and_a_message(ledger: Ledger, host: Host) -> None:
    ledger.queue.append("thread", {"n": 1}, idempotency_key="key")
    ledger.queue.append("thread", {"n": 1}, queued_turn_id="mine")
    for code, call in refusals(ledger, host):
        with pytest.raises(LedgerError) as refusal:
            call()
        assert refusal.value.code == code
        assert type(refusal.value) is getattr(turnledger, type(refusal.value).__name__)
        assert len(str(refusal.value)) > 10


def test_everything_can_be_rebuilt_from_the_events(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    work(host, clock)
    host.append("failed", "pending", thread="other")
    ledger.queue.fail(host.claim(thread="other"), "no")
    host.append("flying", thread="third")
    host.dispatch(thread="third")
    verification = ledger.verify()
    assert verification.findings == ()
    assert verification.ok is True


def test_a_failed_transaction_leaves_nothing(ledger: Ledger, host: Host, store: Store) -> None:
    host.append("first")
    before = store.events()
    with pytest.raises(LedgerError):
        ledger.queue.append_many("thread", [{"n": 1}] * 99 + [{"n": 2}] * 2, idempotency_key="k")
    assert store.events() == before
    assert host.texts() == ["first"]
    assert ledger.queue.append("thread", {"n": 3}, idempotency_key="k").duplicate is False
