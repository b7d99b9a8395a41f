"""`recover`: by owner and epoch, never all; F11 and F13."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turnledger import OperationRecovery

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Store
    from tests.conformance.operation.conftest import Workshop
    from turnledger import Ledger

NOTHING = OperationRecovery()


@pytest.mark.parametrize("execution", ["running", "cancel_requested"])
def test_f11_what_a_live_claim_holds_isnt_touched_whoever_calls(
    workshop: Workshop,
    unchanged: Callable[[], None],
    open_ledger: Callable[..., Ledger],
    execution: str,
) -> None:
    claim = workshop.start()
    workshop.running(claim, "key")
    workshop.create("waiting")
    if execution == "cancel_requested":
        workshop.operations.request_cancel("key")
    workshop.clock.advance(59)
    unchanged()
    for ledger in (workshop.ledger, open_ledger(), open_ledger()):
        assert ledger.operations.recover() == NOTHING
    assert workshop.stands() == (execution, "pending")


@pytest.mark.parametrize("execution", ["running", "cancel_requested"])
@pytest.mark.parametrize("how", ["expired", "taken over", "by itself", "finished", "interrupted"])
def test_what_nobody_answers_for_becomes_a_hazardous_orphan(
    workshop: Workshop, execution: str, how: str
) -> None:
    claim = workshop.start()
    workshop.running(claim, "key")
    if execution == "cancel_requested":
        workshop.operations.request_cancel("key")
    if how == "finished":
        workshop.runs.finish(claim)
    elif how == "interrupted":
        workshop.runs.interrupt("run")
    else:
        workshop.clock.advance(60)
    if how in ("taken over", "by itself"):
        workshop.start(owner="one" if how == "by itself" else "two")
    assert workshop.operations.recover() == OperationRecovery(operations_orphaned=1)
    assert workshop.stands() == ("hazardous_orphan", "unknown")
    operation = workshop.operation()
    assert operation.reason == "the claim of its run was lost while it ran"
    assert (operation.owner, operation.execution_epoch) == ("one", 1)
    assert workshop.operations.recover() == NOTHING


def test_a_renewed_run_keeps_its_operations(workshop: Workshop) -> None:
    claim = workshop.start()
    workshop.running(claim, "key")
    workshop.clock.advance(59)
    workshop.runs.renew(claim, 60)
    workshop.clock.advance(59)
    assert workshop.operations.recover() == NOTHING
    assert workshop.operations.complete(claim, "key", "applied") is True


@pytest.mark.parametrize("how", ["finished", "interrupted"])
def test_what_hadnt_begun_when_its_run_ended_is_settled_without_effect(
    workshop: Workshop, how: str
) -> None:
    workshop.create("key", "next")
    claim = workshop.start()
    if how == "finished":
        workshop.runs.finish(claim)
    else:
        workshop.runs.interrupt("run")
    assert workshop.operations.recover() == OperationRecovery(operations_never_claimed=2)
    operation = workshop.operation()
    assert workshop.stands() == ("quiescent", "failed_no_effect")
    assert (operation.reason, operation.owner, operation.execution_epoch) == (
        *("never claimed", None),
        0,
    )
    assert workshop.operations.recover() == NOTHING


def test_what_may_still_be_claimed_isnt_touched(
    workshop: Workshop, unchanged: Callable[[], None]
) -> None:
    workshop.create("of an expired run")
    workshop.start()
    workshop.create("of no run", run_id="never started")
    workshop.clock.advance(60)
    unchanged()
    assert workshop.operations.recover() == NOTHING


def test_only_what_is_over_is_recovered(workshop: Workshop) -> None:
    runs = {name: workshop.start(name) for name in ("a", "b", "c")}
    for name, claim in runs.items():
        workshop.running(claim, f"{name} 1", f"{name} 2")
    workshop.operations.complete(runs["b"], "b 1", "applied")
    workshop.clock.advance(30)
    workshop.runs.renew(runs["a"], 60)
    workshop.clock.advance(30)
    assert workshop.operations.recover() == OperationRecovery(operations_orphaned=3)
    stood = {one.key: one.execution for one in workshop.operations.list()}
    assert stood == {
        "a 1": "running",
        "a 2": "running",
        "b 1": "quiescent",
        "b 2": "hazardous_orphan",
        "c 1": "hazardous_orphan",
        "c 2": "hazardous_orphan",
    }


def test_more_than_a_page_is_recovered(workshop: Workshop) -> None:
    claim = workshop.start()
    workshop.running(claim, *(f"{number:03}" for number in range(120)))
    workshop.create(*(f"waiting {number:03}" for number in range(120)))
    workshop.runs.interrupt("run")
    recovery = workshop.operations.recover()
    assert (recovery.operations_orphaned, recovery.operations_never_claimed) == (120, 120)
    assert workshop.operations.recover() == NOTHING


def test_a_lease_that_ends_too_far_ahead_is_over(workshop: Workshop) -> None:
    workshop.clock.advance(7 * 86_400)
    workshop.running(workshop.start(), "key")
    workshop.clock.advance(-7 * 86_400)
    assert workshop.operations.recover() == OperationRecovery(operations_orphaned=1)


def test_one_that_cant_be_read_holds_up_no_other(
    workshop: Workshop, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """The head row of the bad one is of another form, and an event of it is damaged."""
    claim = workshop.start()
    workshop.running(claim, "bad", "good")
    workshop.clock.advance(60)
    bad = next(event for event in store.events() if event.stream_id == "operation:bad")
    head = "UPDATE streams SET form = ? WHERE stream_id = 'operation:bad'"
    data = "UPDATE events SET data = ? WHERE position = ?"
    store.damage(head, 99)
    store.damage(data, "{}", bad.position)
    assert workshop.operations.recover() == OperationRecovery(operations_orphaned=1)
    assert "version 1 of stream operation:bad" in caplog.text
    listed = {one.key: one.unreadable for one in workshop.operations.list()}
    assert listed["good"] is None
    assert listed["bad"] is not None
    store.damage(data, bad.data, bad.position)
    assert workshop.operations.recover() == OperationRecovery(operations_orphaned=1)


# --- F13, and the rest of what is never stuck


@pytest.mark.parametrize(
    ("decision", "effect"),
    [
        ("confirm_applied", "applied"),
        ("confirm_not_applied", "not_applied"),
        ("confirm_failed_no_effect", "failed_no_effect"),
    ],
)
@pytest.mark.parametrize("how", ["orphaned", "unknown", "late"])
def test_f13_a_decision_settles_what_nobody_can_know(
    workshop: Workshop, how: str, decision: str, effect: str
) -> None:
    claim = workshop.orphaned() if how == "orphaned" else workshop.start()
    if how != "orphaned":
        workshop.running(claim, "key")
    if how == "late":
        workshop.clock.advance(60)
    if how != "orphaned":
        workshop.operations.complete(claim, "key", "unknown", "no idea")
    assert workshop.blocking() == ["key"]
    said = {"by": "ann", "evidence": ["seen"]}
    operation = workshop.operations.resolve("key", decision, **said)  # type: ignore[arg-type]
    assert operation == workshop.operation()
    assert workshop.stands() == ("quiescent", effect)
    assert (operation.resolved_by, operation.resolution) == ("ann", ["seen"])
    assert operation.owner == "one"
    assert operation.result == ("no idea" if how == "unknown" else None)
    assert workshop.blocking() == []


def test_after_every_accident_some_command_goes_on(workshop: Workshop) -> None:
    """Wherever the owner dies, the work item is safe to proceed after recovery and decisions."""
    workshop.create("of no run", run_id="later")
    claim = workshop.start()
    workshop.create("created")
    workshop.running(claim, "running", "cancelled", "unknown", "late")
    workshop.operations.request_cancel("cancelled")
    workshop.operations.complete(claim, "unknown", "unknown")
    workshop.clock.advance(60)
    workshop.operations.complete(claim, "late", "applied")
    workshop.start("later")
    for run_id in ("run", "later"):
        workshop.runs.interrupt(run_id)
    workshop.operations.recover()
    doubtful = workshop.blocking()
    assert doubtful == ["cancelled", "late", "running", "unknown"]
    for key in doubtful:
        workshop.operations.resolve(key, "confirm_applied", by="ann", evidence=None)
    assert workshop.blocking() == []
