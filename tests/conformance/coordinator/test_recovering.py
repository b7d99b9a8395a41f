"""`recover`, `recoverable` and `resume`: no turn is stuck, and nothing that is live is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.coordinator.conftest import REQUEST
from turnledger import InvalidTransition, Resumption, TurnRecovery

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.coordinator.conftest import Office
    from turnledger import Ledger


def resumed(office: Office, owner: str = "two") -> Resumption:
    """Resume a turn that can be."""
    resumption = office.coordinator.resume("turn", owner)
    assert resumption is not None
    return resumption


# --- recover


def test_what_is_live_isnt_touched(
    office: Office, unchanged: Callable[[], None], open_ledger: Callable[..., Ledger]
) -> None:
    office.dispatching("a")
    office.prepared("b")
    office.begin("c")
    office.clock.advance(59)
    unchanged()
    assert open_ledger().coordinator.recover() == TurnRecovery()


def test_a_dispatch_whose_claim_is_over_becomes_unknown_and_its_turn_waits(office: Office) -> None:
    office.dispatching()
    office.clock.advance(60)
    recovery = office.coordinator.recover()
    assert recovery == TurnRecovery(attempts_unknown=1, turns_pending=1)
    assert (office.status(), office.status(attempt=1)) == ("pending", "unknown")
    assert office.attempt().error == "dispatch outcome is unknown"
    assert office.turn().epoch == 1
    assert office.coordinator.recover() == TurnRecovery()


def test_a_dispatch_of_an_owner_before_becomes_unknown_under_a_live_claim(office: Office) -> None:
    office.dispatching()
    office.clock.advance(60)
    claim = office.claim(owner="two")
    assert office.coordinator.recover() == TurnRecovery(attempts_unknown=1)
    assert (office.status(), office.status(attempt=1)) == ("claimed", "unknown")
    office.coordinator.renew(claim)


@pytest.mark.parametrize("status", ["claim", "prepared", "responded"])
def test_a_turn_whose_lease_is_over_waits_with_what_it_has(office: Office, status: str) -> None:
    getattr(office, status)()
    before = office.statuses()
    office.clock.advance(60)
    assert office.coordinator.recover() == TurnRecovery(turns_pending=1)
    assert (office.status(), office.statuses()) == ("pending", before)


def test_a_dispatch_of_a_turn_that_is_settled_becomes_unknown(office: Office) -> None:
    office.coordinator.ack(office.dispatching())
    assert office.coordinator.recover() == TurnRecovery(attempts_unknown=1)
    assert (office.status(), office.status(attempt=1)) == ("acked", "unknown")


def test_a_lease_that_ends_further_ahead_than_any_may_is_over(office: Office) -> None:
    office.claim()
    office.clock.advance(-90_000)
    assert office.coordinator.recover() == TurnRecovery(turns_pending=1)


def test_many_turns_are_recovered_at_once(office: Office) -> None:
    for number in range(120):
        office.coordinator.begin("item", number, owner="one")
    office.clock.advance(60)
    assert office.coordinator.recover().turns_pending == 120


# --- recoverable


def test_what_a_worker_should_take_up_is_listed_oldest_first(office: Office) -> None:
    office.begin("a", "b", "c", "d")
    office.prepared("b")
    office.claim("c", lease=3_600)
    office.clock.advance(60)
    office.begin("e")
    found = office.coordinator.recoverable()
    assert [(one.turn_id, one.status, one.attempt, one.attempt_status) for one in found] == [
        ("a", "pending", None, None),
        ("b", "claimed", 1, "prepared"),
        ("d", "pending", None, None),
        ("e", "pending", None, None),
    ]
    assert [one.turn_id for one in office.coordinator.recoverable(limit=2)] == ["a", "b"]


# --- resume


def test_a_turn_without_an_attempt_is_to_be_prepared(office: Office) -> None:
    office.begin("turn")
    resumption = resumed(office)
    assert (resumption.step, resumption.attempt) == ("prepare", 1)
    assert (resumption.claim.owner, resumption.claim.epoch) == ("two", 1)
    assert resumption.claim.message == {"text": "turn"}


def test_what_is_prepared_is_to_be_dispatched_as_it_is_stored(office: Office) -> None:
    office.prepared()
    office.clock.advance(60)
    resumption = resumed(office)
    assert (resumption.step, resumption.attempt) == ("dispatch", 1)
    assert resumption.request == REQUEST
    office.coordinator.start_dispatch(resumption.claim, 1)


def test_an_answer_that_is_there_is_used_without_a_call(office: Office) -> None:
    office.responded(response={"text": "paid for"})
    office.clock.advance(60)
    resumption = resumed(office)
    assert (resumption.step, resumption.attempt) == ("use_response", 1)
    assert resumption.response == {"text": "paid for"}


@pytest.mark.parametrize("how", ["expired", "recovered", "released"])
def test_what_was_being_dispatched_is_to_be_resolved(office: Office, how: str) -> None:
    claim = office.dispatching()
    if how == "released":
        office.coordinator.release(claim)
    else:
        office.clock.advance(60)
    if how == "recovered":
        office.coordinator.recover()
    resumption = resumed(office)
    assert (resumption.step, resumption.attempt) == ("resolve_unknown", 1)
    assert office.statuses() == ["unknown"]
    office.coordinator.resolve("turn", 1, "retry", by="two")
    office.coordinator.start_dispatch(resumption.claim, 2)


def test_it_goes_on_from_the_latest_attempt(office: Office) -> None:
    claim = office.responded()
    office.coordinator.reject(claim, 1, "bad")
    office.coordinator.prepare(claim, "second question")
    office.clock.advance(60)
    resumption = resumed(office)
    assert (resumption.step, resumption.attempt) == ("dispatch", 2)
    assert resumption.request == "second question"


def test_behind_an_attempt_that_is_settled_comes_the_next(office: Office) -> None:
    claim = office.responded()
    office.coordinator.reject(claim, 1, "bad")
    office.coordinator.release(claim)
    resumption = resumed(office)
    assert (resumption.step, resumption.attempt) == ("prepare", 2)


def test_what_somebody_holds_or_nobody_can_isnt_resumed(office: Office) -> None:
    office.dispatching()
    assert office.coordinator.resume("turn", "two") is None
    office.coordinator.cancel("turn", "no")
    assert office.coordinator.resume("turn", "two") is None
    assert office.coordinator.resume("never begun", "two") is None


def test_an_attempt_of_a_takeover_without_recovery_is_recovered_and_resolved(
    office: Office,
) -> None:
    """A plain claim leaves it dispatching; anybody's recover makes it known as unknown."""
    office.dispatching()
    office.clock.advance(60)
    claim = office.claim(owner="two")
    with pytest.raises(InvalidTransition):
        office.coordinator.resolve("turn", 1, "retry", by="two")
    office.coordinator.recover()
    office.coordinator.resolve("turn", 1, "retry", by="two")
    office.coordinator.start_dispatch(claim, 2)
