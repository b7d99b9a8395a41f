"""`ledger.runs`: start, takeover, renew, finish, interrupt, and what is fenced off."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import (
    ClaimLost,
    IdempotencyConflict,
    InvalidDuration,
    InvalidIdentifier,
    InvalidPayload,
    InvalidTransition,
    RunClaim,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.operation.conftest import Workshop
    from turnledger import Ledger


def test_a_run_is_started_with_a_claim(workshop: Workshop) -> None:
    claim = workshop.start()
    assert claim == RunClaim(
        run_id="run",
        owner="one",
        epoch=1,
        generation=workshop.ledger.generation,
        work_item_id="item",
        action_id="action",
        expires_at=workshop.clock.now + timedelta(seconds=60),
    )
    run = workshop.run()
    assert (run.run_id, run.status, run.owner, run.epoch) == ("run", "running", "one", 1)
    assert (run.work_item_id, run.action_id) == ("item", "action")
    assert run.expires_at == claim.expires_at
    assert run.created_at == run.updated_at == workshop.clock.now


@pytest.mark.parametrize("owner", ["one", "two"])
def test_a_live_run_is_started_by_nobody(
    workshop: Workshop, unchanged: Callable[[], None], owner: str
) -> None:
    workshop.start()
    unchanged()
    workshop.clock.advance(59)
    assert workshop.runs.start("run", "item", "action", owner, 60) is None


@pytest.mark.parametrize("owner", ["one", "two"])
def test_an_expired_run_is_taken_over_with_a_new_epoch(workshop: Workshop, owner: str) -> None:
    first = workshop.start()
    workshop.clock.advance(60)
    second = workshop.start(owner=owner)
    assert (second.owner, second.epoch) == (owner, 2)
    assert second.expires_at == workshop.clock.now + timedelta(seconds=60)
    with pytest.raises(ClaimLost):
        workshop.runs.renew(first)
    assert workshop.run().epoch == 2


def test_a_run_of_another_work_item_or_action_is_another_run(workshop: Workshop) -> None:
    workshop.start()
    for about in (("other", "action"), ("item", "other")):
        with pytest.raises(IdempotencyConflict):
            workshop.runs.start("run", *about, "one", 60)


@pytest.mark.parametrize("ending", ["finish", "interrupt"])
def test_a_run_that_is_over_isnt_started_again(workshop: Workshop, ending: str) -> None:
    claim = workshop.start()
    if ending == "finish":
        workshop.runs.finish(claim, "done")
    else:
        workshop.runs.interrupt("run", "why")
    workshop.clock.advance(60)
    with pytest.raises(InvalidTransition) as refusal:
        workshop.start()
    assert refusal.value.facts["run_id"] == "run"


def test_a_lease_is_renewed_and_may_become_shorter(workshop: Workshop) -> None:
    claim = workshop.start()
    workshop.clock.advance(30)
    longer = workshop.runs.renew(claim, timedelta(seconds=90))
    assert longer == replace(claim, expires_at=workshop.clock.now + timedelta(seconds=90))
    shorter = workshop.runs.renew(longer, 1)
    assert shorter.expires_at == workshop.clock.now + timedelta(seconds=1)
    assert workshop.run().expires_at == shorter.expires_at
    workshop.clock.advance(1)
    with pytest.raises(ClaimLost):
        workshop.runs.renew(longer)


def test_a_run_is_finished_with_an_outcome(workshop: Workshop) -> None:
    claim = workshop.start()
    run = workshop.runs.finish(claim, {"ok": True})
    assert (run.status, run.outcome, run.expires_at, run.owner) == (
        *("finished", {"ok": True}, None),
        "one",
    )
    assert run == workshop.run()


def test_an_outcome_that_isnt_json_is_kept_as_its_repr(workshop: Workshop) -> None:
    run = workshop.runs.finish(workshop.start(), {1, 2})
    assert (run.outcome, run.altered) == ("{1, 2}", True)


def test_a_run_is_interrupted_once(workshop: Workshop, unchanged: Callable[[], None]) -> None:
    claim = workshop.start()
    assert workshop.runs.interrupt("run", "the user left") is True
    run = workshop.run()
    assert (run.status, run.reason, run.expires_at) == ("interrupted", "the user left", None)
    unchanged()
    assert workshop.runs.interrupt("run", "again") is False
    with pytest.raises(ClaimLost):
        workshop.runs.renew(claim)


def test_an_expired_run_can_be_interrupted_and_one_that_never_was_cannot(
    workshop: Workshop,
) -> None:
    workshop.start()
    workshop.clock.advance(60)
    assert workshop.runs.interrupt("run", None) is True
    assert workshop.runs.interrupt("never", None) is False
    assert workshop.runs.get("never") is None


def wrong(claim: RunClaim) -> list[RunClaim]:
    """Claims that were never given out."""
    return [
        replace(claim, owner="other"),
        replace(claim, epoch=claim.epoch + 1),
        replace(claim, epoch=0),
        replace(claim, run_id="other"),
        replace(claim, generation="other"),
    ]


def test_a_claim_that_isnt_the_runs_is_lost(
    workshop: Workshop, unchanged: Callable[[], None]
) -> None:
    claim = workshop.start()
    unchanged()
    for other in wrong(claim):
        with pytest.raises(ClaimLost) as refusal:
            workshop.runs.renew(other)
        assert refusal.value.facts["run_id"] == other.run_id


def test_a_claim_that_was_never_given_out_leaves_no_evidence(
    workshop: Workshop, unchanged: Callable[[], None]
) -> None:
    claim = workshop.start()
    unchanged()
    for other in wrong(claim)[:4]:
        with pytest.raises(ClaimLost):
            workshop.runs.finish(other, "done")
    assert workshop.run().status == "running"


@pytest.mark.parametrize("how", ["expired", "taken over", "interrupted", "finished"])
def test_an_outcome_whose_claim_is_lost_is_kept_as_evidence_once(
    workshop: Workshop, how: str
) -> None:
    claim = workshop.start()
    if how in ("expired", "taken over"):
        workshop.clock.advance(60)
    if how == "taken over":
        workshop.start(owner="two")
    if how == "interrupted":
        workshop.runs.interrupt("run", "why")
    if how == "finished":
        workshop.runs.finish(claim, "first")
    before = workshop.run()
    for outcome in ("late", "later"):
        with pytest.raises(ClaimLost):
            workshop.runs.finish(claim, outcome)
    run = workshop.run()
    assert replace(run, evidence=()) == before
    [piece] = run.evidence
    assert (piece.owner, piece.epoch, piece.kind, piece.value) == ("one", 1, "finish", "late")
    assert piece.recorded_at == workshop.clock.now


def test_a_lease_that_ends_too_far_ahead_is_over(
    open_ledger: Callable[..., Ledger], workshop: Workshop
) -> None:
    """A wrong reading of a clock heals when the clock does."""
    workshop.clock.advance(7 * 86_400)
    claim = workshop.start()
    workshop.clock.advance(-7 * 86_400)
    with pytest.raises(ClaimLost):
        open_ledger().runs.renew(claim)
    assert workshop.start(owner="two").epoch == 2


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ({"run_id": ""}, InvalidIdentifier),
        ({"work_item_id": "a\x00"}, InvalidIdentifier),
        ({"action_id": "x" * 257}, InvalidIdentifier),
        ({"owner": None}, InvalidIdentifier),
        ({"lease": 0}, InvalidDuration),
        ({"lease": float("nan")}, InvalidDuration),
        ({"lease": 86_401}, InvalidDuration),
    ],
)
def test_bad_arguments_are_refused(
    workshop: Workshop, unchanged: Callable[[], None], said: dict[str, Any], refusal: Any
) -> None:
    unchanged()
    good: Any = {"run_id": "r", "work_item_id": "i", "action_id": "a", "owner": "o", "lease": 1}
    with pytest.raises(refusal):
        workshop.runs.start(**{**good, **said})


def test_what_is_no_claim_is_refused(workshop: Workshop) -> None:
    for nothing in (None, "claim", {"run_id": "run"}):
        with pytest.raises(InvalidPayload):
            workshop.runs.renew(nothing)  # type: ignore[arg-type]
    for epoch in (True, 1.0, "1", None):
        with pytest.raises(InvalidPayload):
            workshop.runs.renew(replace(workshop.start(f"run {epoch!r}"), epoch=epoch))  # type: ignore[arg-type]
