"""`complete` and `request_cancel`: once, by the owner, in time; what comes too late is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import ClaimLost, InvalidIdentifier, InvalidPayload, PayloadTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.operation.conftest import Workshop
    from turnledger import Ledger, RunClaim

EFFECTS = ("applied", "not_applied", "failed_no_effect", "unknown")
LATE = {"effect": "applied", "result": "late"}


def lose(workshop: Workshop, how: str, claim: RunClaim) -> None:
    """Let the claim of a run be lost."""
    if how in ("expired", "taken over"):
        workshop.clock.advance(60)
    if how == "taken over":
        workshop.start(owner="two")
    if how == "finished":
        workshop.runs.finish(claim, "done")
    if how == "interrupted":
        workshop.runs.interrupt("run", "why")


LOST = ("expired", "taken over", "finished", "interrupted")


@pytest.mark.parametrize("effect", EFFECTS)
def test_an_operation_is_completed_with_its_effect(workshop: Workshop, effect: Any) -> None:
    claim = workshop.start()
    workshop.running(claim, "key")
    workshop.clock.advance(59)
    assert workshop.operations.complete(claim, "key", effect, {"id": [5]}) is True
    operation = workshop.operation()
    assert (operation.execution, operation.effect) == ("quiescent", effect)
    assert (operation.result, operation.owner, operation.altered) == ({"id": [5]}, "one", False)
    assert (operation.execution_epoch, operation.updated_at) == (1, workshop.clock.now)


@pytest.mark.parametrize("effect", ["pending", "", None, "APPLIED", ["applied"]])
def test_another_effect_is_refused(
    workshop: Workshop, unchanged: Callable[[], None], effect: Any
) -> None:
    claim = workshop.start()
    workshop.running(claim, "key")
    unchanged()
    with pytest.raises(InvalidPayload):
        workshop.operations.complete(claim, "key", effect, None)
    with pytest.raises(InvalidIdentifier):
        workshop.operations.complete(claim, "", "applied", None)


def test_it_is_completed_once(workshop: Workshop, unchanged: Callable[[], None]) -> None:
    claim = workshop.start()
    workshop.running(claim, "key")
    workshop.operations.complete(claim, "key", "applied", "first")
    unchanged()
    assert workshop.operations.complete(claim, "key", "failed_no_effect", "second") is False
    workshop.clock.advance(60)
    assert workshop.operations.complete(claim, "key", "failed_no_effect", "third") is False
    assert (workshop.stands(), workshop.operation().result) == (("quiescent", "applied"), "first")


def test_what_hasnt_begun_or_never_was_isnt_completed(
    workshop: Workshop, unchanged: Callable[[], None]
) -> None:
    workshop.create("key")
    claim = workshop.start()
    unchanged()
    assert workshop.operations.complete(claim, "key", "applied") is False
    assert workshop.operations.complete(claim, "never", "applied") is False


@pytest.mark.parametrize("is_over", [False, True])
def test_anothers_claim_changes_nothing(
    workshop: Workshop, unchanged: Callable[[], None], *, is_over: bool
) -> None:
    claim = workshop.start()
    workshop.running(claim, "key")
    other = workshop.start("other")
    if is_over:
        workshop.clock.advance(60)
    wrong: list[dict[str, Any]] = [{"owner": "two"}, {"epoch": 2}, {"run_id": "other"}]
    unchanged()
    for shown in (other, *(replace(claim, **said) for said in wrong)):
        assert workshop.operations.complete(shown, "key", "applied", "mine") is False
    assert workshop.stands() == ("running", "pending")


def test_a_successors_claim_doesnt_complete_what_ran_before(
    workshop: Workshop, unchanged: Callable[[], None]
) -> None:
    claim = workshop.start()
    workshop.running(claim, "key")
    workshop.clock.advance(60)
    successor = workshop.start()
    unchanged()
    assert workshop.operations.complete(successor, "key", "applied", "guessed") is False
    assert workshop.stands() == ("running", "pending")


@pytest.mark.parametrize("how", LOST)
@pytest.mark.parametrize("execution", ["running", "cancel_requested"])
def test_a_late_completion_makes_it_a_hazardous_orphan_and_is_kept(
    workshop: Workshop, how: str, execution: str
) -> None:
    claim = workshop.start()
    workshop.running(claim, "key")
    if execution == "cancel_requested":
        workshop.operations.request_cancel("key")
    lose(workshop, how, claim)
    assert workshop.operations.complete(claim, "key", "applied", "late") is False
    operation = workshop.operation()
    assert workshop.stands() == ("hazardous_orphan", "unknown")
    assert (operation.result, operation.owner, operation.execution_epoch) == (None, "one", 1)
    assert operation.reason == "completed after the claim of its run was lost"
    [piece] = operation.evidence
    assert (piece.owner, piece.epoch, piece.kind, piece.value) == ("one", 1, "complete", LATE)


@pytest.mark.parametrize("decided", [False, True])
def test_a_report_about_an_orphan_is_kept_once(workshop: Workshop, *, decided: bool) -> None:
    """Also one that comes when somebody has already decided; the decision stands."""
    claim = workshop.orphaned()
    if decided:
        workshop.operations.resolve("key", "confirm_not_applied", by="me", evidence=None)
    stood = workshop.stands()
    for result in ("late", "later"):
        assert workshop.operations.complete(claim, "key", "applied", result) is False
    [piece] = workshop.operation().evidence
    assert (piece.value, workshop.stands()) == (LATE, stood)


def test_a_report_under_a_claim_from_before_a_restore_is_lost_and_kept(workshop: Workshop) -> None:
    claim = replace(workshop.start(), generation="before")
    workshop.running(replace(claim, generation=workshop.ledger.generation), "key")
    with pytest.raises(ClaimLost):
        workshop.operations.complete(claim, "key", "applied", "late")
    [piece] = workshop.operation().evidence
    assert (piece.value, workshop.stands()) == (LATE, ("running", "pending"))


def test_a_result_that_isnt_json_never_blocks_the_settling(workshop: Workshop) -> None:
    claim = workshop.start()
    workshop.running(claim, "set", "surrogate", "nul")
    assert workshop.operations.complete(claim, "set", "applied", {1})
    assert workshop.operations.complete(claim, "surrogate", "applied", ["\ud800"])
    assert workshop.operations.complete(claim, "nul", "applied", "\x00")
    found = {one.key: (one.result, one.altered) for one in workshop.operations.list()}
    assert found == {"set": ("{1}", True), "surrogate": (["\ufffd"], True), "nul": ("\x00", False)}


def test_a_result_past_its_limit_changes_nothing(
    workshop: Workshop, open_ledger: Callable[..., Ledger]
) -> None:
    claim = workshop.start()
    workshop.running(claim, "key")
    small = open_ledger(max_result_bytes=10).operations
    with pytest.raises(PayloadTooLarge):
        small.complete(claim, "key", "applied", "x" * 9)
    assert workshop.stands() == ("running", "pending")
    assert small.complete(claim, "key", "applied", "ref") is True


# --- request_cancel


def test_what_runs_may_still_finish_when_its_cancellation_was_requested(
    workshop: Workshop,
) -> None:
    claim = workshop.start()
    workshop.running(claim, "key")
    assert workshop.operations.request_cancel("key") is True
    assert workshop.stands() == ("cancel_requested", "pending")
    assert workshop.operations.complete(claim, "key", "applied") is True
    assert workshop.stands() == ("quiescent", "applied")


def test_a_cancellation_goes_never_backwards(
    workshop: Workshop, unchanged: Callable[[], None]
) -> None:
    workshop.orphaned("orphaned", "lost")
    claim = workshop.start()
    workshop.create("not started")
    workshop.running(claim, "requested", "done")
    workshop.operations.request_cancel("requested")
    workshop.operations.complete(claim, "done", "applied")
    unchanged()
    for key in ("orphaned", "not started", "requested", "done", "never"):
        assert workshop.operations.request_cancel(key) is False
