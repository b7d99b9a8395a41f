"""Provider turns: a request is fixed before it is sent, and sent at most once."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.coordinator.conftest import REQUEST
from turnledger import (
    AttemptsExhausted,
    ClaimLost,
    InvalidPayload,
    InvalidTransition,
    Ledger,
    PayloadTooLarge,
    RequestChanged,
    RetryPolicy,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.coordinator.conftest import Office

# The SHA-256 of canonical JSON, from another implementation of RFC 8785.
HASHES = {
    "null": "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b",
    "{}": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    "-0": "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
    "1.0": "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b",
    "1e21": "241c4643fa70b1dcde1205b71be4e3bebb17e9f880c8e1a33d0ead6c27271d3c",
    "1e-7": "5b33e02f2c5103a05d32f6ba9cb058294452bfbf393967f68bb30c1bdcbbab22",
    "0.1": "14be4b45f18e0d8c67b4f719b5144eee88497e413709d11d85b096d8e2346310",
    "-2.50": "20fb508cd069b7fbaf72c798394a7995c9a3ded09ccf19a294fdb9415fd03317",
    "1e16": "139eb393675707818651f879828a526159209ca3ad3b2f94f9f8ec8c4fb5e610",
}


# --- prepare


def test_an_attempt_is_prepared_with_the_hash_of_its_request(office: Office) -> None:
    claim = office.claim()
    attempt = office.coordinator.prepare(claim, {"b": 1, "a": 2.0})
    assert (attempt.turn_id, attempt.attempt, attempt.status) == ("turn", 1, "prepared")
    assert (attempt.owner, attempt.epoch) == ("one", 1)
    assert (attempt.prepared_at, attempt.dispatched_at) == (office.clock.now, None)
    assert attempt == office.attempt()
    same = office.coordinator.prepare(claim, {"a": 2, "b": 1})
    assert same.request_hash == attempt.request_hash
    assert repr(same.request) == "{'b': 1, 'a': 2.0}"


@pytest.mark.parametrize("text", HASHES)
def test_the_hash_is_that_of_other_implementations(office: Office, text: str) -> None:
    attempt = office.coordinator.prepare(office.claim(), json.loads(text))
    assert attempt.request_hash == HASHES[text]


def test_the_same_again_is_as_it_is_in_whatever_status(
    office: Office, unchanged: Callable[[], None]
) -> None:
    claim = office.responded()
    unchanged()
    attempt = office.coordinator.prepare(claim, REQUEST)
    assert (attempt.attempt, attempt.status, attempt.response) == (1, "responded", "answer")
    assert office.coordinator.prepare(claim, REQUEST, attempt=1) == attempt


def test_another_request_for_the_same_attempt_is_refused(
    office: Office, unchanged: Callable[[], None]
) -> None:
    claim = office.prepared()
    unchanged()
    for number in (None, 1):
        with pytest.raises(RequestChanged) as changed:
            office.coordinator.prepare(claim, "other", attempt=number)
    assert changed.value.request_hash == office.attempt().request_hash  # type: ignore[attr-defined]


def test_a_lost_claim_comes_before_a_changed_request(office: Office) -> None:
    claim = office.prepared()
    office.clock.advance(60)
    with pytest.raises(ClaimLost):
        office.coordinator.prepare(claim, "other")


def test_a_changed_request_comes_before_another_owner(office: Office) -> None:
    office.dispatching()
    office.clock.advance(60)
    claim = office.claim(owner="two")
    with pytest.raises(RequestChanged):
        office.coordinator.prepare(claim, "other")
    with pytest.raises(InvalidTransition, match="recover it"):
        office.coordinator.prepare(claim, REQUEST)


@pytest.mark.parametrize("status", ["prepared", "dispatching", "responded"])
def test_no_other_attempt_begins_before_this_one_is_settled(office: Office, status: str) -> None:
    claim = getattr(office, status)()
    with pytest.raises(InvalidTransition, match=status):
        office.coordinator.prepare(claim, REQUEST, attempt=2)


def test_an_unknown_attempt_needs_a_decision_first(office: Office) -> None:
    office.unknown()
    claim = office.claim(owner="two")
    with pytest.raises(InvalidTransition):
        office.coordinator.prepare(claim, REQUEST)
    with pytest.raises(InvalidTransition, match="unknown"):
        office.coordinator.prepare(claim, REQUEST, attempt=2)
    office.coordinator.resolve("turn", 1, "cancel", by="me")
    assert office.coordinator.prepare(claim, "other").attempt == 2


def test_attempts_have_no_gaps(office: Office) -> None:
    claim = office.claim()
    with pytest.raises(InvalidTransition, match="no gaps"):
        office.coordinator.prepare(claim, REQUEST, attempt=2)
    office.coordinator.prepare(claim, REQUEST, attempt=1)


@pytest.mark.parametrize("number", [0, -1, True, "1", 1.0, pytest.param(-(10**5000), id="huge")])
def test_an_attempt_that_is_no_number_is_refused(office: Office, number: Any) -> None:
    with pytest.raises(InvalidPayload):
        office.coordinator.prepare(office.claim(), REQUEST, attempt=number)


def test_the_next_attempt_follows_one_that_was_rejected(office: Office) -> None:
    claim = office.responded()
    office.coordinator.reject(claim, 1, "bad")
    attempt = office.coordinator.prepare(claim, "another question")
    assert (attempt.attempt, attempt.status) == (2, "prepared")
    assert office.statuses() == ["cancelled", "prepared"]
    known = office.coordinator.prepare(claim, REQUEST, attempt=1)
    assert known.status == "cancelled"


def test_an_attempt_of_before_a_takeover_isnt_the_new_owners(office: Office) -> None:
    claim = office.responded()
    office.coordinator.reject(claim, 1, "bad")
    office.coordinator.release(claim)
    with pytest.raises(InvalidTransition):
        office.coordinator.prepare(office.claim(owner="two"), REQUEST, attempt=1)


def test_past_the_most_attempts_none_is_prepared(open_ledger: Callable[..., Ledger]) -> None:
    coordinator = open_ledger(retry_policy=RetryPolicy(max_attempts=2)).coordinator
    claim = coordinator.begin("item", "hi", owner="one").claim
    assert claim is not None
    for number in (1, 2):
        attempt = coordinator.prepare(claim, REQUEST)
        coordinator.start_dispatch(claim, number)
        coordinator.refuse(claim, attempt.attempt, "no", retryable=True)
    with pytest.raises(AttemptsExhausted) as refusal:
        coordinator.prepare(claim, REQUEST)
    assert (refusal.value.attempt, refusal.value.limit) == (3, 2)
    assert coordinator.fail(claim, "gave up").outcome == "failed"


def test_a_request_that_cant_be_sent_as_it_is_is_refused(office: Office) -> None:
    claim = office.claim()
    for request in ({1: 2}, float("nan"), "\ud800", object()):
        with pytest.raises(InvalidPayload):
            office.coordinator.prepare(claim, request)
    with pytest.raises(PayloadTooLarge):
        office.coordinator.prepare(claim, "x" * 1_100_000)


# --- start_dispatch


def test_a_dispatch_starts_once_in_the_life_of_an_attempt(office: Office) -> None:
    claim = office.prepared()
    attempt = office.coordinator.start_dispatch(claim, 1)
    assert (attempt.status, attempt.dispatched_at) == ("dispatching", office.clock.now)
    with pytest.raises(InvalidTransition, match="dispatching"):
        office.coordinator.start_dispatch(claim, 1)
    office.respond(claim)
    with pytest.raises(InvalidTransition, match="responded"):
        office.coordinator.start_dispatch(claim, 1)


def test_an_attempt_that_isnt_there_isnt_dispatched(office: Office) -> None:
    claim = office.claim()
    with pytest.raises(InvalidTransition, match="no attempt 1"):
        office.coordinator.start_dispatch(claim, 1)


def test_what_a_predecessor_prepared_is_dispatched_by_its_successor(office: Office) -> None:
    first = office.prepared()
    office.clock.advance(60)
    claim = office.claim(owner="two")
    with pytest.raises(ClaimLost):
        office.coordinator.start_dispatch(first, 1)
    attempt = office.coordinator.start_dispatch(claim, 1)
    assert (attempt.owner, attempt.epoch, attempt.request) == ("two", 2, REQUEST)


def test_what_a_predecessor_is_dispatching_isnt_dispatched_again(office: Office) -> None:
    office.dispatching()
    office.clock.advance(60)
    claim = office.claim(owner="two")
    with pytest.raises(InvalidTransition):
        office.coordinator.start_dispatch(claim, 1)
