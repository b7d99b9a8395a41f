"""`list`: the visible queue, in pages by key. `get`: whatever became of a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger import InvalidInput

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger


def test_a_thread_that_never_was_has_an_empty_queue(ledger: Ledger, store: Store) -> None:
    assert ledger.queue.list("thread") == []
    assert store.events() == []


def test_pending_and_failed_turns_are_visible_and_a_claimed_one_isnt(
    ledger: Ledger, host: Host
) -> None:
    host.append("first", "second", "third")
    ledger.queue.fail(host.claim(), "no")
    assert [turn.state for turn in ledger.queue.list("thread")] == ["failed", "pending", "pending"]
    _, second, third = ledger.queue.list("thread")
    ledger.queue.delete("thread", ledger.queue.list("thread")[0].queued_turn_id)
    claim = host.claim()
    assert claim.queued_turn_id == second.queued_turn_id
    assert ledger.queue.list("thread") == [third]


def test_a_dispatching_turn_is_hidden(host: Host) -> None:
    host.append("first", "second")
    host.dispatch()
    assert host.texts() == ["second"]


def test_settled_turns_are_not_listed(ledger: Ledger, host: Host) -> None:
    first, _ = host.append("first", "second")
    ledger.queue.delete("thread", first)
    ledger.queue.ack(host.dispatch())
    assert ledger.queue.list("thread") == []


def test_the_pages_together_are_the_queue(ledger: Ledger, host: Host) -> None:
    host.append(*"abcde")
    pages, after = [], None
    while page := ledger.queue.list("thread", limit=2, after=after):
        pages.append([host.text(turn) for turn in page])
        after = page[-1].queue_order
    assert pages == [["a", "b"], ["c", "d"], ["e"]]


def test_a_page_doesnt_shift_when_the_head_is_dispatched(ledger: Ledger, host: Host) -> None:
    host.append(*"abcd")
    page = ledger.queue.list("thread", limit=2)
    host.dispatch()
    rest = ledger.queue.list("thread", limit=2, after=page[-1].queue_order)
    assert [host.text(turn) for turn in rest] == ["c", "d"]


def test_a_page_begins_behind_a_turn_that_is_gone(ledger: Ledger, host: Host) -> None:
    host.append(*"abcd")
    page = ledger.queue.list("thread", limit=2)
    ledger.queue.delete("thread", page[-1].queued_turn_id)
    rest = ledger.queue.list("thread", after=page[-1].queue_order)
    assert [host.text(turn) for turn in rest] == ["c", "d"]


def test_behind_the_last_turn_there_is_nothing(ledger: Ledger, host: Host) -> None:
    host.append("only")
    [turn] = ledger.queue.list("thread")
    assert ledger.queue.list("thread", after=turn.queue_order) == []
    assert ledger.queue.list("thread", after=turn.queue_order + 1000) == []


def test_the_orders_of_gone_turns_are_not_given_again(ledger: Ledger, host: Host) -> None:
    first, second = host.append("first", "second")
    ledger.queue.ack(host.dispatch())
    ledger.queue.delete("thread", second)
    [third] = host.append("third")
    orders = [host.turn(one).queue_order for one in (first, second, third)]
    assert orders == sorted(set(orders))


def test_a_negative_limit_is_refused(ledger: Ledger, host: Host) -> None:
    host.append("only")
    with pytest.raises(InvalidInput):
        ledger.queue.list("thread", limit=-1)


def test_listing_and_getting_record_nothing(ledger: Ledger, host: Host, store: Store) -> None:
    [only] = host.append("only")
    before = store.events()
    ledger.queue.list("thread")
    ledger.queue.get("thread", only)
    ledger.queue.why_blocked("thread")
    assert store.events() == before


def test_get_tells_the_state_all_the_way_to_acked(ledger: Ledger, host: Host) -> None:
    [only] = host.append("only")
    states = [host.turn(only).state]
    claim = host.claim()
    states.append(host.turn(only).state)
    ledger.queue.start_dispatch(claim, "dispatch")
    states.append(host.turn(only).state)
    ledger.queue.fail(claim, "no")
    states.append(host.turn(only).state)
    ledger.queue.retry("thread", only)
    states.append(host.turn(only).state)
    ledger.queue.ack(host.dispatch("again"))
    states.append(host.turn(only).state)
    assert states == ["pending", "claimed", "dispatching", "failed", "pending", "acked"]


def test_get_shows_the_claim_of_a_turn_in_flight(host: Host) -> None:
    [only] = host.append("only")
    claim = host.dispatch("my dispatch", "me")
    turn = host.turn(only)
    assert (turn.owner, turn.epoch, turn.expires_at) == ("me", claim.epoch, claim.expires_at)
    assert turn.dispatch_id == "my dispatch"


@pytest.mark.parametrize("end", ["acked", "deleted"])
def test_get_answers_for_a_turn_that_is_gone(ledger: Ledger, host: Host, end: str) -> None:
    [only] = host.append("only")
    if end == "acked":
        ledger.queue.ack(host.dispatch())
    else:
        ledger.queue.delete("thread", only)
    turn = host.turn(only)
    assert (turn.state, turn.submission, turn.thread_id) == (end, {"text": "only"}, "thread")


def test_get_gives_none_for_what_never_was(ledger: Ledger, host: Host) -> None:
    [only] = host.append("only")
    assert ledger.queue.get("thread", "never") is None
    assert ledger.queue.get("other", only) is None


def test_what_comes_back_is_frozen(ledger: Ledger, host: Host) -> None:
    host.append("only")
    [turn] = ledger.queue.list("thread")
    values: tuple[Any, ...] = (turn, host.claim())
    for value in values:
        with pytest.raises(AttributeError):
            value.thread_id = "other"


def test_json_inside_is_a_fresh_copy(ledger: Ledger) -> None:
    given: dict[str, Any] = {"list": [1]}
    appended = ledger.queue.append("thread", given)
    given["list"].append(2)
    assert appended.submission == {"list": [1]}
    assert appended.submission is not None
    appended.submission["list"].append(3)
    [listed] = ledger.queue.list("thread")
    assert listed.submission == {"list": [1]}
    assert type(listed.submission) is dict
    assert type(listed.submission["list"]) is list


@pytest.mark.usefixtures("ledger")
def test_the_read_models_have_the_columns_of_the_page(store: Store) -> None:
    visible = {"thread_id", "queue_order", "queued_turn_id", "submission", "state", "failure"}
    visible |= {"outcome_unknown", "dispatch_id", "evidence", "attempts", "not_before"}
    assert visible | {"created_at", "updated_at"} <= store.columns("visible_queue")
    in_flight = {"thread_id", "queued_turn_id", "dispatch_id", "owner", "epoch", "expires_at"}
    assert in_flight <= store.columns("in_flight_turns")


def test_the_read_models_hold_visible_and_in_flight_turns_only(
    ledger: Ledger, host: Host, store: Store
) -> None:
    first, second, third, fourth = host.append("first", "second", "third", "fourth")
    ledger.queue.ack(host.dispatch("one"))
    ledger.queue.delete("thread", second)
    host.claim()
    assert store.rows("SELECT queued_turn_id FROM visible_queue") == [(fourth,)]
    assert store.rows("SELECT queued_turn_id FROM in_flight_turns") == [(third,)]
    assert host.turn(first).state == "acked"


def test_a_turn_is_stamped_when_it_changes(ledger: Ledger, host: Host, clock: Clock) -> None:
    [only] = host.append("only")
    appended = clock.now
    clock.advance(5)
    ledger.queue.edit("thread", only, {"text": "other"})
    turn = host.turn(only)
    assert (turn.created_at, turn.updated_at) == (appended, clock.now)
