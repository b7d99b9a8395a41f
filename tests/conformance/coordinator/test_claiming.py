"""Claiming, renewing and releasing turns: one owner at a time, and fenced by epochs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.coordinator.conftest import REQUEST
from turnledger import (
    ClaimLost,
    InvalidDuration,
    InvalidIdentifier,
    InvalidPayload,
    Ledger,
    TurnClaim,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock
    from tests.conformance.coordinator.conftest import Office


# --- claim


def test_a_pending_turn_is_claimed(office: Office, clock: Clock) -> None:
    office.begin("turn")
    claim = office.coordinator.claim("turn", "one", 10)
    assert claim is not None
    assert (claim.turn_id, claim.work_item_id, claim.owner, claim.epoch) == (
        *("turn", "item", "one", 1),
    )
    assert claim.expires_at == clock.now + timedelta(seconds=10)
    assert claim.message == {"text": "turn"}
    turn = office.turn()
    assert (turn.status, turn.owner, turn.epoch) == ("claimed", "one", 1)
    assert turn.expires_at == claim.expires_at


def test_nobody_claims_what_is_held(office: Office, unchanged: Callable[[], None]) -> None:
    office.claim()
    unchanged()
    assert office.coordinator.claim("turn", "one") is None
    assert office.coordinator.claim("turn", "two") is None
    assert office.coordinator.claim("never begun", "two") is None


def test_a_lease_that_is_over_is_taken_over_at_that_very_instant(
    office: Office, clock: Clock
) -> None:
    office.claim(lease=10)
    clock.advance(9.999)
    assert office.coordinator.claim("turn", "two") is None
    clock.advance(0.001)
    claim = office.coordinator.claim("turn", "two")
    assert claim is not None
    assert (claim.owner, claim.epoch) == ("two", 2)


def test_the_same_owner_gets_another_epoch(office: Office) -> None:
    office.coordinator.release(office.claim())
    assert office.claim().epoch == 2


@pytest.mark.parametrize("lease", [0, 0.0, timedelta(0)])
def test_a_claim_without_a_lease_is_over_at_once(office: Office, lease: Any) -> None:
    claim = office.claim(lease=lease)
    assert claim.expires_at == office.clock.now
    with pytest.raises(ClaimLost):
        office.coordinator.renew(claim)
    assert office.claim(owner="two").epoch == 2


@pytest.mark.parametrize("lease", [-1, False, 86_401, float("nan"), "1", 0.0001])
def test_a_lease_that_is_none_is_refused(office: Office, lease: Any) -> None:
    office.begin("turn")
    with pytest.raises(InvalidDuration):
        office.coordinator.claim("turn", "one", lease)


@pytest.mark.parametrize("status", ["prepared", "responded"])
def test_a_claim_moves_what_is_prepared_or_responded(office: Office, status: str) -> None:
    getattr(office, status)()
    office.clock.advance(60)
    office.claim(owner="two")
    attempt = office.attempt()
    assert (attempt.status, attempt.owner, attempt.epoch) == (status, "two", 2)


def test_a_claim_leaves_what_is_being_dispatched_with_its_owner(office: Office) -> None:
    office.dispatching()
    office.clock.advance(60)
    office.claim(owner="two")
    attempt = office.attempt()
    assert (attempt.status, attempt.owner, attempt.epoch) == ("dispatching", "one", 1)


@pytest.mark.parametrize("ending", ["complete", "fail", "ack", "cancel"])
def test_a_turn_that_is_settled_is_never_claimed(office: Office, ending: str) -> None:
    claim = office.claim()
    said: tuple[Any, ...] = () if ending == "ack" else ("why",)
    getattr(office.coordinator, ending)("turn" if ending == "cancel" else claim, *said)
    office.clock.advance(3_600)
    assert office.coordinator.claim("turn", "two") is None
    assert office.coordinator.claim_next(owner="two") is None
    assert office.coordinator.recoverable() == []


# --- claim_next


def test_the_oldest_turn_comes_first_and_holds_up_nothing(office: Office) -> None:
    office.begin("b", "a", "c")
    office.begin("x", item="other")
    next_of = office.coordinator.claim_next
    claims = [next_of("item", owner="one") for _ in range(4)]
    assert [claim and claim.turn_id for claim in claims] == ["b", "a", "c", None]
    claim = next_of("other", owner="one")
    assert claim is not None
    assert claim.turn_id == "x"


def test_the_oldest_of_any_work_item_comes_first(office: Office) -> None:
    for number, item in enumerate("zyx"):
        office.begin(f"turn {number}", item=item)
        office.clock.advance(1)
    claims = [office.coordinator.claim_next(owner="one") for _ in range(4)]
    assert [claim and claim.turn_id for claim in claims] == ["turn 0", "turn 1", "turn 2", None]


def test_a_turn_whose_lease_is_over_comes_in_its_place(office: Office) -> None:
    office.begin("a", "b")
    office.claim("a", lease=10)
    office.clock.advance(10)
    claim = office.coordinator.claim_next("item", owner="two")
    assert claim is not None
    assert (claim.turn_id, claim.owner, claim.epoch) == ("a", "two", 2)


def test_the_next_one_moves_attempts_as_a_claim_does(office: Office) -> None:
    office.prepared()
    office.clock.advance(60)
    claim = office.coordinator.claim_next("item", owner="two")
    assert claim is not None
    assert (office.attempt().owner, office.attempt().epoch) == ("two", 2)
    office.coordinator.start_dispatch(claim, 1)


def test_there_is_no_next_one_with_a_lease_of_nothing(ledger: Ledger) -> None:
    with pytest.raises(InvalidDuration):
        ledger.coordinator.claim_next(owner="one", lease=0)
    with pytest.raises(InvalidIdentifier):
        ledger.coordinator.claim_next("", owner="one")


# --- renew, release


def test_a_live_claim_is_renewed_and_may_be_shortened(office: Office) -> None:
    claim = office.claim(lease=10)
    office.clock.advance(5)
    renewed = office.coordinator.renew(claim, 60)
    assert renewed.expires_at == office.clock.now + timedelta(seconds=60)
    assert (renewed.owner, renewed.epoch) == ("one", 1)
    shorter = office.coordinator.renew(renewed, 1)
    assert office.turn().expires_at == shorter.expires_at
    office.clock.advance(1)
    with pytest.raises(ClaimLost):
        office.coordinator.renew(shorter)


def test_a_released_turn_waits_again_and_keeps_its_epoch(office: Office) -> None:
    claim = office.claim()
    office.coordinator.release(claim)
    turn = office.turn()
    assert (turn.status, turn.owner, turn.epoch, turn.expires_at) == ("pending", None, 1, None)
    for command in (office.coordinator.release, office.coordinator.renew):
        with pytest.raises(ClaimLost):
            command(claim)
    assert office.claim(owner="two").epoch == 2


def test_what_is_released_while_it_is_dispatched_is_recovered_as_unknown(office: Office) -> None:
    office.coordinator.release(office.dispatching())
    assert office.status(attempt=1) == "dispatching"
    recovery = office.coordinator.recover()
    assert (recovery.attempts_unknown, recovery.turns_pending) == (1, 0)
    assert office.status(attempt=1) == "unknown"


# --- the fence


def commands(office: Office, claim: TurnClaim) -> list[Callable[[], Any]]:
    coordinator = office.coordinator
    request_hash = office.attempt().request_hash
    return [
        lambda: coordinator.renew(claim),
        lambda: coordinator.release(claim),
        lambda: coordinator.prepare(claim, REQUEST),
        lambda: coordinator.start_dispatch(claim, 1),
        lambda: coordinator.respond(claim, 1, request_hash, "hi"),
        lambda: coordinator.refuse(claim, 1, "no", retryable=True),
        lambda: coordinator.reject(claim, 1, "bad"),
        lambda: coordinator.complete(claim, "done"),
        lambda: coordinator.fail(claim, "why"),
    ]


@pytest.mark.parametrize("wrong", [{"owner": "two"}, {"epoch": 2}, {"generation": "another"}])
def test_a_claim_that_isnt_the_current_one_changes_nothing(
    office: Office, wrong: dict[str, Any]
) -> None:
    claim = replace(office.dispatching(), **wrong)
    before = office.turn()
    for command in [*commands(office, claim), lambda: office.coordinator.ack(claim)]:
        with pytest.raises(ClaimLost) as lost:
            command()
        assert vars(lost.value)["turn_id"] == "turn"
    after = office.turn()
    assert replace(after, evidence=(), attempts=()) == replace(before, evidence=(), attempts=())
    assert office.statuses() == ["dispatching"]


def test_a_claim_that_is_over_changes_nothing_but_an_ack(office: Office) -> None:
    claim = office.dispatching()
    office.clock.advance(60)
    for command in commands(office, claim):
        with pytest.raises(ClaimLost):
            command()
    assert office.coordinator.ack(claim).status == "acked"


def test_a_claim_of_something_else_is_none(office: Office) -> None:
    for strange in ("claim", None, {"turn_id": "turn"}):
        with pytest.raises(InvalidPayload):
            office.coordinator.ack(strange)  # type: ignore[arg-type]


@pytest.mark.parametrize("epoch", [True, "1", 1.0, None, pytest.param(10**5000, id="huge")])
def test_a_claim_with_an_epoch_that_is_none_is_no_claim(office: Office, epoch: Any) -> None:
    claim = replace(office.claim(), epoch=epoch)
    for command in (office.coordinator.ack, office.coordinator.renew, office.coordinator.release):
        with pytest.raises(InvalidPayload):
            command(claim)
    assert office.status() == "claimed"


def test_a_claim_that_was_put_together_by_hand_is_as_good(office: Office) -> None:
    office.claim()
    generation = office.ledger.generation
    claim = TurnClaim(turn_id="turn", owner="one", epoch=1, generation=generation)
    assert office.coordinator.complete(claim, "done").result == "done"
