"""`reorder`: an exact permutation of the visible queue, or nothing moves."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from turnledger import InvalidInput, ReorderMismatch

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger


def test_reorder_gives_the_visible_queue_in_the_new_order(ledger: Ledger, host: Host) -> None:
    a, b, c = host.append("a", "b", "c")
    turns = ledger.queue.reorder("thread", [c, a, b])
    assert [host.text(turn) for turn in turns] == ["c", "a", "b"]
    assert ledger.queue.list("thread") == turns
    assert host.text(host.claim()) == "c"


def test_the_orders_stay_distinct_and_rising(ledger: Ledger, host: Host) -> None:
    a, b, c = host.append("a", "b", "c")
    ledger.queue.reorder("thread", [b, c, a])
    ledger.queue.reorder("thread", [a, c, b])
    host.append("d")
    orders = [turn.queue_order for turn in ledger.queue.list("thread")]
    assert orders == sorted(set(orders))
    assert host.texts() == ["a", "c", "b", "d"]


def test_a_mismatch_names_the_missing_and_the_unknown_ids(
    ledger: Ledger, host: Host, store: Store
) -> None:
    a, b, c = host.append("a", "b", "c")
    before = store.events()
    with pytest.raises(ReorderMismatch) as refusal:
        ledger.queue.reorder("thread", [c, "strange", a])
    assert list(refusal.value.missing) == [b]
    assert list(refusal.value.unknown) == ["strange"]
    assert b in str(refusal.value)
    assert "strange" in str(refusal.value)
    assert host.texts() == ["a", "b", "c"]
    assert store.events() == before


def test_what_isnt_an_exact_permutation_is_refused(
    ledger: Ledger, host: Host, store: Store
) -> None:
    a, b = host.append("a", "b")
    [foreign] = host.append("foreign", thread="other")
    before = store.events()
    for ids in ([a], [], [a, b, b], [a, a], [a, b, foreign], [a, foreign]):
        with pytest.raises(ReorderMismatch):
            ledger.queue.reorder("thread", ids)
    assert host.texts() == ["a", "b"]
    assert store.events() == before


def test_a_turn_in_flight_is_unknown_to_a_reorder(ledger: Ledger, host: Host) -> None:
    a, b, c = host.append("a", "b", "c")
    host.claim()
    with pytest.raises(ReorderMismatch) as refusal:
        ledger.queue.reorder("thread", [c, b, a])
    assert list(refusal.value.unknown) == [a]
    assert list(refusal.value.missing) == []


def test_the_turn_in_flight_keeps_its_place_ahead(ledger: Ledger, host: Host) -> None:
    _, b, c = host.append("a", "b", "c")
    claim = host.claim()
    ledger.queue.reorder("thread", [c, b])
    ledger.queue.reorder("thread", [b, c])
    ledger.queue.reorder("thread", [c, b])
    ledger.queue.release(claim)
    assert host.texts() == ["a", "c", "b"]


def test_a_failed_head_can_be_put_behind(ledger: Ledger, host: Host) -> None:
    failed, b = host.append("failed", "b")
    ledger.queue.fail(host.claim(), "no")
    ledger.queue.reorder("thread", [b, failed])
    assert ledger.queue.why_blocked("thread") is None
    assert host.text(host.claim()) == "b"


def test_a_turn_that_waits_for_its_time_can_be_put_behind(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    later = ledger.queue.append("thread", {"text": "l"}, not_before=clock.now + timedelta(days=1))
    [now] = host.append("now")
    ledger.queue.reorder("thread", [now, later.queued_turn_id])
    assert [host.text(claim) for claim in ledger.queue.claim_next("worker")] == ["now"]


def test_an_empty_queue_has_one_order(ledger: Ledger, store: Store) -> None:
    assert ledger.queue.reorder("thread", []) == []
    assert store.events() == []


def test_text_is_no_list_of_ids(ledger: Ledger) -> None:
    for one in "ab":
        ledger.queue.append("thread", {}, queued_turn_id=one)
    with pytest.raises(InvalidInput):
        ledger.queue.reorder("thread", "ba")


def test_other_threads_keep_their_order(ledger: Ledger, host: Host) -> None:
    host.append("x", "y", thread="other")
    a, b = host.append("a", "b")
    ledger.queue.reorder("thread", [b, a])
    assert host.texts("other") == ["x", "y"]
