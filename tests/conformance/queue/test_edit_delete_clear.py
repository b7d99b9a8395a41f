"""Changing what waits: `edit`, `delete`, `clear`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnledger import ClaimLost, InvalidTransition, PayloadTooLarge, QueuedTurnNotFound

if TYPE_CHECKING:
    from tests.conformance.conftest import Host, Store
    from turnledger import Ledger

MEBIBYTE = 1024 * 1024


def test_an_edited_turn_keeps_its_id_and_its_place(ledger: Ledger, host: Host) -> None:
    _, second, _ = host.append("first", "second", "third")
    before = host.turn(second)
    edited = ledger.queue.edit("thread", second, {"text": "edited"})
    assert (edited.queued_turn_id, edited.queue_order) == (second, before.queue_order)
    assert edited.submission == {"text": "edited"}
    assert host.texts() == ["first", "edited", "third"]


def test_an_edited_head_is_claimed_as_edited(ledger: Ledger, host: Host) -> None:
    [head] = host.append("before")
    ledger.queue.edit("thread", head, {"text": "after"})
    assert host.text(host.claim()) == "after"


def test_a_failed_turn_can_be_edited_and_stays_failed(ledger: Ledger, host: Host) -> None:
    [head] = host.append("before")
    ledger.queue.fail(host.claim(), "too long")
    ledger.queue.edit("thread", head, {"text": "after"})
    turn = host.turn(head)
    assert (turn.state, turn.failure, turn.submission) == ("failed", "too long", {"text": "after"})


def test_the_former_text_stays_in_the_history(ledger: Ledger, host: Host, store: Store) -> None:
    [head] = host.append("the former text")
    ledger.queue.edit("thread", head, {"text": "the later text"})
    history = "".join(event.data for event in store.events())
    assert "the former text" in history
    assert "the later text" in history


def test_an_edit_of_what_isnt_there_is_refused(ledger: Ledger, host: Host, store: Store) -> None:
    acked, deleted, here = host.append("acked", "deleted", "here")
    ledger.queue.ack(host.dispatch())
    ledger.queue.delete("thread", deleted)
    before = store.events()
    for thread, turn in (("thread", "never"), ("thread", acked), ("thread", deleted)):
        with pytest.raises(QueuedTurnNotFound):
            ledger.queue.edit(thread, turn, {"text": "lost"})
    with pytest.raises(QueuedTurnNotFound) as refusal:
        ledger.queue.edit("other", here, {"text": "lost"})
    facts = vars(refusal.value)
    assert (facts["thread_id"], facts["queued_turn_id"]) == ("other", here)
    assert store.events() == before


@pytest.mark.parametrize("dispatching", [False, True])
def test_an_edit_of_a_turn_in_flight_is_refused(
    ledger: Ledger, host: Host, store: Store, *, dispatching: bool
) -> None:
    [head] = host.append("head")
    _ = host.dispatch() if dispatching else host.claim()
    before = store.events()
    with pytest.raises(InvalidTransition):
        ledger.queue.edit("thread", head, {"text": "lost"})
    assert store.events() == before
    assert host.turn(head).submission == {"text": "head"}


def test_an_edit_has_the_limit_of_a_submission(ledger: Ledger, host: Host) -> None:
    [head] = host.append("head")
    with pytest.raises(PayloadTooLarge):
        ledger.queue.edit("thread", head, {"t": "x" * MEBIBYTE})
    assert host.texts() == ["head"]


@pytest.mark.parametrize("failed", [False, True])
def test_a_visible_turn_can_be_deleted_once(ledger: Ledger, host: Host, *, failed: bool) -> None:
    head, _ = host.append("head", "behind")
    if failed:
        ledger.queue.fail(host.claim(), "no")
    assert ledger.queue.delete("thread", head) is True
    assert ledger.queue.delete("thread", head) is False
    assert host.turn(head).state == "deleted"
    assert host.texts() == ["behind"]


def test_deleting_a_failed_head_lets_the_rest_go_on(ledger: Ledger, host: Host) -> None:
    head, _ = host.append("head", "behind")
    ledger.queue.fail(host.claim(), "no")
    ledger.queue.delete("thread", head)
    assert host.text(host.claim()) == "behind"


def test_what_isnt_visible_in_the_thread_cant_be_deleted(
    ledger: Ledger, host: Host, store: Store
) -> None:
    acked, claimed = host.append("acked", "claimed")
    [dispatching] = host.append("dispatching", thread="other")
    ledger.queue.ack(host.dispatch())
    host.claim()
    host.dispatch(thread="other")
    [elsewhere] = host.append("elsewhere", thread="third")
    before = store.events()
    assert ledger.queue.delete("thread", "never") is False
    assert ledger.queue.delete("thread", acked) is False
    assert ledger.queue.delete("thread", claimed) is False
    assert ledger.queue.delete("other", dispatching) is False
    assert ledger.queue.delete("thread", elsewhere) is False
    assert store.events() == before
    assert host.texts("third") == ["elsewhere"]


def test_clear_ends_every_visible_turn(ledger: Ledger, host: Host) -> None:
    failed, pending = host.append("failed", "pending")
    ledger.queue.fail(host.claim(), "no")
    assert ledger.queue.clear("thread") == 2
    assert [host.turn(one).state for one in (failed, pending)] == ["deleted", "deleted"]
    assert ledger.queue.list("thread") == []
    assert ledger.queue.why_blocked("thread") == "empty"


@pytest.mark.parametrize("dispatching", [False, True])
def test_clear_fences_off_what_is_in_flight(
    ledger: Ledger, host: Host, *, dispatching: bool
) -> None:
    head, _ = host.append("head", "behind")
    claim = host.dispatch() if dispatching else host.claim()
    assert ledger.queue.clear("thread") == 2
    assert host.turn(head).state == "deleted"
    for command in (ledger.queue.renew, ledger.queue.release, ledger.queue.ack):
        with pytest.raises(ClaimLost):
            command(claim)
    with pytest.raises(ClaimLost):
        ledger.queue.start_dispatch(claim, "dispatch")


def test_a_cleared_thread_lives_on(ledger: Ledger, host: Host) -> None:
    host.append("before")
    before = host.claim()
    ledger.queue.clear("thread")
    host.append("after")
    claim = host.claim()
    assert host.text(claim) == "after"
    assert claim.epoch == before.epoch + 1


def test_clearing_an_empty_queue_is_nothing(ledger: Ledger, host: Host, store: Store) -> None:
    assert ledger.queue.clear("thread") == 0
    host.append("only")
    ledger.queue.clear("thread")
    before = store.events()
    assert ledger.queue.clear("thread") == 0
    assert store.events() == before


def test_clear_touches_no_other_thread(ledger: Ledger, host: Host) -> None:
    host.append("here")
    host.append("there", thread="other")
    ledger.queue.clear("thread")
    assert host.texts("other") == ["there"]
