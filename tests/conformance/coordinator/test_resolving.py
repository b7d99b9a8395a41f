"""`resolve`: somebody decides what became of a dispatch whose outcome is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.coordinator.conftest import REQUEST
from turnledger import ClaimLost, InvalidPayload, InvalidTransition, TurnNotFound

if TYPE_CHECKING:
    from tests.conformance.coordinator.conftest import Office


def test_an_answer_is_adopted_and_belongs_to_the_next_claim(office: Office) -> None:
    office.unknown()
    turn = office.coordinator.resolve("turn", 1, "adopt", by="me", response={"text": "found"})
    attempt = turn.attempts[0]
    assert (attempt.status, attempt.response) == ("responded", {"text": "found"})
    assert (attempt.resolved_by, attempt.error) == ("me", None)
    assert attempt.response_hash is not None
    claim = office.claim(owner="two")
    assert (office.attempt().owner, office.attempt().epoch) == ("two", 2)
    assert office.coordinator.complete(claim, "done").status == "acked"


def test_what_is_adopted_belongs_to_the_current_claim_if_there_is_one(office: Office) -> None:
    office.unknown()
    claim = office.claim(owner="two")
    office.coordinator.resolve("turn", 1, "adopt", by="me", response="found")
    assert (office.attempt().owner, office.attempt().epoch) == ("two", 2)
    office.coordinator.reject(claim, 1, "bad")


@pytest.mark.parametrize("late", ["respond", "late_response"])
def test_the_answer_that_came_too_late_is_adopted(office: Office, late: str) -> None:
    claim = office.unknown()
    if late == "respond":
        with pytest.raises(ClaimLost):
            office.respond(claim, response="late")
    else:
        office.coordinator.late_response("turn", 1, "late")
    office.coordinator.resolve("turn", 1, "adopt", by="me")
    assert office.attempt().response == "late"


def test_without_an_answer_there_is_none_to_adopt(office: Office) -> None:
    office.unknown()
    with pytest.raises(InvalidTransition, match="response="):
        office.coordinator.resolve("turn", 1, "adopt", by="me")
    assert office.status(attempt=1) == "unknown"


def test_the_answer_null_is_an_answer(office: Office) -> None:
    office.unknown()
    office.coordinator.resolve("turn", 1, "adopt", by="me", response=None)
    assert office.attempt().response_hash is not None


def test_a_retry_prepares_the_same_request_once_more(office: Office) -> None:
    office.unknown()
    claim = office.claim(owner="two")
    turn = office.coordinator.resolve("turn", 1, "retry", by="me", reason="it never arrived")
    first, second = turn.attempts
    assert (first.status, first.error, first.resolved_by) == ("cancelled", "it never arrived", "me")
    assert (second.attempt, second.status) == (2, "prepared")
    assert (second.owner, second.epoch) == ("two", 2)
    assert (second.request, second.request_hash) == (REQUEST, first.request_hash)
    office.coordinator.start_dispatch(claim, 2)
    with pytest.raises(InvalidTransition):
        office.coordinator.start_dispatch(claim, 2)
    office.respond(claim, 2)
    assert office.statuses() == ["cancelled", "responded"]


def test_what_is_retried_while_nobody_has_the_turn_belongs_to_the_next_claim(
    office: Office,
) -> None:
    first = office.unknown()
    office.coordinator.resolve("turn", 1, "retry", by="me")
    with pytest.raises(ClaimLost):
        office.coordinator.start_dispatch(first, 2)
    claim = office.claim(owner="two")
    assert office.coordinator.start_dispatch(claim, 2).owner == "two"


def test_a_cancelled_attempt_makes_room_for_another(office: Office) -> None:
    office.unknown()
    office.coordinator.resolve("turn", 1, "cancel", by="me", reason={"why": "too old"})
    assert (office.attempt().status, office.attempt().error) == ("cancelled", {"why": "too old"})
    assert office.coordinator.prepare(office.claim(owner="two"), "new").attempt == 2


@pytest.mark.parametrize("first", ["adopt", "retry", "cancel"])
@pytest.mark.parametrize("second", ["adopt", "retry", "cancel"])
def test_one_decision_wins(office: Office, first: Any, second: Any) -> None:
    office.unknown()
    office.coordinator.resolve("turn", 1, first, by="me", response="found")
    with pytest.raises(InvalidTransition):
        office.coordinator.resolve("turn", 1, second, by="you", response="found")
    assert office.attempt().resolved_by == "me"


@pytest.mark.parametrize("status", ["prepared", "dispatching", "responded"])
@pytest.mark.parametrize("decision", ["adopt", "retry", "cancel"])
def test_only_what_is_unknown_is_decided(office: Office, status: str, decision: Any) -> None:
    getattr(office, status)()
    with pytest.raises(InvalidTransition):
        office.coordinator.resolve("turn", 1, decision, by="me", response="found")


@pytest.mark.parametrize(("decision", "status"), [("adopt", "responded"), ("cancel", "cancelled")])
def test_a_settled_turn_is_decided_but_not_retried(
    office: Office, decision: Any, status: str
) -> None:
    office.dispatching()
    office.coordinator.cancel("turn", "not wanted")
    assert office.status(attempt=1) == "unknown"
    with pytest.raises(InvalidTransition, match="cancelled"):
        office.coordinator.resolve("turn", 1, "retry", by="me")
    office.coordinator.resolve("turn", 1, decision, by="me", response="found")
    assert (office.status(), office.status(attempt=1)) == ("cancelled", status)


def test_a_decision_that_is_none_is_refused(office: Office) -> None:
    office.unknown()
    with pytest.raises(InvalidPayload):
        office.coordinator.resolve("turn", 1, "forget", by="me")  # type: ignore[arg-type]
    with pytest.raises(InvalidPayload):
        office.coordinator.resolve("turn", 1, 10**5000, by="me")  # type: ignore[arg-type]
    with pytest.raises(InvalidPayload):
        office.coordinator.resolve("turn", 0, "cancel", by="me")
    with pytest.raises(InvalidTransition):
        office.coordinator.resolve("turn", 2, "cancel", by="me")
    for decision in ("adopt", "retry", "cancel"):
        for said in ({"response": 1}, {}):
            with pytest.raises(TurnNotFound):
                office.coordinator.resolve("another", 1, decision, by="me", **said)


def test_a_decision_isnt_refused_for_its_words(office: Office) -> None:
    office.unknown()
    odd: Any = object()
    office.coordinator.resolve("turn", 1, "cancel", by=odd, reason="\ud800")
    attempt = office.attempt()
    assert (attempt.resolved_by, attempt.error) == (repr(odd), "\ufffd")
    assert attempt.altered
