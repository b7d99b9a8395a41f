"""`claim_next`, `confirm` and `release`: one message at a time, and only ever the oldest."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import (
    ClaimLost,
    InvalidDuration,
    InvalidIdentifier,
    InvalidPayload,
    Ledger,
    MessageClaim,
    NotReady,
    Rejected,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Store
    from tests.conformance.inbox.conftest import Box


def test_a_claim_says_all_that_is_needed(ledger: Ledger, box: Box, clock: Clock) -> None:
    posted = ledger.inbox.post(
        "thread", {"text": "hi"}, source="test", instructions="softly", metadata={"a": 1}
    )
    claim = box.claim(lease=30)
    assert (claim.thread_id, claim.message_id) == ("thread", posted.message_id)
    assert (claim.owner, claim.epoch, claim.generation) == ("worker", 1, ledger.generation)
    assert claim.expires_at == clock.now + timedelta(seconds=30)
    assert (claim.content, claim.instructions) == ({"text": "hi"}, "softly")
    assert (claim.metadata, claim.source) == ({"a": 1}, "test")
    assert (claim.delivery, claim.queued_at) == ("after-turn", posted.queued_at)
    assert claim.deliveries == 1


def test_an_empty_inbox_gives_none(box: Box) -> None:
    assert box.ask() is None
    (one,) = box.post("one")
    box.inbox.delete("thread", one)
    assert box.ask() is None


@pytest.mark.parametrize(
    ("delivery", "idle", "turn", "given"),
    [
        ("after-turn", False, False, False),
        ("after-turn", False, True, False),
        ("after-turn", True, False, True),
        ("after-turn", True, True, True),
        ("steer-current-turn", False, False, False),
        ("steer-current-turn", False, True, True),
        ("steer-current-turn", True, False, True),
        ("steer-current-turn", True, True, True),
    ],
)
def test_a_message_is_given_out_when_it_can_be_delivered(
    box: Box, delivery: str, *, idle: bool, turn: bool, given: bool
) -> None:
    (one,) = box.post("one", delivery=delivery)
    answer = box.ask(idle=idle, turn=turn)
    if given:
        assert isinstance(answer, MessageClaim)
    else:
        assert answer == NotReady(message_id=one, reason="not_deliverable")
        assert box.texts() == ["one"]


def test_nothing_behind_the_oldest_moves(box: Box) -> None:
    (oldest,) = box.post("for later")
    box.steer("at once")
    answer = box.ask(idle=False, turn=True)
    assert answer == NotReady(message_id=oldest, reason="not_deliverable")
    assert box.claim().content == "for later"


def test_what_is_in_flight_holds_the_rest_up(box: Box) -> None:
    box.post("one", "two")
    claim = box.claim()
    assert box.ask("other") == NotReady(message_id=claim.message_id or "", reason="in_flight")
    assert box.ask() == NotReady(message_id=claim.message_id or "", reason="in_flight")


def test_an_expired_claim_holds_the_rest_up_until_it_is_recovered(box: Box, clock: Clock) -> None:
    box.post("one", "two")
    claim = box.claim()
    clock.advance(60)
    assert box.ask() == NotReady(message_id=claim.message_id or "", reason="expired_claim")


def test_a_not_ready_is_recorded_nowhere(box: Box, store: Store) -> None:
    box.post("one")
    before = len(store.events())
    box.ask(idle=False)
    assert len(store.events()) == before


def test_every_claim_has_a_new_epoch_and_giving_back_keeps_it(box: Box, clock: Clock) -> None:
    box.post("one")
    first = box.claim()
    box.inbox.release(first)
    second = box.claim()
    clock.advance(60)
    box.inbox.recover("thread", mode="at_least_once")
    third = box.claim()
    box.inbox.confirm(third)
    assert [one.epoch for one in (first, second, third)] == [1, 2, 3]


def test_the_epochs_of_the_inbox_and_of_the_queue_are_two(box: Box) -> None:
    box.post("one")
    box.ledger.queue.append("thread", {})
    box.inbox.release(box.claim())
    box.claim()
    turn = box.ledger.queue.claim_head("thread", "worker")
    assert turn is not None
    assert turn.epoch == 1


# --- confirm


def test_a_confirmed_message_is_done_and_the_next_one_moves_up(box: Box) -> None:
    one, _ = box.post("one", "two")
    box.inbox.confirm(box.claim())
    done = box.message(one)
    assert (done.state, done.deliveries) == ("confirmed", 1)
    assert (done.owner, done.epoch, done.expires_at) == (None, None, None)
    assert box.claim().content == "two"


def test_a_current_claim_is_enough_to_confirm(box: Box, clock: Clock) -> None:
    (one,) = box.post("one")
    claim = box.claim()
    clock.advance(3_600)
    box.inbox.confirm(claim)
    assert box.state(one) == "confirmed"


def test_a_lost_confirmation_is_kept_as_evidence(box: Box, clock: Clock) -> None:
    (one,) = box.post("one")
    late = box.claim("zombie")
    clock.advance(60)
    box.inbox.recover("thread", mode="at_least_once")
    box.claim("other")
    for _ in range(2):
        with pytest.raises(ClaimLost):
            box.inbox.confirm(late)
    (piece,) = box.message(one).evidence
    assert (piece.owner, piece.epoch, piece.kind) == ("zombie", 1, "confirm")
    assert box.state(one) == "claimed"


def test_a_lost_confirmation_moves_no_version_of_the_inbox(box: Box, clock: Clock) -> None:
    box.post("one")
    late = box.claim()
    clock.advance(60)
    box.inbox.recover("thread")
    version = len(box.ledger.log.read(streams=["inbox:thread"]))
    with pytest.raises(ClaimLost):
        box.inbox.confirm(late)
    assert len(box.ledger.log.read(streams=["inbox:thread"])) == version
    assert len(box.ledger.log.read(streams=["evidence:inbox:thread"])) == 1


def test_no_evidence_is_kept_of_a_claim_that_was_never_given_out(box: Box) -> None:
    (one,) = box.post("one")
    box.claim()
    made_up = [("worker", 2), ("nobody", 1), ("worker", 0)]
    for owner, epoch in made_up:
        claim = MessageClaim(
            thread_id="thread", owner=owner, epoch=epoch, generation=box.ledger.generation
        )
        with pytest.raises(ClaimLost):
            box.inbox.confirm(claim)
    assert box.message(one).evidence == ()


def test_a_claim_of_another_generation_is_lost(box: Box) -> None:
    (one,) = box.post("one")
    claim = box.claim()
    old = MessageClaim(**{**vars(claim), "generation": "another"})
    with pytest.raises(ClaimLost, match="restored"):
        box.inbox.release(old)
    with pytest.raises(ClaimLost, match="restored"):
        box.inbox.confirm(old)
    assert box.state(one) == "claimed"


# --- release


def test_a_released_message_goes_back_to_its_own_place(box: Box) -> None:
    box.post("one", "two")
    claim = box.claim()
    box.back_dated("older", 60)
    box.inbox.release(claim)
    assert box.texts() == ["older", "one", "two"]
    assert box.message(claim.message_id).deliveries == 0


def test_only_a_live_claim_is_released(box: Box, clock: Clock) -> None:
    box.post("one")
    claim = box.claim()
    clock.advance(60)
    with pytest.raises(ClaimLost):
        box.inbox.release(claim)
    assert box.state(claim.message_id) == "claimed"


def test_a_claim_is_lost_once_it_was_given_back(box: Box) -> None:
    box.post("one")
    claim = box.claim()
    box.inbox.release(claim)
    with pytest.raises(ClaimLost):
        box.inbox.release(claim)


def test_a_message_that_is_given_back_again_and_again_is_set_aside(
    open_ledger: Callable[..., Ledger],
) -> None:
    ledger = open_ledger(max_claims=2)
    can = {"can_after_turn": True, "can_steer_current_turn": False}
    poison = ledger.inbox.post("thread", "poison", source="test").message_id
    ledger.inbox.post("thread", "next", source="test")
    for _ in range(3):
        claim = ledger.inbox.claim_next("thread", "worker", **can)
        assert isinstance(claim, MessageClaim)
        assert claim.message_id == poison
        ledger.inbox.release(claim)
    (kept,) = ledger.inbox.undelivered("thread")
    assert (kept.message_id, kept.deliveries) == (poison, 0)
    assert kept.reason == "claimed 3 times and never confirmed"
    claim = ledger.inbox.claim_next("thread", "worker", **can)
    assert isinstance(claim, MessageClaim)
    assert claim.content == "next"


# --- what this release doesn't know


def test_a_delivery_of_a_newer_release_is_rejected_and_the_next_one_moves_up(box: Box) -> None:
    new = box.from_a_newer_release("by-pigeon")
    box.post("next")
    answer = box.ask(idle=False)
    assert isinstance(answer, Rejected)
    assert answer.message_id == new
    assert "by-pigeon" in answer.reason
    assert box.claim().content == "next"
    kept = box.message(new)
    assert (kept.state, kept.reason, kept.content) == ("rejected", answer.reason, "new")
    assert kept.delivery == "by-pigeon"


def test_a_rejection_is_recorded_once(box: Box) -> None:
    box.from_a_newer_release("by-pigeon")
    assert isinstance(box.ask(), Rejected)
    assert box.ask() is None
    types = [event.type for event in box.ledger.log.read(streams=["inbox:thread"])]
    assert types == ["inbox.posted", "inbox.rejected"]


def test_an_unknown_delivery_behind_another_message_waits_for_it(box: Box) -> None:
    box.post("one")
    box.from_a_newer_release("by-pigeon")
    claim = box.claim()
    assert isinstance(box.ask(), NotReady)
    box.inbox.confirm(claim)
    assert isinstance(box.ask(), Rejected)


# --- arguments


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"owner": ""}, InvalidIdentifier),
        ({"lease": 0}, InvalidDuration),
        ({"lease": float("nan")}, InvalidDuration),
        ({"lease": 86_401}, InvalidDuration),
        ({"thread": ""}, InvalidIdentifier),
    ],
)
def test_bad_arguments_are_refused(box: Box, said: dict[str, Any], error: type[Exception]) -> None:
    box.post("one")
    with pytest.raises(error):
        box.ask(**said)


def test_only_a_claim_of_a_message_is_a_claim(box: Box) -> None:
    box.ledger.queue.append("thread", {})
    turn: Any = box.ledger.queue.claim_head("thread", "worker")
    for command in (box.inbox.confirm, box.inbox.release):
        with pytest.raises(InvalidPayload, match="must be a MessageClaim"):
            command(turn)
