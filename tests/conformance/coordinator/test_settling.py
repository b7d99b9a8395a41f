"""Ending turns: once, by the last claim, and with a new revision of the work item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger import (
    ClaimLost,
    InvalidPayload,
    InvalidTransition,
    StaleRevision,
    TurnNotFound,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.coordinator.conftest import Office
    from turnledger import TurnClaim

    Ending = Callable[[Office, TurnClaim], Any]

COMPLETE: Ending = lambda office, claim: office.coordinator.complete(claim, "done")  # noqa: E731
FAIL: Ending = lambda office, claim: office.coordinator.fail(claim, "why")  # noqa: E731
ACK: Ending = lambda office, claim: office.coordinator.ack(claim)  # noqa: E731
CANCEL: Ending = lambda office, claim: office.coordinator.cancel(claim.turn_id, "no")  # noqa: E731


def test_a_turn_is_completed_with_a_result(office: Office) -> None:
    turn = office.coordinator.complete(office.responded(), {"ok": True})
    assert (turn.status, turn.outcome, turn.result) == ("acked", "completed", {"ok": True})
    assert (turn.owner, turn.expires_at, turn.error) == (None, None, None)
    assert turn.attempts[0].status == "responded"
    assert office.turn() == turn


def test_a_turn_fails_with_an_error(office: Office) -> None:
    turn = office.coordinator.fail(office.prepared(), {"why": 1})
    assert (turn.status, turn.outcome, turn.error) == ("acked", "failed", {"why": 1})
    assert turn.attempts[0].status == "prepared"


def test_a_turn_is_acked_without_a_result(office: Office) -> None:
    claim = office.claim()
    office.clock.advance(3_600)
    turn = office.coordinator.ack(claim)
    assert (turn.status, turn.outcome, turn.result) == ("acked", None, None)


def test_a_failure_never_takes_the_place_of_an_answer(
    office: Office, unchanged: Callable[[], None]
) -> None:
    claim = office.responded()
    unchanged()
    with pytest.raises(InvalidTransition, match="reject"):
        office.coordinator.fail(claim, "why")


def test_an_answer_that_was_rejected_doesnt_stand_against_a_failure(office: Office) -> None:
    claim = office.responded()
    office.coordinator.reject(claim, 1, "bad")
    assert office.coordinator.fail(claim, "why").outcome == "failed"


@pytest.mark.parametrize("ending", [COMPLETE, FAIL, ACK])
def test_a_turn_is_acked_at_most_once(office: Office, ending: Ending) -> None:
    claim = office.claim()
    ending(office, claim)
    for again in (COMPLETE, FAIL, ACK):
        with pytest.raises(ClaimLost):
            again(office, claim)
    with pytest.raises(InvalidTransition, match="acked"):
        office.coordinator.cancel("turn", "no")


@pytest.mark.parametrize(
    ("ending", "kind", "value"),
    [(COMPLETE, "complete", "done"), (FAIL, "fail", "why"), (ACK, "ack", None)],
)
def test_what_a_lost_claim_knew_is_kept(
    office: Office, ending: Ending, kind: str, value: Any
) -> None:
    claim = office.claim()
    office.clock.advance(60)
    office.claim(owner="two")
    for _ in range(2):
        with pytest.raises(ClaimLost):
            ending(office, claim)
    [piece] = office.turn().evidence
    assert (piece.owner, piece.epoch, piece.kind, piece.value) == ("one", 1, kind, value)
    assert office.turn().status == "claimed"


# --- cancel


@pytest.mark.parametrize("status", ["begin", "claim"])
def test_a_turn_that_isnt_settled_is_cancelled(office: Office, status: str) -> None:
    getattr(office, status)("turn")
    turn = office.coordinator.cancel("turn", {"by": "user"})
    assert (turn.status, turn.outcome, turn.reason) == ("cancelled", None, {"by": "user"})


@pytest.mark.parametrize(
    ("before", "after"),
    [("prepared", "prepared"), ("dispatching", "unknown"), ("responded", "responded")],
)
def test_the_owner_of_a_cancelled_turn_finds_its_claim_lost(
    office: Office, before: str, after: str
) -> None:
    claim = getattr(office, before)()
    office.coordinator.cancel("turn", "no")
    assert office.status(attempt=1) == after
    with pytest.raises(ClaimLost):
        office.coordinator.renew(claim)


def test_cancelling_again_does_nothing(office: Office, unchanged: Callable[[], None]) -> None:
    office.begin("turn")
    first = office.coordinator.cancel("turn", "no")
    unchanged()
    assert office.coordinator.cancel("turn", "another reason") == first


def test_only_what_was_begun_is_cancelled(office: Office) -> None:
    with pytest.raises(TurnNotFound):
        office.coordinator.cancel("never begun", "no")


# --- the revision of the work item


def test_each_settled_turn_and_each_touch_is_a_revision(office: Office) -> None:
    assert office.revision() == 0
    for number, ending in enumerate((COMPLETE, FAIL, ACK, CANCEL)):
        ending(office, office.claim(f"turn {number}"))
        assert office.revision() == number + 1
    assert office.coordinator.touch("item") == 5
    assert office.coordinator.touch("another") == 1
    item = office.coordinator.work_item("item")
    assert (item.work_item_id, item.revision, item.turns, item.settled) == ("item", 5, 4, 4)


def test_looking_and_working_make_no_revision(office: Office) -> None:
    claim = office.responded()
    office.coordinator.reject(claim, 1, "bad")
    office.coordinator.release(claim)
    office.coordinator.recover()
    assert office.revision() == 0


@pytest.mark.parametrize("word", ["complete", "fail"])
def test_another_revision_than_expected_changes_nothing(
    office: Office, unchanged: Callable[[], None], word: str
) -> None:
    claim = office.claim()
    office.coordinator.touch("item")
    unchanged()
    for expected in (0, 2):
        with pytest.raises(StaleRevision) as stale:
            getattr(office.coordinator, word)(claim, "x", expected_revision=expected)
        assert (stale.value.expected, stale.value.revision) == (expected, 1)
    assert office.turn().owner == "one"


def test_the_revision_that_is_expected_lets_it_end(office: Office) -> None:
    claim = office.claim()
    office.coordinator.touch("item")
    office.coordinator.complete(claim, "done", expected_revision=1)
    assert office.revision() == 2


def test_a_lost_claim_comes_before_another_revision(office: Office) -> None:
    claim = office.claim()
    office.clock.advance(60)
    with pytest.raises(ClaimLost):
        office.coordinator.complete(claim, "done", expected_revision=7)
    assert len(office.turn().evidence) == 1


@pytest.mark.parametrize("expected", [-1, True, "0", 1.0, pytest.param(-(10**5000), id="huge")])
def test_a_revision_that_is_no_number_is_refused(office: Office, expected: Any) -> None:
    with pytest.raises(InvalidPayload):
        office.coordinator.complete(office.claim(), "x", expected_revision=expected)


def test_a_revision_that_no_work_item_will_reach_is_another_one(office: Office) -> None:
    with pytest.raises(StaleRevision):
        office.coordinator.complete(office.claim(), "x", expected_revision=10**5000)


def test_a_result_that_isnt_json_is_kept_altered(office: Office) -> None:
    odd = object()
    turn = office.coordinator.complete(office.claim(), odd)
    assert (turn.result, turn.altered) == (repr(odd), True)
