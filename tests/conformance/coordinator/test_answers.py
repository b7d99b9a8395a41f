"""What comes back from a provider: kept once, and never thrown away."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.coordinator.conftest import REQUEST
from turnledger import (
    ClaimLost,
    InvalidPayload,
    InvalidTime,
    InvalidTransition,
    Ledger,
    PayloadTooLarge,
    RequestChanged,
    RetryPolicy,
    TurnNotFound,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.coordinator.conftest import Office

NULL = "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"


def said(pieces: Any) -> list[tuple[Any, ...]]:
    """Evidence in short."""
    return [(piece.owner, piece.epoch, piece.kind, piece.value) for piece in pieces]


# --- respond


def test_an_answer_is_kept_with_its_hash(office: Office) -> None:
    claim = office.dispatching()
    attempt = office.respond(claim, response={"text": "hi", "n": 2**70})
    assert (attempt.status, attempt.response) == ("responded", {"text": "hi", "n": 2**70})
    assert attempt.response_hash is not None
    assert attempt == office.attempt()


def test_no_answer_and_the_answer_null_are_two_things(office: Office) -> None:
    claim = office.dispatching()
    assert office.attempt().response_hash is None
    assert office.respond(claim, response=None).response_hash == NULL


def test_an_attempt_is_answered_once(office: Office) -> None:
    claim = office.responded()
    for response in ("answer", "another"):
        with pytest.raises(InvalidTransition):
            office.respond(claim, response=response)
    assert office.attempt().response == "answer"


def test_an_answer_to_another_request_is_refused(
    office: Office, unchanged: Callable[[], None]
) -> None:
    claim = office.dispatching()
    unchanged()
    with pytest.raises(RequestChanged):
        office.coordinator.respond(claim, 1, NULL, "answer")


@pytest.mark.parametrize("status", ["prepared", "claim"])
def test_what_wasnt_dispatched_isnt_answered(office: Office, status: str) -> None:
    claim = getattr(office, status)()
    for command in (
        lambda: office.coordinator.respond(claim, 1, NULL, "answer"),
        lambda: office.coordinator.refuse(claim, 1, "no", retryable=False),
        lambda: office.coordinator.reject(claim, 1, "bad"),
    ):
        with pytest.raises(InvalidTransition):
            command()


def test_an_answer_isnt_the_successors_to_give(office: Office) -> None:
    office.dispatching()
    office.clock.advance(60)
    claim = office.claim(owner="two")
    with pytest.raises(InvalidTransition):
        office.respond(claim)
    assert office.attempt().evidence == ()


def test_an_answer_that_comes_too_late_is_kept_as_evidence(office: Office) -> None:
    claim = office.dispatching()
    office.clock.advance(60)
    office.claim(owner="two")
    for response in ("late", "later"):
        with pytest.raises(ClaimLost):
            office.respond(claim, response=response)
    attempt = office.attempt()
    assert (attempt.status, attempt.response) == ("dispatching", None)
    assert said(attempt.evidence) == [("one", 1, "respond", "late")]
    assert office.turn().evidence == ()


def test_nobody_who_never_had_a_claim_leaves_evidence(office: Office) -> None:
    claim = office.dispatching()
    for wrong in ({"owner": "two"}, {"epoch": 7}):
        stranger = type(claim)(**{**vars(claim), **wrong})
        with pytest.raises(ClaimLost):
            office.respond(stranger)
        with pytest.raises(ClaimLost):
            office.coordinator.complete(stranger, "done")
    assert (office.attempt().evidence, office.turn().evidence) == ((), ())


def test_an_answer_that_isnt_json_is_kept_altered(office: Office) -> None:
    claim = office.dispatching()
    attempt = office.respond(claim, response={"text": "\ud800"})
    assert (attempt.response, attempt.altered) == ({"text": "\ufffd"}, True)


def test_an_answer_past_its_limit_changes_nothing(open_ledger: Callable[..., Ledger]) -> None:
    coordinator = open_ledger(max_result_bytes=100).coordinator
    claim = coordinator.begin("item", "hi", turn_id="turn", owner="one").claim
    assert claim is not None
    attempt = coordinator.prepare(claim, REQUEST)
    coordinator.start_dispatch(claim, 1)
    with pytest.raises(PayloadTooLarge):
        coordinator.respond(claim, 1, attempt.request_hash, "x" * 101)
    coordinator.respond(claim, 1, attempt.request_hash, {"at": "a reference"})


# --- refuse


def test_a_no_that_is_final_leaves_the_turn_with_its_owner(office: Office) -> None:
    claim = office.dispatching()
    attempt = office.coordinator.refuse(claim, 1, {"status": 401}, retryable=False)
    assert (attempt.status, attempt.error, attempt.retryable) == ("refused", {"status": 401}, False)
    turn = office.turn()
    assert (turn.status, turn.not_before) == ("claimed", None)
    assert office.coordinator.fail(claim, "no access").status == "acked"


def test_a_no_for_now_says_from_when_on_to_try_again(office: Office) -> None:
    claim = office.dispatching()
    later = office.clock.now + timedelta(seconds=90)
    office.coordinator.refuse(claim, 1, {"status": 429}, retryable=True, retry_at=later)
    assert office.turn().not_before == later
    office.coordinator.release(claim)
    assert office.coordinator.claim_next("item", owner="two") is None
    assert office.coordinator.claim_next(owner="two") is None
    assert office.coordinator.recoverable() == []
    office.clock.advance(90)
    assert [turn.attempt_status for turn in office.coordinator.recoverable()] == ["refused"]
    claim_next = office.coordinator.claim_next(owner="two")
    assert claim_next is not None
    assert office.coordinator.prepare(claim_next, REQUEST).attempt == 2
    assert office.turn().not_before is None


def test_a_claim_by_name_doesnt_wait(office: Office) -> None:
    claim = office.dispatching()
    office.coordinator.refuse(claim, 1, "no", retryable=True)
    office.coordinator.release(claim)
    assert office.coordinator.claim("turn", "two") is not None


def test_a_turn_that_waits_holds_up_no_other(office: Office) -> None:
    claim = office.dispatching("first")
    office.coordinator.refuse(claim, 1, "no", retryable=True)
    office.coordinator.release(claim)
    office.begin("second")
    claim_next = office.coordinator.claim_next("item", owner="two")
    assert claim_next is not None
    assert claim_next.turn_id == "second"


def test_the_retry_policy_says_when_if_nobody_does(open_ledger: Callable[..., Ledger]) -> None:
    policy = RetryPolicy(base=10, factor=3, cap=60, jitter=0, max_attempts=9)  # type: ignore[arg-type]
    coordinator = open_ledger(retry_policy=policy).coordinator
    turn = coordinator.begin("item", "hi", owner="one", lease=3_600)
    assert turn.claim is not None
    waits = []
    for number in range(1, 5):
        coordinator.prepare(turn.claim, REQUEST)
        coordinator.start_dispatch(turn.claim, number)
        coordinator.refuse(turn.claim, number, "no", retryable=True)
        after = coordinator.get(turn.turn_id)
        assert after is not None
        assert after.not_before is not None
        waits.append((after.not_before - turn.created_at).total_seconds())
    assert waits == [10, 30, 60, 60]


def test_a_time_without_a_zone_is_refused(office: Office) -> None:
    claim = office.dispatching()
    naive = office.clock.now.replace(tzinfo=None)
    with pytest.raises(InvalidTime):
        office.coordinator.refuse(claim, 1, "no", retryable=True, retry_at=naive)


def test_a_no_that_comes_too_late_is_kept_as_evidence(office: Office) -> None:
    claim = office.unknown()
    with pytest.raises(ClaimLost):
        office.coordinator.refuse(claim, 1, {"status": 429}, retryable=True)
    assert office.status(attempt=1) == "unknown"
    assert said(office.attempt().evidence) == [("one", 1, "refuse", {"status": 429})]


# --- reject


def test_an_answer_that_is_no_good_is_kept(office: Office) -> None:
    claim = office.responded(response={"text": "?"})
    attempt = office.coordinator.reject(claim, 1, "no decision in it")
    assert (attempt.status, attempt.error) == ("cancelled", "no decision in it")
    assert attempt.response == {"text": "?"}
    with pytest.raises(InvalidTransition):
        office.coordinator.reject(claim, 1, "again")


def test_a_successor_rejects_what_it_took_over(office: Office) -> None:
    office.responded()
    office.clock.advance(60)
    claim = office.claim(owner="two")
    assert office.coordinator.reject(claim, 1, "bad").status == "cancelled"


# --- late_response


@pytest.mark.parametrize("status", ["dispatching", "unknown", "responded"])
def test_a_late_answer_needs_no_claim_and_changes_no_state(office: Office, status: str) -> None:
    getattr(office, status)()
    before = office.turn()
    attempt = office.coordinator.late_response("turn", 1, {"text": "late"})
    assert said(attempt.evidence) == [("one", 1, "late_response", {"text": "late"})]
    after = office.turn()
    assert (after.status, after.updated_at) == (before.status, before.updated_at)
    assert office.status(attempt=1) == status
    again = office.coordinator.late_response("turn", 1, "another")
    assert again.evidence == attempt.evidence


def test_a_late_answer_is_kept_of_a_turn_that_is_settled(office: Office) -> None:
    claim = office.dispatching()
    office.coordinator.ack(claim)
    office.coordinator.late_response("turn", 1, "late")
    assert len(office.attempt().evidence) == 1


def test_nothing_is_late_that_was_never_sent(office: Office) -> None:
    office.prepared()
    for attempt in (1, 2):
        with pytest.raises(InvalidTransition, match="never dispatched"):
            office.coordinator.late_response("turn", attempt, "late")
    with pytest.raises(TurnNotFound):
        office.coordinator.late_response("another", 1, "late")
    with pytest.raises(InvalidPayload):
        office.coordinator.late_response("turn", 0, "late")
