"""`resolve` and `safe_to_proceed`: what may be decided, by whom, and what blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger import InvalidPayload, InvalidTransition, OperationNotFound

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.operation.conftest import Workshop
    from turnledger import Ledger


def test_a_decision_has_one_winner(workshop: Workshop, open_ledger: Callable[..., Ledger]) -> None:
    workshop.orphaned()
    workshop.operations.resolve("key", "confirm_applied", by="ann", evidence="seen")
    with pytest.raises(InvalidTransition) as refusal:
        open_ledger().operations.resolve("key", "confirm_not_applied", by="bob", evidence=None)
    assert refusal.value.facts["operation_id"] == "key"
    operation = workshop.operation()
    assert (operation.effect, operation.resolved_by) == ("applied", "ann")


def test_only_what_is_in_doubt_is_decided(
    workshop: Workshop, unchanged: Callable[[], None]
) -> None:
    claim = workshop.start()
    workshop.create("not started")
    workshop.running(claim, "running", "cancelled", "applied", "failed")
    workshop.operations.request_cancel("cancelled")
    workshop.operations.complete(claim, "applied", "applied")
    workshop.operations.complete(claim, "failed", "failed_no_effect")
    unchanged()
    for key in ("not started", "running", "cancelled", "applied", "failed"):
        with pytest.raises(InvalidTransition):
            workshop.operations.resolve(key, "confirm_applied", by="me", evidence=None)
    with pytest.raises(OperationNotFound):
        workshop.operations.resolve("never", "confirm_applied", by="me", evidence=None)


@pytest.mark.parametrize("decision", ["applied", "", None, "adopt"])
def test_another_decision_is_refused(
    workshop: Workshop, unchanged: Callable[[], None], decision: Any
) -> None:
    workshop.orphaned()
    unchanged()
    with pytest.raises(InvalidPayload):
        workshop.operations.resolve("key", decision, by="me", evidence=None)


def test_what_cant_be_stored_never_blocks_a_decision(workshop: Workshop) -> None:
    workshop.orphaned()
    said: Any = {"by": "\ud800", "evidence": {1}}
    operation = workshop.operations.resolve("key", "confirm_applied", **said)
    assert (operation.resolved_by, operation.resolution) == ("\ufffd", "{1}")
    assert operation.altered is True


# --- safe_to_proceed


def test_an_item_without_operations_is_safe(workshop: Workshop) -> None:
    assert workshop.operations.safe_to_proceed("never named") == []


def test_each_that_isnt_settled_with_a_known_effect_blocks_and_says_why(
    workshop: Workshop,
) -> None:
    workshop.orphaned("orphaned", "lost")
    claim = workshop.start()
    workshop.create("not started")
    workshop.running(claim, "running", "cancelled", "unknown")
    workshop.running(claim, "applied", "not applied", "failed", "decided")
    workshop.operations.request_cancel("cancelled")
    for key, effect in (
        *(("unknown", "unknown"), ("applied", "applied"), ("not applied", "not_applied")),
        *(("failed", "failed_no_effect"), ("decided", "unknown")),
    ):
        workshop.operations.complete(claim, key, effect)  # type: ignore[arg-type]
    workshop.operations.resolve("decided", "confirm_applied", by="me", evidence=None)
    found = workshop.operations.safe_to_proceed("item")
    assert [(one.key, one.run_id, one.execution, one.effect) for one in found] == [
        ("cancelled", "run", "cancel_requested", "pending"),
        ("not started", "run", "not_started", "pending"),
        ("orphaned", "lost", "hazardous_orphan", "unknown"),
        ("running", "run", "running", "pending"),
        ("unknown", "run", "quiescent", "unknown"),
    ]
    words = {one.key: one.reason for one in found}
    assert "resolve" in words["orphaned"]
    assert "resolve" in words["unknown"]
    assert "claim it" in words["not started"]


def test_another_items_operations_dont_block(workshop: Workshop) -> None:
    workshop.create("key", work_item_id="other")
    assert workshop.blocking() == []
    assert [one.key for one in workshop.operations.safe_to_proceed("other")] == ["key"]


def test_operations_are_listed_by_their_keys(workshop: Workshop) -> None:
    workshop.create("b", "a", "É", "é")
    workshop.create("c", work_item_id="other")
    assert [one.key for one in workshop.operations.list("item")] == ["a", "b", "É", "é"]
    assert [one.key for one in workshop.operations.list()] == ["a", "b", "c", "É", "é"]
    assert workshop.operations.list("never") == []
    assert workshop.operations.get("never") is None


# --- doctor


def test_doctor_counts_what_is_in_doubt(workshop: Workshop) -> None:
    def told() -> tuple[str, str]:
        [check] = [one for one in workshop.ledger.doctor() if one.name == "operations"]
        return check.status, check.message

    workshop.create("waiting")
    assert told() == ("ok", "no operation is in doubt")
    workshop.orphaned("first", "lost")
    advice = "in doubt; `turnledger operation resolve` settles them"
    assert told() == ("note", f"1 operation is {advice}")
    claim = workshop.start()
    workshop.running(claim, "second")
    workshop.operations.complete(claim, "second", "unknown")
    assert told() == ("note", f"2 operations are {advice}")
