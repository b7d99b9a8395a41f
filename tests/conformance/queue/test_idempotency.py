"""Rule 5: the same request again gives the first result, and records nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import IdempotencyConflict, PayloadTooLarge, QueueFull

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger, QueuedTurn

FACTS = (
    *("thread_id", "queued_turn_id", "queue_order", "submission", "state", "failure"),
    *("outcome_unknown", "dispatch_id", "evidence", "attempts", "not_before", "created_at"),
    *("updated_at", "owner", "epoch", "expires_at"),
)
BY_KEY: dict[str, Any] = {"idempotency_key": "mine"}
BY_ID: dict[str, Any] = {"queued_turn_id": "mine"}
EITHER = pytest.mark.parametrize("named", [BY_KEY, BY_ID], ids=["key", "id"])


def facts(turn: QueuedTurn) -> list[Any]:
    return [getattr(turn, name) for name in FACTS]


def test_the_same_again_gives_the_first_result(ledger: Ledger, store: Store) -> None:
    first = ledger.queue.append("thread", {"text": "hello"}, idempotency_key="key")
    before = store.events()
    again = ledger.queue.append("thread", {"text": "hello"}, idempotency_key="key")
    assert (first.duplicate, again.duplicate) == (False, True)
    assert facts(again) == facts(first)
    assert store.events() == before
    assert len(ledger.queue.list("thread")) == 1


def test_the_same_without_a_key_is_another_turn(ledger: Ledger) -> None:
    ledger.queue.append("thread", {"text": "hello"})
    assert ledger.queue.append("thread", {"text": "hello"}).duplicate is False
    assert len(ledger.queue.list("thread")) == 2


def edit(host: Host, turn: str) -> None:
    host.ledger.queue.edit("thread", turn, {"text": "edited"})


def ack(host: Host, _turn: str) -> None:
    host.ledger.queue.ack(host.dispatch())


def fail(host: Host, _turn: str) -> None:
    host.ledger.queue.fail(host.dispatch(), "no")


def delete(host: Host, turn: str) -> None:
    host.ledger.queue.delete("thread", turn)


def clear(host: Host, _turn: str) -> None:
    host.ledger.queue.clear("thread")


def claim(host: Host, _turn: str) -> None:
    host.claim()


@pytest.mark.parametrize("change", [edit, ack, fail, delete, clear, claim])
@EITHER
def test_the_first_result_comes_back_as_it_was(
    ledger: Ledger,
    host: Host,
    clock: Clock,
    named: dict[str, Any],
    change: Callable[[Host, str], None],
) -> None:
    later = clock.now - timedelta(days=1)
    arguments = {"not_before": later, **named}
    first = ledger.queue.append("thread", {"text": "only"}, **arguments)
    clock.advance(1)
    change(host, first.queued_turn_id)
    clock.advance(1)
    again = ledger.queue.append("thread", {"text": "only"}, **arguments)
    assert again.duplicate is True
    assert facts(again) == facts(first)


@EITHER
def test_receipts_survive_a_restart(
    ledger: Ledger, open_ledger: Callable[..., Ledger], named: dict[str, Any]
) -> None:
    first = ledger.queue.append("thread", {"text": "hello"}, **named)
    ledger.close()
    again = open_ledger().queue.append("thread", {"text": "hello"}, **named)
    assert again.duplicate is True
    assert facts(again) == facts(first)


def test_the_scope_of_a_key_is_the_thread(ledger: Ledger) -> None:
    for named in (BY_KEY, BY_ID):
        here = ledger.queue.append("thread", {"text": str(named)}, **named)
        there = ledger.queue.append("other", {"text": str(named)}, **named)
        assert (here.duplicate, there.duplicate) == (False, False)


def conflicts(ledger: Ledger, clock: Clock) -> list[Callable[[], object]]:
    """Other requests than {"n": 1} with the key."""
    queue, key = ledger.queue, "key"
    return [
        lambda: queue.append("thread", {"n": 2}, idempotency_key=key),
        lambda: queue.append("thread", {"n": "1"}, idempotency_key=key),
        lambda: queue.append("thread", {"n": True}, idempotency_key=key),
        lambda: queue.append("thread", {}, idempotency_key=key),
        lambda: queue.append("thread", {"n": 1}, idempotency_key=key, not_before=clock.now),
        lambda: queue.append("thread", {"n": 1}, idempotency_key=key, queued_turn_id="mine"),
        lambda: queue.append_many("thread", [{"n": 1}], idempotency_key=key),
    ]


def test_a_key_with_other_content_is_a_conflict(ledger: Ledger, clock: Clock, store: Store) -> None:
    ledger.queue.append("thread", {"n": 1}, idempotency_key="key")
    before = store.events()
    for request in conflicts(ledger, clock):
        with pytest.raises(IdempotencyConflict):
            request()
    assert store.events() == before


def test_a_chosen_id_with_other_content_is_a_conflict(
    ledger: Ledger, clock: Clock, store: Store
) -> None:
    first = ledger.queue.append("thread", {"n": 1}, queued_turn_id="mine")
    before = store.events()
    with pytest.raises(IdempotencyConflict):
        ledger.queue.append("thread", {"n": 2}, queued_turn_id="mine")
    with pytest.raises(IdempotencyConflict):
        ledger.queue.append("thread", {"n": 1}, queued_turn_id="mine", not_before=clock.now)
    ledger.queue.delete("thread", first.queued_turn_id)
    with pytest.raises(IdempotencyConflict):
        ledger.queue.append("thread", {"n": 2}, queued_turn_id="mine")
    assert len(store.events()) == len(before) + 1


def test_content_is_compared_as_canonical_json(ledger: Ledger) -> None:
    ledger.queue.append("thread", {"a": 1, "b": [1.0, "é"]}, idempotency_key="key")
    again = ledger.queue.append("thread", {"b": [1, "é"], "a": 1.0}, idempotency_key="key")
    assert again.duplicate is True
    with pytest.raises(IdempotencyConflict):
        ledger.queue.append("thread", {"a": 1, "b": [1, "e\u0301"]}, idempotency_key="key")


@pytest.mark.parametrize("large", [2**53, -(2**53), 10**30, 10**400])
def test_large_integers_are_compared_in_full(ledger: Ledger, large: int) -> None:
    ledger.queue.append("thread", {"n": large}, idempotency_key="key")
    assert ledger.queue.append("thread", {"n": large}, idempotency_key="key").duplicate is True
    for other in (large + 1, large - 1):
        with pytest.raises(IdempotencyConflict):
            ledger.queue.append("thread", {"n": other}, idempotency_key="key")


def test_one_key_is_for_all_of_append_many(ledger: Ledger, store: Store) -> None:
    submissions = [{"n": 1}, {"n": 2}, {"n": 3}]
    first = ledger.queue.append_many("thread", submissions, idempotency_key="key")
    before = store.events()
    ledger.queue.edit("thread", first[1].queued_turn_id, {"n": 22})
    ledger.queue.delete("thread", first[0].queued_turn_id)
    again = ledger.queue.append_many("thread", submissions, idempotency_key="key")
    assert [turn.duplicate for turn in again] == [True, True, True]
    assert [facts(turn) for turn in again] == [facts(turn) for turn in first]
    assert len(store.events()) == len(before) + 2


def test_append_many_with_other_content_is_a_conflict(ledger: Ledger, store: Store) -> None:
    ledger.queue.append_many("thread", [{"n": 1}, {"n": 2}], idempotency_key="key")
    before = store.events()
    for other in ([{"n": 2}, {"n": 1}], [{"n": 1}], [{"n": 1}, {"n": 2}, {"n": 2}]):
        with pytest.raises(IdempotencyConflict):
            ledger.queue.append_many("thread", other, idempotency_key="key")
    with pytest.raises(IdempotencyConflict):
        ledger.queue.append("thread", {"n": 1}, idempotency_key="key")
    assert store.events() == before


def test_a_refusal_has_no_receipt(open_ledger: Callable[..., Ledger]) -> None:
    queue = open_ledger(max_visible_turns=1).queue
    queue.append("thread", {"n": 0})
    with pytest.raises(QueueFull):
        queue.append("thread", {"n": 1}, idempotency_key="key", queued_turn_id="mine")
    with pytest.raises(QueueFull):
        queue.append_many("thread", [{"n": 1}], idempotency_key="many")
    queue.clear("thread")
    turn = queue.append("thread", {"n": 2}, idempotency_key="key", queued_turn_id="mine")
    queue.clear("thread")
    [other] = queue.append_many("thread", [{"n": 2}], idempotency_key="many")
    assert (turn.duplicate, other.duplicate) == (False, False)


def test_bad_input_has_no_receipt(open_ledger: Callable[..., Ledger]) -> None:
    queue = open_ledger(max_payload_bytes=10).queue
    with pytest.raises(PayloadTooLarge):
        queue.append("thread", {"text": "too long"}, idempotency_key="key")
    assert queue.append("thread", {"n": 1}, idempotency_key="key").duplicate is False


def test_a_key_is_checked_before_the_limit(open_ledger: Callable[..., Ledger]) -> None:
    queue = open_ledger(max_visible_turns=3).queue
    queue.append("thread", {"n": 1}, **BY_KEY)
    queue.append("thread", {"n": 1}, **BY_ID)
    queue.append_many("thread", [{"n": 1}], idempotency_key="many")
    assert queue.append("thread", {"n": 1}, **BY_KEY).duplicate
    assert queue.append("thread", {"n": 1}, **BY_ID).duplicate
    assert queue.append_many("thread", [{"n": 1}], idempotency_key="many")[0].duplicate
    for named in (BY_KEY, BY_ID):
        with pytest.raises(IdempotencyConflict):
            queue.append("thread", {"n": 2}, **named)


def test_a_key_and_an_id_may_come_together(ledger: Ledger, store: Store) -> None:
    named: dict[str, Any] = {"idempotency_key": "key", "queued_turn_id": "mine"}
    first = ledger.queue.append("thread", {"n": 1}, **named)
    before = store.events()
    again = ledger.queue.append("thread", {"n": 1}, **named)
    by_id = ledger.queue.append("thread", {"n": 1}, queued_turn_id="mine")
    assert facts(again) == facts(by_id) == facts(first)
    assert (again.duplicate, by_id.duplicate) == (True, True)
    for other in ("another", None):
        with pytest.raises(IdempotencyConflict):
            ledger.queue.append("thread", {"n": 1}, idempotency_key="key", queued_turn_id=other)
    assert store.events() == before


def test_an_id_is_unique_in_its_thread(ledger: Ledger, host: Host, store: Store) -> None:
    [generated] = host.append("generated")
    before = store.events()
    with pytest.raises(IdempotencyConflict):
        ledger.queue.append("thread", {"text": "other"}, queued_turn_id=generated)
    assert store.events() == before


@EITHER
def test_of_many_concurrent_requests_one_creates(ledger: Ledger, named: dict[str, Any]) -> None:
    barrier = Barrier(8)

    def request(_number: int) -> QueuedTurn:
        barrier.wait()
        return ledger.queue.append("thread", {"text": "once"}, **named)

    with ThreadPoolExecutor(8) as pool:
        turns = list(pool.map(request, range(8)))
    assert sorted(turn.duplicate for turn in turns) == [False] + [True] * 7
    assert len({turn.queued_turn_id for turn in turns}) == 1
    assert len(ledger.queue.list("thread")) == 1
