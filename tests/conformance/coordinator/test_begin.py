"""`coordinator.begin`: a turn waits behind the others of its work item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger import (
    IdempotencyConflict,
    InvalidDuration,
    InvalidIdentifier,
    InvalidPayload,
    Ledger,
    PayloadTooLarge,
    TurnClaim,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.coordinator.conftest import Office


def test_a_turn_begins_pending(office: Office) -> None:
    turn = office.coordinator.begin("item", {"text": "hi"}, turn_id="turn")
    assert (turn.turn_id, turn.work_item_id, turn.status) == ("turn", "item", "pending")
    assert (turn.message, turn.kind, turn.target) == ({"text": "hi"}, "message", "coordinator")
    assert (turn.owner, turn.epoch, turn.claim, turn.duplicate) == (None, 0, None, False)
    assert office.turn() == turn


def test_turns_wait_behind_each_other_in_each_work_item(office: Office) -> None:
    office.begin("a", "b")
    office.begin("x", item="other")
    office.begin("c")
    assert [turn.turn_id for turn in office.coordinator.list("item")] == ["a", "b", "c"]
    assert [turn.turn_order for turn in office.coordinator.list("item")] == [0, 1, 2]
    assert [turn.turn_order for turn in office.coordinator.list("other")] == [0]
    assert [turn.turn_id for turn in office.coordinator.list()] == ["a", "b", "c", "x"]


def test_an_id_that_nobody_chose_is_a_new_one(office: Office) -> None:
    first, second = (office.coordinator.begin("item", None) for _ in range(2))
    assert first.turn_id != second.turn_id
    assert first.message is None


def test_with_an_owner_a_turn_is_begun_and_claimed(office: Office) -> None:
    turn = office.coordinator.begin("item", "hi", turn_id="turn", owner="one", lease=5)
    assert (turn.status, turn.owner, turn.epoch) == ("claimed", "one", 1)
    claim = turn.claim
    assert claim is not None
    assert (claim.owner, claim.epoch, claim.message) == ("one", 1, "hi")
    assert claim.expires_at == turn.expires_at
    office.coordinator.renew(claim)
    assert office.coordinator.claim("turn", "two") is None


def test_a_key_that_is_known_gives_the_first_turn(
    office: Office, unchanged: Callable[[], None]
) -> None:
    said: dict[str, Any] = {"idempotency_key": "key", "turn_id": "turn"}
    first = office.coordinator.begin("item", {"a": 1, "b": 2.0}, **said)
    office.coordinator.claim("turn", "one")
    unchanged()
    again = office.coordinator.begin("item", {"b": 2, "a": 1}, **said, owner="two", lease=9)
    assert again.duplicate
    assert again.claim is None
    assert (again.turn_id, again.status, again.created_at) == ("turn", "pending", first.created_at)


def test_a_duplicate_of_a_claimed_begin_has_no_claim(office: Office) -> None:
    said: dict[str, Any] = {"idempotency_key": "key", "owner": "one"}
    first = office.coordinator.begin("item", "hi", **said)
    again = office.coordinator.begin("item", "hi", **said)
    assert isinstance(first.claim, TurnClaim)
    assert (again.turn_id, again.status, again.epoch) == (first.turn_id, "claimed", 1)
    assert again.duplicate
    assert again.claim is None


@pytest.mark.parametrize(
    "other",
    [
        {"message": "other"},
        {"kind": "recovery"},
        {"target": "action"},
        {"turn_id": "another"},
    ],
)
def test_a_key_with_other_content_is_refused(
    office: Office, unchanged: Callable[[], None], other: dict[str, Any]
) -> None:
    said: dict[str, Any] = {"message": "hi", "idempotency_key": "key", "turn_id": "turn"}
    office.coordinator.begin("item", **said)
    unchanged()
    with pytest.raises(IdempotencyConflict):
        office.coordinator.begin("item", **{**said, **other})


def test_a_key_counts_within_its_work_item(office: Office) -> None:
    turns = [office.coordinator.begin(item, "hi", idempotency_key="k").turn_id for item in "ab"]
    assert len(set(turns)) == 2


def test_a_key_of_a_thread_is_none_of_a_work_item(office: Office) -> None:
    office.ledger.queue.append("item", {"a": 1}, idempotency_key="key")
    assert not office.coordinator.begin("item", "hi", idempotency_key="key").duplicate


def test_an_id_that_is_known_acts_as_a_key(office: Office, unchanged: Callable[[], None]) -> None:
    office.coordinator.begin("item", "hi", turn_id="turn")
    unchanged()
    assert office.coordinator.begin("item", "hi", turn_id="turn").duplicate
    with pytest.raises(IdempotencyConflict):
        office.coordinator.begin("item", "other", turn_id="turn")
    with pytest.raises(IdempotencyConflict):
        office.coordinator.begin("another item", "hi", turn_id="turn")


def test_a_receipt_says_what_a_key_did(office: Office) -> None:
    coordinator = office.coordinator
    assert coordinator.receipt("item", "key") is None
    coordinator.begin("item", "hi", target="action", turn_id="turn", idempotency_key="key")
    coordinator.cancel("turn", "not wanted")
    receipt = coordinator.receipt("item", "key")
    assert receipt is not None
    assert (receipt.key, receipt.target, receipt.command) == ("key", "action", "begin")
    assert (receipt.id, receipt.recorded_at) == ("turn", office.clock.now)
    assert coordinator.receipt("other", "key") is None


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ({"work_item_id": ""}, InvalidIdentifier),
        ({"turn_id": "a\nb"}, InvalidIdentifier),
        ({"kind": ""}, InvalidIdentifier),
        ({"target": "\x7f"}, InvalidIdentifier),
        ({"idempotency_key": "x" * 257}, InvalidIdentifier),
        ({"message": {1: 2}}, InvalidPayload),
        ({"message": "\ud800"}, InvalidPayload),
        ({"message": "x" * 1_100_000}, PayloadTooLarge),
        ({"owner": "one", "lease": 0}, InvalidDuration),
        ({"owner": "\0"}, InvalidIdentifier),
        ({"attachments": "path"}, InvalidPayload),
        ({"attachments": [3]}, InvalidPayload),
        ({"attachments": 3}, InvalidPayload),
        ({"attachments": None}, InvalidPayload),
        ({"attachments": ["/nowhere/at/all"]}, InvalidPayload),
    ],
)
def test_a_begin_that_is_wrong_is_refused(
    ledger: Ledger, said: dict[str, Any], refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        ledger.coordinator.begin(**{"work_item_id": "item", "message": "hi", **said})
    assert ledger.log.read() == []


@pytest.mark.parametrize(
    "message", [2**80, "\0", {}, [], {"z": 1, "a": 2}, {"\U0001f600": [None, True]}]
)
def test_a_message_comes_back_as_it_was(office: Office, message: Any) -> None:
    claim = office.coordinator.begin("item", message, turn_id="turn", owner="one").claim
    assert claim is not None
    assert office.turn().message == claim.message == message
    assert repr(office.turn().message) == repr(message)
