"""`turnledger.open(…, redact=hook)`: what is stored is what the hook gives back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import turnledger
from turnledger import InvalidPayload, Ledger

if TYPE_CHECKING:
    from tests.conformance.encryption.conftest import Traces

SECRET = "hunter2"


def hook(_where: str, value: Any) -> Any:
    return json.loads(json.dumps(value).replace(SECRET, "***"))


def do_everything(ledger: Ledger) -> None:
    said = {"text": f"it is {SECRET}"}
    ledger.queue.append("t", said)
    ledger.queue.append_many("t", [said])
    ledger.queue.pause("t", SECRET)
    ledger.queue.resume("t")
    claim = ledger.queue.claim_head("t", "worker")
    assert claim is not None
    ledger.queue.start_dispatch(claim, "d")
    ledger.queue.fail(claim, said, outcome_unknown=True)
    ledger.queue.resolve("t", claim.queued_turn_id or "", "retry", by="me", evidence=said)
    ledger.inbox.post("t", said, source="host", instructions=SECRET, metadata=said)
    timer = ledger.timers.create("t", turnledger.Delay(seconds=60), said)
    ledger.timers.update("t", timer.timer_id, instructions=said)
    turns = ledger.coordinator
    turn = turns.begin("item", said, owner="worker", idempotency_key="k").claim
    assert turn is not None
    prepared = turns.prepare(turn, said)
    turns.start_dispatch(turn, 1)
    turns.respond(turn, 1, prepared.request_hash, said)
    turns.reject(turn, 1, said)
    turns.prepare(turn, {"again": said})
    turns.complete(turn, said)
    turns.cancel(turns.begin("item", said).turn_id, said)
    run = ledger.runs.start("run", "item", "action", "worker")
    assert run is not None
    ledger.operations.once(run, "key", "send", said, lambda: said)
    ledger.runs.finish(run, said)


@pytest.mark.parametrize("encrypt", [False, True])
def test_no_secret_is_stored_by_any_command(
    url: str,
    traces: Traces,
    encrypt: bool,  # noqa: FBT001
) -> None:
    with turnledger.open(url, redact=hook, encrypt=encrypt) as ledger:
        do_everything(ledger)
        assert ledger.queue.list("t")[0].submission == {"text": "it is ***"}
        assert SECRET not in repr(ledger.log.read(limit=1_000))
        assert ledger.verify().ok
        assert ledger.replay().ok
    assert SECRET.encode() not in traces("ledger")


def test_without_a_hook_they_are(url: str, traces: Traces) -> None:
    with turnledger.open(url) as ledger:
        do_everything(ledger)
    assert traces("ledger").count(SECRET.encode()) > 15


def test_what_is_hashed_and_compared_is_what_is_stored(url: str) -> None:
    with turnledger.open(url, redact=hook) as ledger:
        first = ledger.queue.append("t", {"text": SECRET}, idempotency_key="k")
        again = ledger.queue.append("t", {"text": SECRET}, idempotency_key="k")
        assert (again.queued_turn_id, again.duplicate) == (first.queued_turn_id, True)
        claim = ledger.coordinator.begin("item", "m", owner="worker").claim
        assert claim is not None
        prepared = ledger.coordinator.prepare(claim, {"ask": SECRET})
        assert prepared.request == {"ask": "***"}
        again_prepared = ledger.coordinator.prepare(claim, {"ask": SECRET})
        assert again_prepared.request_hash == prepared.request_hash


def fails(_where: str, _value: Any) -> Any:
    raise KeyError


def gives_no_json(_where: str, _value: Any) -> Any:
    return {1: object()}


@pytest.mark.parametrize("broken", [fails, gives_no_json])
def test_a_hook_that_fails_stores_nothing_and_blocks_no_result(
    url: str, broken: Callable[[str, Any], Any]
) -> None:
    with turnledger.open(url) as ledger:
        ledger.queue.append("t", {"text": SECRET})
    with turnledger.open(url, redact=broken) as ledger:
        with pytest.raises((KeyError, InvalidPayload)):
            ledger.queue.append("t", {"text": SECRET})
        assert len(ledger.queue.list("t")) == 1
        claim = ledger.queue.claim_head("t", "worker")
        assert claim is not None
        ledger.queue.fail(claim, {"text": SECRET})
        failed = ledger.queue.list("t")[0]
        assert failed.state == "failed"
        assert SECRET not in repr(failed.failure)


def test_a_hook_must_be_callable(url: str) -> None:
    wrong: Any = "secrets"
    with pytest.raises(InvalidPayload, match="redact"):
        turnledger.open(url, redact=wrong)
