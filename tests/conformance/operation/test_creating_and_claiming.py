"""`create`, `claim` and `create_and_claim`, row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import (
    ClaimLost,
    IdempotencyConflict,
    InvalidIdentifier,
    InvalidPayload,
    PayloadTooLarge,
    RecordedOperation,
    RunClaim,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.operation.conftest import Workshop
    from turnledger import Ledger

CONTENT: dict[str, Any] = {
    "run_id": "run",
    "work_item_id": "item",
    "action_id": "action",
    "operation_type": "send",
    "payload": {"n": 1},
    "replay_policy": "never_automatic",
}
OTHERS: dict[str, Any] = {
    "run_id": "other",
    "work_item_id": "other",
    "action_id": "other",
    "operation_type": "other",
    "payload": {"n": 2},
    "replay_policy": "safe",
}


# --- create


def test_an_operation_is_created_and_nothing_of_it_has_begun(workshop: Workshop) -> None:
    """It needs no run."""
    payload = {"z": 2**63, "a": ["\0", {}, None, 0.1]}
    created = workshop.operations.create("key", **{**CONTENT, "payload": payload})
    now = workshop.clock.now
    assert created == RecordedOperation(
        key="key",
        **{**CONTENT, "payload": payload},
        execution="not_started",
        effect="pending",
        created_at=now,
        updated_at=now,
    )
    assert list(created.payload) == ["z", "a"]
    assert workshop.operation() == created


def test_a_known_key_with_the_same_content_gives_the_first(
    workshop: Workshop, unchanged: Callable[[], None]
) -> None:
    first = workshop.operations.create("key", **CONTENT)
    claim = workshop.start()
    workshop.operations.claim(claim, "key", automatic=False)
    workshop.operations.complete(claim, "key", "applied", "result")
    workshop.clock.advance(1)
    unchanged()
    same = {**CONTENT, "payload": {"n": 1.0}}
    assert workshop.operations.create("key", **same) == replace(first, duplicate=True)


@pytest.mark.parametrize("name", OTHERS)
def test_a_known_key_with_other_content_is_a_conflict(
    workshop: Workshop, unchanged: Callable[[], None], name: str
) -> None:
    workshop.operations.create("key", **CONTENT)
    unchanged()
    with pytest.raises(IdempotencyConflict):
        workshop.operations.create("key", **{**CONTENT, name: OTHERS[name]})


@pytest.mark.parametrize("policy", ["always", "", None, "SAFE"])
def test_another_policy_is_refused(
    workshop: Workshop, unchanged: Callable[[], None], policy: Any
) -> None:
    unchanged()
    with pytest.raises(InvalidPayload):
        workshop.operations.create("key", **{**CONTENT, "replay_policy": policy})


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ({"key": "\x1b"}, InvalidIdentifier),
        ({"run_id": ""}, InvalidIdentifier),
        ({"work_item_id": 7}, InvalidIdentifier),
        ({"action_id": "\ud800"}, InvalidIdentifier),
        ({"operation_type": ""}, InvalidIdentifier),
        ({"payload": {1, 2}}, InvalidPayload),
        ({"payload": float("nan")}, InvalidPayload),
    ],
)
def test_bad_arguments_are_refused(
    workshop: Workshop, unchanged: Callable[[], None], said: dict[str, Any], refusal: Any
) -> None:
    unchanged()
    with pytest.raises(refusal):
        workshop.operations.create(**{"key": "key", **CONTENT, **said})


def test_a_payload_past_its_limit_is_refused(open_ledger: Callable[..., Ledger]) -> None:
    operations = open_ledger(max_payload_bytes=10).operations
    with pytest.raises(PayloadTooLarge):
        operations.create("key", **{**CONTENT, "payload": "x" * 9})


@pytest.mark.parametrize("key", ["a:b", "operation:x", "%", "-", "é", "e\u0301", " a "])
def test_a_key_is_compared_by_its_bytes(workshop: Workshop, key: str) -> None:
    workshop.create(key)
    assert workshop.operation(key).key == key
    assert [one.key for one in workshop.operations.list()] == [key]


# --- claim


def test_a_claimed_operation_runs_under_the_claim_of_its_run(workshop: Workshop) -> None:
    workshop.create("key")
    claim = workshop.start()
    workshop.clock.advance(1)
    claimed = workshop.operations.claim(claim, "key", automatic=False)
    assert claimed == workshop.operation()
    assert (claimed.execution, claimed.effect) == ("running", "pending")
    assert (claimed.owner, claimed.run_epoch, claimed.execution_epoch) == ("one", 1, 1)
    assert claimed.updated_at == workshop.clock.now


@pytest.mark.parametrize("policy", ["safe", "probe_first", "never_automatic"])
def test_only_a_safe_one_is_claimed_automatically(workshop: Workshop, policy: str) -> None:
    workshop.create("key", replay_policy=policy)
    claim = workshop.start()
    taken = workshop.operations.claim(claim, "key")
    assert (taken is not None) is (policy == "safe")
    by_hand = workshop.operations.claim(claim, "key", automatic=False)
    assert (by_hand is not None) is (policy != "safe")


@pytest.mark.parametrize("execution", ["running", "cancel_requested", "quiescent", "orphaned"])
def test_what_has_begun_is_claimed_by_nobody(
    workshop: Workshop, unchanged: Callable[[], None], execution: str
) -> None:
    claim = workshop.start()
    workshop.running(claim, "key", replay_policy="safe")
    if execution == "cancel_requested":
        workshop.operations.request_cancel("key")
    if execution == "quiescent":
        workshop.operations.complete(claim, "key", "failed_no_effect")
    if execution == "orphaned":
        workshop.clock.advance(60)
        claim = workshop.start(owner="two")
        workshop.operations.recover()
    unchanged()
    for automatic in (True, False):
        assert workshop.operations.claim(claim, "key", automatic=automatic) is None


def test_an_operation_of_another_run_or_none_is_claimed_by_nobody(
    workshop: Workshop, unchanged: Callable[[], None]
) -> None:
    workshop.create("key")
    other = workshop.start("other")
    unchanged()
    assert workshop.operations.claim(other, "key", automatic=False) is None
    assert workshop.operations.claim(other, "never", automatic=False) is None


def lost(workshop: Workshop) -> list[RunClaim]:
    """Claims that aren't live, of runs that have operations `run`, `finished`, and so on."""
    claims = {name: workshop.start(name) for name in ("expired", "taken", "finished", "ended")}
    workshop.runs.finish(claims["finished"])
    workshop.runs.interrupt("ended")
    workshop.clock.advance(60)
    workshop.start("taken", owner="two")
    live = workshop.start("live")
    wrong = (replace(live, **said) for said in ({"owner": "x"}, {"epoch": 2}, {"generation": "x"}))
    never = replace(live, run_id="never")
    return [*claims.values(), *wrong, never]


def test_a_claim_of_a_run_that_isnt_live_is_lost(
    workshop: Workshop, unchanged: Callable[[], None]
) -> None:
    claims = lost(workshop)
    for claim in claims:
        workshop.create(f"of {claim.run_id}", run_id=claim.run_id)
    unchanged()
    for claim in claims:
        for key in (f"of {claim.run_id}", "never"):
            with pytest.raises(ClaimLost):
                workshop.operations.claim(claim, key, automatic=False)


# --- create_and_claim


def test_an_operation_is_created_and_claimed_in_one_transaction(workshop: Workshop) -> None:
    claim = workshop.start()
    before = workshop.written()
    taken = workshop.operations.create_and_claim(
        claim, "key", "send", {"n": 1}, replay_policy="probe_first", automatic=False
    )
    assert taken == workshop.operation()
    assert (taken.run_id, taken.work_item_id, taken.action_id) == ("run", "item", "action")
    assert (taken.execution, taken.execution_epoch, taken.owner) == ("running", 1, "one")
    events = workshop.ledger.log.read(after=before)
    assert [event.type for event in events] == ["operation.created", "operation.claimed"]
    assert len({event.metadata["command"]["id"] for event in events}) == 1


@pytest.mark.parametrize("policy", ["probe_first", "never_automatic"])
def test_if_it_cant_be_claimed_nothing_is_written(
    workshop: Workshop, unchanged: Callable[[], None], policy: Any
) -> None:
    claim = workshop.start()
    unchanged()
    taken = workshop.operations.create_and_claim(claim, "key", "send", {}, replay_policy=policy)
    assert taken is None
    assert workshop.operations.get("key") is None


def test_if_the_claim_is_lost_nothing_is_written(
    workshop: Workshop, unchanged: Callable[[], None]
) -> None:
    claims = lost(workshop)
    unchanged()
    for claim in claims:
        with pytest.raises(ClaimLost):
            workshop.operations.create_and_claim(claim, "key", "send", {}, automatic=False)


def test_a_known_one_with_the_same_content_is_claimed_if_it_hasnt_begun(
    workshop: Workshop,
) -> None:
    workshop.create("key")
    claim = workshop.start()
    said: Any = {"operation_type": "send", "payload": {"n": 1}, "automatic": False}
    taken = workshop.operations.create_and_claim(claim, "key", **said)
    assert taken is not None
    assert taken.execution == "running"
    assert workshop.operations.create_and_claim(claim, "key", **said) is None


def test_a_claim_of_a_run_that_never_was_is_lost_also_if_the_key_is_known(
    workshop: Workshop, unchanged: Callable[[], None]
) -> None:
    workshop.create("key", run_id="never")
    claim = replace(workshop.start(), run_id="never")
    unchanged()
    with pytest.raises(ClaimLost):
        workshop.operations.create_and_claim(claim, "key", "send", {"n": 1}, automatic=False)


@pytest.mark.parametrize("automatic", [None, 0, "no", float("nan"), object()])
def test_automatic_is_yes_or_no(
    workshop: Workshop, unchanged: Callable[[], None], automatic: Any
) -> None:
    workshop.create("key", replay_policy="safe")
    claim, operations = workshop.start(), workshop.operations
    unchanged()
    with pytest.raises(InvalidPayload):
        operations.claim(claim, "key", automatic=automatic)
    with pytest.raises(InvalidPayload):
        operations.create_and_claim(claim, "next", "send", {}, automatic=automatic)


def test_a_known_one_with_other_content_is_a_conflict(
    workshop: Workshop, unchanged: Callable[[], None]
) -> None:
    workshop.create("key")
    claim, other = workshop.start(), workshop.start("other")
    unchanged()
    for shown, payload in ((claim, {"n": 2}), (other, {"n": 1})):
        with pytest.raises(IdempotencyConflict):
            workshop.operations.create_and_claim(shown, "key", "send", payload, automatic=False)


def test_what_it_is_about_may_be_said_again(workshop: Workshop) -> None:
    claim = workshop.start()
    about = {"run_id": "run", "work_item_id": "other", "action_id": "another"}
    said: Any = {**about, "automatic": False}
    taken = workshop.operations.create_and_claim(claim, "key", "send", {}, **said)
    assert taken is not None
    assert (taken.run_id, taken.work_item_id, taken.action_id) == tuple(about.values())
    said = {"run_id": "other", "automatic": False}
    assert workshop.operations.create_and_claim(claim, "next", "send", {}, **said) is None
    assert workshop.operations.get("next") is None
