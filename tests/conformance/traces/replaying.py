"""Replaying a recorded history: each step against two ledger objects on one database.

A history is a file of JSON lines: step, at_ms, store, call, args, expect. Whatever `expect` names
must come out equal; what it doesn't name isn't compared. What hosts and providers said (`WHOLE`) is
one value: there, a name more is a difference.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import turnledger
from turnledger import ClaimLost, LedgerError, RequestChanged, RunClaim, Settings, TurnClaim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from turnledger import BegunTurn, Ledger, ProviderTurn, RecordedOperation

Facts = dict[str, Any]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
WHOLE = ("result", "response", "evidence")


class Step(NamedTuple):
    """A line of a history."""

    step: int
    at_ms: int
    store: str
    call: str
    args: Facts
    expect: Facts


class Difference(NamedTuple):
    """What came out otherwise than it was recorded."""

    step: int
    call: str
    path: str
    expected: Any
    actual: Any


def steps_in(path: Path) -> list[Step]:
    """The steps of a file.

    Raises:
        ValueError: It has none, or a line isn't the step of its number; the message says where.
    """
    with path.open(encoding="utf-8") as lines:
        steps = [step_of(line, f"{path}, line {number}") for number, line in enumerate(lines, 1)]
    if [step.step for step in steps] != [*range(1, len(steps) + 1)] or not steps:
        message = f"{path}: the steps aren't numbered from 1 on without a gap"
        raise ValueError(message)
    return steps


def step_of(line: str, where: str) -> Step:
    try:
        return Step(**json.loads(line))
    except (ValueError, TypeError) as error:
        message = f"{where}: no step of a history: {error}"
        raise ValueError(message) from error


def milliseconds(time: datetime | None) -> int | None:
    """A time as histories have it."""
    return None if time is None else (time - EPOCH) // MILLISECOND


def differences(
    expected: Any, actual: Any, path: str = "", *, whole: bool = False
) -> Iterable[tuple[str, Any, Any]]:
    """Where a value isn't the expected one: path, expected, actual.

    Args:
        expected: As it was recorded.
        actual: As it came out.
        path: Where in the answer that is.
        whole: No object has more names than the expected one.
    """
    if isinstance(expected, dict) and isinstance(actual, dict):
        names = [*expected, *(name for name in actual if whole and name not in expected)]
        for name in names:
            pair = expected.get(name, ...), actual.get(name, ...)
            yield from differences(*pair, f"{path}.{name}", whole=whole or name in WHOLE)
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for number, pair in enumerate(zip(expected, actual, strict=True)):
            yield from differences(*pair, f"{path}[{number}]", whole=whole)
    elif isinstance(expected, bool) != isinstance(actual, bool) or expected != actual:
        yield path, expected, actual


class Replayer:
    """Two ledger objects on one database, under a clock that the history sets."""

    def __init__(self, url: str) -> None:
        self._now = EPOCH
        self._claims: dict[str, Any] = {}
        self._url = url
        self._ledgers = {name: self._open() for name in ("a", "b")}
        self._here = self._ledgers["a"]

    def _open(self) -> Ledger:
        settings = Settings(synchronous="NORMAL")  # nobody cuts the power here
        return turnledger.open(self._url, clock=lambda: self._now, settings=settings)

    def reopen(self, name: str) -> None:
        """Close one of the ledger objects, and open another in its place."""
        self._ledgers[name].close()
        self._ledgers[name] = self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for ledger in self._ledgers.values():
            ledger.close()

    def replay(self, steps: Iterable[Step]) -> list[Difference]:
        """Do every step. Returns what came out otherwise."""
        return [
            Difference(step.step, step.call, *found)
            for step in steps
            for found in differences(step.expect, self.do(step))
        ]

    def do(self, step: Step) -> Facts:
        """Do one step, and say what came out in the words of the histories."""
        self._now = EPOCH + step.at_ms * MILLISECOND
        self._here = self._ledgers[step.store]
        args = dict(step.args)
        if "lease_ms" in args:
            args["lease"] = args.pop("lease_ms") * MILLISECOND
        if "claim" in args:
            args["claim"] = changed(self._claims[args["claim"]], args.pop("claim_with", {}))
        self._step = step
        call: Callable[..., Facts] = getattr(self, f"_{step.call}")
        try:
            return call(**args)
        except LedgerError as refusal:
            return {"outcome": self._refused(step.call, refusal), **self._operation_in(step)}

    def _refused(self, call: str, refusal: LedgerError) -> str:
        if isinstance(refusal, RequestChanged):
            return "changed" if call == "prepare" else "refused"
        if call.startswith("op_") and isinstance(refusal, ClaimLost):
            return "false" if call == "op_complete" else "none"
        return "refused" if isinstance(refusal, turnledger.Refusal) else repr(refusal)

    def _operation_in(self, step: Step) -> Facts:
        known = self._here.operations.get(step.args["key"]) if "key" in step.args else None
        return {} if known is None else operation(known)

    def _taken(self, claim: TurnClaim | RunClaim | None) -> Facts:
        """A claim, which later steps name by the number of this one."""
        if claim is None:
            return {"outcome": "none"}
        self._claims[f"c{self._step.step}"] = claim
        lease = {"lease_expires_at_ms": milliseconds(claim.expires_at)}
        return {"outcome": "ok", **vars(claim), **lease}

    # --- coordinator turns

    def _begin(self, work_item_id: str, message: Any, **said: Any) -> Facts:
        turn = self._here.coordinator.begin(work_item_id, message, **said)
        if turn.duplicate:
            return {"outcome": "duplicate", "turn_id": turn.turn_id}
        if turn.claim is not None:
            self._taken(turn.claim)
        return {**begun(turn), "outcome": "ok"}

    def _claim(self, turn_id: str, owner: str, lease: timedelta) -> Facts:
        return self._taken(self._here.coordinator.claim(turn_id, owner, lease))

    def _claim_next(self, work_item_id: str, owner: str, lease: timedelta) -> Facts:
        coordinator = self._here.coordinator
        return self._taken(coordinator.claim_next(work_item_id, owner=owner, lease=lease))

    def _renew(self, claim: TurnClaim, lease: timedelta) -> Facts:
        return renewed(self._here.coordinator.renew(claim, lease))

    def _ack(self, claim: TurnClaim) -> Facts:
        return {**begun(self._here.coordinator.ack(claim)), "outcome": "ok"}

    def _prepare(self, claim: TurnClaim, request: Any, attempt: int, turn_id: str) -> Facts:
        assert turn_id == claim.turn_id
        return ok(self._here.coordinator.prepare(claim, request, attempt=attempt))

    def _start_dispatch(self, claim: TurnClaim, attempt: int, turn_id: str) -> Facts:
        assert turn_id == claim.turn_id
        return ok(self._here.coordinator.start_dispatch(claim, attempt))

    def _respond(
        self, claim: TurnClaim, attempt: int, request_hash: str, response: Any, turn_id: str
    ) -> Facts:
        assert turn_id == claim.turn_id
        return ok(self._here.coordinator.respond(claim, attempt, request_hash, response))

    def _reject(self, claim: TurnClaim, attempt: int, error: Any, turn_id: str) -> Facts:
        assert turn_id == claim.turn_id
        return ok(self._here.coordinator.reject(claim, attempt, error))

    def _recover(self) -> Facts:
        return {"outcome": "ok", **vars(self._here.coordinator.recover())}

    # --- runs and operations

    def _run_start(self, **said: Any) -> Facts:
        return self._taken(self._here.runs.start(**said))

    def _run_renew(self, claim: RunClaim, lease: timedelta) -> Facts:
        return renewed(self._here.runs.renew(claim, lease))

    def _run_interrupt(self, run_id: str, reason: Any) -> Facts:
        return {"outcome": "ok" if self._here.runs.interrupt(run_id, reason) else "false"}

    def _op_create(self, key: str, **said: Any) -> Facts:
        created = self._here.operations.create(key, **said)
        return {**operation(created), "outcome": "duplicate" if created.duplicate else "ok"}

    def _op_claim(self, claim: RunClaim, key: str, *, automatic: bool) -> Facts:
        return claimed(self._here.operations.claim(claim, key, automatic=automatic))

    def _op_create_and_claim(self, claim: RunClaim, key: str, **said: Any) -> Facts:
        return claimed(self._here.operations.create_and_claim(claim, key, **said))

    def _op_complete(self, claim: RunClaim, key: str, effect: Any, result: Any) -> Facts:
        settled = self._here.operations.complete(claim, key, effect, result)
        return {**self._operation_in(self._step), "outcome": "true" if settled else "false"}

    # --- everything

    def _state(self) -> Facts:
        turns = self._here.coordinator.list()
        attempts = [attempt for turn in turns for attempt in turn.attempts]
        return {
            "outcome": "ok",
            "turns": [begun(turn) for turn in turns],
            "attempts": sorted(map(provider_turn, attempts), key=place),
            "operations": [operation(known) for known in self._here.operations.list()],
        }


def changed(claim: Any, other: Facts) -> Any:
    """A claim with one value changed; of a run's the number of a wrong epoch says nothing."""
    if isinstance(claim, RunClaim) and other.get("epoch") == claim.epoch:
        other = {"epoch": claim.epoch + 1}
    return replace(claim, **other)


def place(attempt: Facts) -> tuple[str, int]:
    return attempt["turn_id"], attempt["attempt"]


def renewed(claim: TurnClaim | RunClaim) -> Facts:
    return {"outcome": "ok", "lease_expires_at_ms": milliseconds(claim.expires_at)}


def begun(turn: BegunTurn) -> Facts:
    return {**vars(turn), "lease_expires_at_ms": milliseconds(turn.expires_at)}


def ok(attempt: ProviderTurn) -> Facts:
    return {"outcome": "ok", **provider_turn(attempt)}


def provider_turn(attempt: ProviderTurn) -> Facts:
    return {**vars(attempt), "error_present": attempt.error is not None}


def claimed(known: RecordedOperation | None) -> Facts:
    return {"outcome": "none"} if known is None else {"outcome": "ok", **operation(known)}


def operation(known: RecordedOperation) -> Facts:
    """An operation; its evidence is the report that came too late."""
    late = known.evidence[0].value if known.evidence else None
    return {**vars(known), "evidence": late}
