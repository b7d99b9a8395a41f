"""`once`: a body that has an effect outside is called at most once for its key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger import (
    ClaimLost,
    IdempotencyConflict,
    InvalidPayload,
    NoEffect,
    OperationSettled,
    OutcomeUnknown,
    PayloadTooLarge,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.operation.conftest import Workshop
    from turnledger import Ledger, RunClaim


class Effect:
    """A body that counts its calls."""

    def __init__(self, result: Any = "result", error: BaseException | None = None) -> None:
        self.calls = 0
        self._result, self._error = result, error

    def __call__(self) -> Any:
        self.calls += 1
        if self._error is not None:
            raise self._error
        return self._result


def once(workshop: Workshop, claim: RunClaim, body: Effect, payload: Any = "payload") -> Any:
    return workshop.operations.once(claim, "key", "send", payload, body)


def test_the_body_is_called_once_and_its_result_comes_back_each_time(workshop: Workshop) -> None:
    claim, body = workshop.start(), Effect({"id": 5})
    assert once(workshop, claim, body) == {"id": 5}
    assert once(workshop, claim, body) == {"id": 5}
    assert body.calls == 1
    operation = workshop.operation()
    assert (operation.operation_type, operation.payload) == ("send", "payload")
    assert operation.replay_policy == "never_automatic"
    assert workshop.stands() == ("quiescent", "applied")


def test_it_is_recorded_before_the_body_is_called(workshop: Workshop) -> None:
    seen: list[tuple[str, str]] = []
    claim = workshop.start()
    workshop.operations.once(claim, "key", "send", {}, lambda: seen.append(workshop.stands()))
    assert seen == [("running", "pending")]


def test_an_operation_that_was_created_before_is_claimed(workshop: Workshop) -> None:
    workshop.create("key", payload="payload", replay_policy="probe_first")
    claim, body = workshop.start(), Effect()
    result = workshop.operations.once(
        claim, "key", "send", "payload", body, replay_policy="probe_first"
    )
    assert (result, body.calls) == ("result", 1)


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), SystemExit(3)])
def test_a_body_that_raised_leaves_an_unknown_effect(
    workshop: Workshop, error: BaseException
) -> None:
    claim, body = workshop.start(), Effect(error=error)
    with pytest.raises(type(error)) as raised:
        once(workshop, claim, body)
    assert raised.value is error
    assert workshop.stands() == ("quiescent", "unknown")
    assert workshop.operation().result == f"{type(error).__name__}: {error}"
    with pytest.raises(OutcomeUnknown):
        once(workshop, claim, body)
    assert body.calls == 1


def test_a_body_that_raised_no_effect_leaves_none(workshop: Workshop) -> None:
    claim, body = workshop.start(), Effect(error=NoEffect({"status": 400}))
    with pytest.raises(NoEffect):
        once(workshop, claim, body)
    assert workshop.stands() == ("quiescent", "failed_no_effect")
    assert workshop.operation().result == {"status": 400}
    with pytest.raises(OperationSettled) as refusal:
        once(workshop, claim, body)
    assert refusal.value.effect == "failed_no_effect"
    assert body.calls == 1


@pytest.mark.parametrize("execution", ["running", "cancel_requested", "hazardous_orphan"])
def test_what_isnt_known_yet_isnt_done_again(workshop: Workshop, execution: str) -> None:
    claim, body = workshop.start(), Effect()
    workshop.running(claim, "key", payload="payload")
    if execution == "cancel_requested":
        workshop.operations.request_cancel("key")
    if execution == "hazardous_orphan":
        workshop.clock.advance(60)
        claim = workshop.start()
        workshop.operations.recover()
    with pytest.raises(OutcomeUnknown) as refusal:
        once(workshop, claim, body)
    assert (refusal.value.key, refusal.value.execution) == ("key", execution)
    assert body.calls == 0


@pytest.mark.parametrize(
    ("decision", "refusal"),
    [
        ("confirm_applied", None),
        ("confirm_not_applied", OperationSettled),
        ("confirm_failed_no_effect", OperationSettled),
    ],
)
def test_a_decision_counts(workshop: Workshop, decision: Any, refusal: Any) -> None:
    claim, body = workshop.start(), Effect()
    workshop.running(claim, "key", payload="payload")
    workshop.operations.complete(claim, "key", "unknown", "half of it")
    workshop.operations.resolve("key", decision, by="me", evidence=None)
    if refusal is None:
        assert once(workshop, claim, body) == "half of it"
    else:
        with pytest.raises(refusal):
            once(workshop, claim, body)
    assert body.calls == 0


def test_what_never_began_is_settled(workshop: Workshop) -> None:
    workshop.create("key", run_id="ended", payload="payload")
    workshop.start("ended")
    workshop.runs.interrupt("ended")
    workshop.operations.recover()
    claim, body = workshop.start(), Effect()
    with pytest.raises(IdempotencyConflict):  # it is another run's
        once(workshop, claim, body)
    assert body.calls == 0


def test_other_content_is_a_conflict(workshop: Workshop) -> None:
    claim, body = workshop.start(), Effect()
    once(workshop, claim, body)
    with pytest.raises(IdempotencyConflict):
        once(workshop, claim, body, payload="other")
    assert body.calls == 1


def test_a_lost_claim_calls_nothing(workshop: Workshop, unchanged: Callable[[], None]) -> None:
    claim, body = workshop.start(), Effect()
    workshop.clock.advance(60)
    unchanged()
    with pytest.raises(ClaimLost):
        once(workshop, claim, body)
    assert body.calls == 0


@pytest.mark.parametrize("error", [None, ValueError("no"), NoEffect()])
def test_a_body_that_outlives_the_lease_leaves_a_question_and_its_answer(
    workshop: Workshop, error: Exception | None
) -> None:
    claim = workshop.start()

    def body() -> str:
        workshop.clock.advance(60)
        if error is not None:
            raise error
        return "late"

    with pytest.raises(OutcomeUnknown if error is None else type(error)):
        workshop.operations.once(claim, "key", "send", "payload", body)
    assert workshop.stands() == ("hazardous_orphan", "unknown")
    [piece] = workshop.operation().evidence
    effects = {NoEffect: "failed_no_effect", ValueError: "unknown"}
    assert piece.value["effect"] == effects.get(type(error), "applied")
    again = Effect()
    with pytest.raises(OutcomeUnknown):
        once(workshop, workshop.start(), again)
    assert again.calls == 0


def test_a_result_past_its_limit_can_be_answered_with_a_reference(
    workshop: Workshop, open_ledger: Callable[..., Ledger]
) -> None:
    claim, body = workshop.start(), Effect("x" * 100)
    operations = open_ledger(max_result_bytes=50).operations
    with pytest.raises(PayloadTooLarge):
        operations.once(claim, "key", "send", "payload", body)
    assert workshop.stands() == ("running", "pending")
    assert operations.complete(claim, "key", "applied", {"see": "file"}) is True
    assert operations.once(claim, "key", "send", "payload", body) == {"see": "file"}
    assert body.calls == 1


def test_two_ledgers_call_a_body_once(
    workshop: Workshop, open_ledger: Callable[..., Ledger]
) -> None:
    """The second one asks while the first one's body runs."""
    claim, other, calls = workshop.start(), open_ledger().operations, Effect()

    def body() -> Any:
        with pytest.raises(OutcomeUnknown):
            other.once(claim, "key", "send", "payload", calls)
        return calls()

    assert workshop.operations.once(claim, "key", "send", "payload", body) == "result"
    assert other.once(claim, "key", "send", "payload", calls) == "result"
    assert calls.calls == 1


def test_a_body_isnt_called_in_a_transaction_where_nothing_would_be_recorded_before_it(
    ledger: Ledger,
) -> None:
    claim = ledger.runs.start("run", "item", "action", "one")
    assert claim is not None
    calls: list[str] = []
    with ledger.transaction(), pytest.raises(InvalidPayload, match="transaction"):
        ledger.operations.once(claim, "key", "send", {}, lambda: calls.append("called"))
    assert (calls, ledger.operations.get("key")) == ([], None)
    ledger.operations.once(claim, "key", "send", {}, lambda: calls.append("called"))
    assert calls == ["called"]


# --- bodies that go their own ways


class Unsayable(Exception):
    """An error that has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("error", "effect"),
    [
        (Unsayable(), "unknown"),
        (ValueError("x" * 100), "unknown"),
        (NoEffect("x" * 100), "failed_no_effect"),
    ],
)
def test_an_error_that_cant_be_stored_never_blocks_the_settling(
    workshop: Workshop, open_ledger: Callable[..., Ledger], error: Exception, effect: str
) -> None:
    claim, body = workshop.start(), Effect(error=error)
    with pytest.raises(type(error)) as raised:
        open_ledger(max_result_bytes=50).operations.once(claim, "key", "send", {}, body)
    assert raised.value is error
    assert workshop.stands() == ("quiescent", effect)
    assert workshop.operation().altered is True


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no"), NoEffect()])
def test_an_error_that_cant_be_recorded_goes_on_all_the_same(
    workshop: Workshop, open_ledger: Callable[..., Ledger], error: BaseException
) -> None:
    claim, other = workshop.start(), open_ledger()

    def body() -> None:
        other.close()
        raise error

    with pytest.raises(type(error)) as raised:
        other.operations.once(claim, "key", "send", {}, body)
    assert raised.value is error
    assert "the ledger was closed" in error.__notes__[0]
    assert workshop.stands() == ("running", "pending")


def test_a_body_may_complete_its_operation_itself(workshop: Workshop) -> None:
    claim, operations = workshop.start(), workshop.operations

    def body() -> str:
        operations.complete(claim, "key", "applied", {"see": "file"})
        return "too long"

    for _ in range(2):
        assert operations.once(claim, "key", "send", {}, body) == {"see": "file"}


@pytest.mark.parametrize(
    ("decision", "refusal"), [("confirm_applied", None), ("confirm_not_applied", OperationSettled)]
)
def test_what_was_decided_while_a_body_outlived_its_lease_counts(
    workshop: Workshop, decision: Any, refusal: Any
) -> None:
    claim, operations = workshop.start(), workshop.operations

    def body() -> str:
        workshop.runs.interrupt("run")
        operations.recover()
        operations.resolve("key", decision, by="ann", evidence=None)
        return "late"

    if refusal is None:
        assert operations.once(claim, "key", "send", {}, body) is None
    else:
        with pytest.raises(refusal):
            operations.once(claim, "key", "send", {}, body)
    [piece] = workshop.operation().evidence
    assert piece.value == {"effect": "applied", "result": "late"}


async def awaited() -> str:
    return "result"


@pytest.mark.parametrize("body", [None, "send", awaited])
def test_what_is_no_body_is_refused_before_anything_is_recorded(
    workshop: Workshop, unchanged: Callable[[], None], body: Any
) -> None:
    claim = workshop.start()
    unchanged()
    with pytest.raises(InvalidPayload, match="body"):
        workshop.operations.once(claim, "key", "send", {}, body)


def test_a_body_that_must_be_awaited_isnt_taken_for_one_that_was_applied(
    workshop: Workshop,
) -> None:
    claim = workshop.start()
    with pytest.raises(InvalidPayload, match="await"):
        workshop.operations.once(claim, "key", "send", {}, Effect(awaited()))
    assert workshop.stands() == ("quiescent", "unknown")
