"""`recover`, `undelivered` and `requeue`: what becomes of a claim that is over."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import (
    ClaimLost,
    InboxRecovery,
    InvalidPayload,
    InvalidTransition,
    Ledger,
    MessageClaim,
    ThreadArchived,
    ThreadDeleted,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock
    from tests.conformance.inbox.conftest import Box

NOTHING = InboxRecovery()


@pytest.fixture
def expired(box: Box, clock: Clock) -> MessageClaim:
    """A claim that is over, of the first of two messages."""
    box.post("one", "two")
    claim = box.claim()
    clock.advance(60)
    return claim


def test_a_live_claim_isnt_recovered(box: Box, clock: Clock) -> None:
    box.post("one")
    claim = box.claim()
    clock.advance(59.999)
    assert box.inbox.recover() == NOTHING
    assert box.inbox.recover("thread", mode="at_least_once") == NOTHING
    box.inbox.release(claim)


def test_at_most_once_is_what_isnt_said(box: Box, expired: MessageClaim) -> None:
    assert box.inbox.recover() == InboxRecovery(messages_expired=1)
    kept = box.message(expired.message_id)
    assert (kept.state, kept.deliveries) == ("expired", 1)
    assert kept.reason is not None
    assert (box.undelivered(), box.texts()) == (["one"], ["two"])
    assert box.claim().content == "two"


def test_at_least_once_lets_it_wait_in_its_own_place_and_counts(
    box: Box, expired: MessageClaim
) -> None:
    box.back_dated("older", 3_600)
    assert box.inbox.recover("thread", mode="at_least_once") == InboxRecovery(messages_pending=1)
    assert (box.texts(), box.undelivered()) == (["older", "one", "two"], [])
    assert box.message(expired.message_id).deliveries == 1
    box.inbox.confirm(box.claim())
    again = box.claim()
    assert (again.message_id, again.deliveries) == (expired.message_id, 2)


def test_recovering_again_does_nothing(box: Box, expired: MessageClaim) -> None:
    box.inbox.recover()
    assert box.inbox.recover() == NOTHING
    assert box.inbox.recover("thread", mode="at_least_once") == NOTHING
    assert box.state(expired.message_id) == "expired"


def test_the_owner_of_a_recovered_claim_has_lost_it(box: Box, expired: MessageClaim) -> None:
    box.inbox.recover()
    for command in (box.inbox.confirm, box.inbox.release):
        with pytest.raises(ClaimLost):
            command(expired)


def test_all_threads_are_recovered_and_those_with_live_claims_are_not(
    box: Box, clock: Clock
) -> None:
    names = [f"thread {number:03}" for number in range(103)]
    for name in names:
        box.post("one", thread=name)
        box.claim(thread=name)
    box.post("live", thread="live")
    clock.advance(59)
    live = box.claim(thread="live")
    clock.advance(1)
    assert box.inbox.recover() == InboxRecovery(messages_expired=103)
    assert {box.undelivered(name)[0] for name in names} == {"one"}
    box.inbox.confirm(live)


def test_one_thread_alone_is_recovered(box: Box, clock: Clock) -> None:
    for thread in ("thread", "other"):
        box.post("one", thread=thread)
        box.claim(thread=thread)
    clock.advance(60)
    assert box.inbox.recover("other") == InboxRecovery(messages_expired=1)
    assert (box.undelivered(), box.undelivered("other")) == ([], ["one"])


def test_a_lease_that_ends_too_far_ahead_is_over(
    box: Box, open_ledger: Callable[..., Ledger]
) -> None:
    box.post("one")
    box.claim(lease=timedelta(hours=24))
    strict = open_ledger(max_lease=timedelta(hours=1))
    assert strict.inbox.recover() == InboxRecovery(messages_expired=1)


def test_a_message_whose_claims_are_lost_again_and_again_is_set_aside(
    open_ledger: Callable[..., Ledger], clock: Clock
) -> None:
    ledger = open_ledger(max_claims=1)
    ledger.inbox.post("thread", "poison", source="test")
    for _ in range(2):
        ledger.inbox.claim_next(
            "thread", "worker", can_after_turn=True, can_steer_current_turn=False
        )
        clock.advance(60)
        ledger.inbox.recover(mode="at_least_once")
    (kept,) = ledger.inbox.undelivered("thread")
    assert (kept.reason, kept.deliveries) == ("claimed 2 times and never confirmed", 2)


@pytest.mark.parametrize("mode", ["", "exactly_once", None])
def test_an_unknown_mode_is_refused(box: Box, mode: Any) -> None:
    with pytest.raises(InvalidPayload, match="mode"):
        box.inbox.recover(mode=mode)


# --- what is undelivered


@pytest.mark.usefixtures("expired")
def test_undelivered_messages_are_in_order(box: Box, clock: Clock) -> None:
    box.inbox.recover()
    box.claim()
    clock.advance(60)
    box.inbox.recover()
    box.back_dated("older", 3_600)
    box.claim()
    clock.advance(60)
    box.inbox.recover()
    assert box.undelivered() == ["older", "one", "two"]
    assert box.undelivered("other") == []


def test_a_requeued_message_is_handed_out_again_from_its_own_place(
    box: Box, expired: MessageClaim
) -> None:
    box.inbox.recover()
    message = box.inbox.requeue("thread", expired.message_id or "")
    assert (message.state, message.reason, message.deliveries) == ("pending", None, 1)
    assert (box.texts(), box.undelivered()) == (["one", "two"], [])
    again = box.claim()
    assert (again.message_id, again.epoch, again.deliveries) == (expired.message_id, 2, 2)


@pytest.mark.usefixtures("expired")
def test_only_what_is_undelivered_is_requeued(box: Box) -> None:
    pending, flying = box.inbox.list("thread")[0].message_id, "claimed"
    flying = next(
        event.data["message_id"] for event in box.ledger.log.read(types=["inbox.claimed"])
    )
    for message_id in (pending, flying, "never"):
        with pytest.raises(InvalidTransition):
            box.inbox.requeue("thread", message_id)


def test_what_was_requeued_is_requeued_no_more(box: Box, expired: MessageClaim) -> None:
    box.inbox.recover()
    message = expired.message_id or ""
    box.inbox.requeue("thread", message)
    with pytest.raises(InvalidTransition, match="is pending"):
        box.inbox.requeue("thread", message)
    assert box.texts() == ["one", "two"]


def test_a_message_is_requeued_in_its_own_thread_only(box: Box, expired: MessageClaim) -> None:
    box.inbox.recover()
    box.post("other", thread="other")
    with pytest.raises(InvalidTransition):
        box.inbox.requeue("other", expired.message_id or "")


def test_a_requeued_message_has_all_its_claims_before_it_again(
    open_ledger: Callable[..., Ledger],
) -> None:
    ledger = open_ledger(max_claims=1)
    message = ledger.inbox.post("thread", "poison", source="test").message_id

    def given_back() -> None:
        claim = ledger.inbox.claim_next(
            "thread", "worker", can_after_turn=True, can_steer_current_turn=False
        )
        assert isinstance(claim, MessageClaim)
        ledger.inbox.release(claim)

    given_back()
    given_back()
    ledger.inbox.requeue("thread", message)
    given_back()
    assert [one.message_id for one in ledger.inbox.list("thread")] == [message]


def test_a_thread_that_takes_no_work_takes_nothing_back(box: Box, expired: MessageClaim) -> None:
    message = expired.message_id or ""
    box.ledger.threads.archive("thread")
    assert box.inbox.recover("thread") == InboxRecovery(messages_expired=1)
    with pytest.raises(ThreadArchived):
        box.inbox.requeue("thread", message)
    box.ledger.threads.delete("thread")
    with pytest.raises(ThreadDeleted):
        box.inbox.requeue("thread", message)
    with pytest.raises(ThreadDeleted):
        box.inbox.recover("thread")
    assert box.inbox.recover() == NOTHING


# --- why a thread doesn't move


def test_why_names_a_claim_that_is_over(box: Box, expired: MessageClaim) -> None:
    why = box.ledger.why("thread")
    assert (why.reason, why.commands) == ("empty", ("turnledger inbox recover thread",))
    (claim,) = why.events
    assert (claim.type, claim.data["message_id"]) == ("inbox.claimed", expired.message_id)
    box.inbox.recover()
    assert (box.ledger.why("thread").commands, box.ledger.why("thread").events) == ((), ())


def test_why_says_nothing_of_a_live_claim(box: Box) -> None:
    box.post("one")
    box.claim()
    assert box.ledger.why("thread").commands == ()
