"""`append_many`: all in one transaction, in order, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger import InvalidPayload, PayloadTooLarge, QueueFull

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Host, Store
    from turnledger import Ledger


def test_all_go_behind_everything_in_the_order_given(ledger: Ledger, host: Host) -> None:
    host.append("first")
    turns = ledger.queue.append_many("thread", [{"text": "second"}, {"text": "third"}])
    assert [host.text(turn) for turn in turns] == ["second", "third"]
    assert host.texts() == ["first", "second", "third"]
    assert [turn.duplicate for turn in turns] == [False, False]


def test_each_has_an_id_and_a_place_of_its_own(ledger: Ledger) -> None:
    turns = ledger.queue.append_many("thread", [{}, {}, {}])
    assert len({turn.queued_turn_id for turn in turns}) == 3
    orders = [turn.queue_order for turn in turns]
    assert orders == sorted(set(orders))
    assert ledger.queue.list("thread") == turns


def test_nothing_to_append_is_an_empty_list(ledger: Ledger, store: Store) -> None:
    assert ledger.queue.append_many("thread", []) == []
    assert store.events() == []


def test_as_many_as_fit_are_taken(open_ledger: Callable[..., Ledger]) -> None:
    queue = open_ledger(max_visible_turns=3).queue
    queue.append("thread", {})
    queue.append_many("thread", [{}, {}])
    assert len(queue.list("thread")) == 3


def test_none_is_taken_if_they_dont_all_fit(
    open_ledger: Callable[..., Ledger], store: Store
) -> None:
    queue = open_ledger(max_visible_turns=3).queue
    queue.append("thread", {})
    before = store.events()
    with pytest.raises(QueueFull):
        queue.append_many("thread", [{}, {}, {}])
    assert store.events() == before
    assert len(queue.list("thread")) == 1


@pytest.mark.parametrize("bad", [[], "text", None, {"n": float("nan")}, {1: "key"}])
def test_none_is_taken_if_one_is_bad(ledger: Ledger, store: Store, bad: Any) -> None:
    with pytest.raises(InvalidPayload):
        ledger.queue.append_many("thread", [{"text": "good"}, bad])
    assert store.events() == []


def test_the_size_limit_is_for_each_of_them(open_ledger: Callable[..., Ledger]) -> None:
    queue = open_ledger(max_payload_bytes=20).queue
    fits = {"text": "123456789"}
    queue.append_many("thread", [fits, fits])
    with pytest.raises(PayloadTooLarge):
        queue.append_many("thread", [fits, {"text": "1234567890"}])
    assert [turn.submission for turn in queue.list("thread")] == [fits, fits]
