"""What runs and operations answer to each command, on histories that are given."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from turnledger.domain import operation, run
from turnledger.domain.claim import is_live
from turnledger.domain.errors import (
    ClaimLost,
    IdempotencyConflict,
    InvalidTransition,
    OperationNotFound,
    Refusal,
)
from turnledger.domain.event import Event
from turnledger.domain.limits import Context
from turnledger.domain.operation import Operation
from turnledger.domain.operation import commands as c
from turnledger.domain.run import Run
from turnledger.domain.run import commands as run_commands

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
MINUTE = timedelta(seconds=60)

# --- what happened

STARTED = Run.Started(
    work_item_id="item", action_id="action", owner="worker", epoch=1, expires_at=NOW + MINUTE
)
TAKEN_OVER = Run.TakenOver(owner="other", epoch=2, expires_at=NOW + 2 * MINUTE)
RENEWED = Run.Renewed(epoch=1, expires_at=NOW + 2 * MINUTE)
FINISHED = Run.Finished(epoch=1, outcome="done")
INTERRUPTED = Run.Interrupted(reason="why")
RUNS: tuple[tuple[Event, ...], ...] = (
    *((), (STARTED,), (STARTED, RENEWED), (STARTED, TAKEN_OVER)),
    *((STARTED, FINISHED), (STARTED, INTERRUPTED)),
)

ABOUT: dict[str, Any] = {"run_id": "run", "work_item_id": "item", "action_id": "action"}
SAID: dict[str, Any] = {**ABOUT, "operation_type": "send", "payload": {"n": 1}}
CREATED = Operation.Created(**SAID, replay_policy="safe", created_at=NOW)
BY_HAND = CREATED.model_copy(update={"replay_policy": "never_automatic"})
CLAIMED = Operation.Claimed(owner="worker", run_epoch=1, execution_epoch=1)
CANCEL_REQUESTED = Operation.CancelRequested()
ORPHANED = Operation.Orphaned(reason="nobody")


def completed(effect: Any) -> Event:
    return Operation.Completed(effect=effect, result="result")


def resolved(effect: Any) -> Event:
    return Operation.Resolved(effect=effect, by="me", evidence=None)


RUNNING = (CREATED, CLAIMED)
HISTORIES: tuple[tuple[Event, ...], ...] = (
    *((), (CREATED,), (BY_HAND,), RUNNING, (*RUNNING, CANCEL_REQUESTED)),
    *((*RUNNING, completed(effect)) for effect in operation.EFFECTS),
    *((*RUNNING, ORPHANED), (*RUNNING, CANCEL_REQUESTED, ORPHANED)),
    (CREATED, Operation.NeverClaimed(reason="never claimed")),
    *((*RUNNING, ORPHANED, resolved(effect)) for effect in operation.EFFECTS[:3]),
)

# --- what is wished

KEY: dict[str, Any] = {"key": "key"}
SHOWN: dict[str, Any] = {**KEY, "run_id": "run", "owner": "worker", "epoch": 1}
CREATE = c.Create(**KEY, **SAID, replay_policy="safe")
CLAIM = c.Claim(**SHOWN)
CLAIM_BY_HAND = c.Claim(**SHOWN, automatic=False)
BOTH = c.CreateAndClaim(
    **SHOWN,
    work_item_id="item",
    action_id="action",
    operation_type="send",
    payload={"n": 1},
    replay_policy="safe",
)
CANCEL = c.RequestCancel(**KEY)
RECOVER = c.Recover(**KEY)


def complete(effect: Any = "applied", **shown: Any) -> c.Complete:
    return c.Complete(**{**SHOWN, **shown}, effect=effect, result="result")


def resolve(decision: Any) -> c.Resolve:
    return c.Resolve(**KEY, decision=decision, by="me", evidence=None)


COMMANDS: tuple[c.AnyCommand, ...] = (
    *(CREATE, CLAIM, CLAIM_BY_HAND, BOTH, CANCEL, RECOVER),
    *(complete(effect) for effect in operation.EFFECTS),
    *(resolve(decision) for decision in operation.DECISIONS),
)
LEASE: dict[str, Any] = {"owner": "other", "lease": MINUTE}
START = run_commands.Start(**ABOUT, **LEASE)
HELD: dict[str, Any] = {"run_id": "run", "owner": "worker", "epoch": 1}
RENEW = run_commands.Renew(**HELD, lease=MINUTE)
FINISH = run_commands.Finish(**HELD, outcome="done")
INTERRUPT = run_commands.Interrupt(run_id="run", reason="why")
RUN_COMMANDS: tuple[run_commands.AnyCommand, ...] = (START, RENEW, FINISH, INTERRUPT)


def at(seconds: float) -> Context:
    return Context(NOW + timedelta(seconds=seconds), NOW)


def state(*history: Event, of_run: tuple[Event, ...] = (STARTED,)) -> operation.State:
    """An operation after a history, with its run after another one."""
    return operation.fold(history)._replace(run=run.fold(of_run))


def when(
    command: c.AnyCommand,
    *history: Event,
    of_run: tuple[Event, ...] = (STARTED,),
    seconds: float = 0,
) -> list[Event] | type[Refusal]:
    """What a command leads to, or the kind of its refusal."""
    try:
        return list(operation.decide(state(*history, of_run=of_run), command, at(seconds)))
    except Refusal as refusal:
        return type(refusal)


def run_when(
    command: run_commands.AnyCommand, *history: Event, seconds: float = 0
) -> list[Event] | type[Refusal]:
    """Likewise of a run."""
    try:
        return list(run.decide(run.fold(history), command, at(seconds)))
    except Refusal as refusal:
        return type(refusal)


# --- runs


def test_a_run_is_started_then_taken_over_then_over() -> None:
    until = NOW + MINUTE
    claim: dict[str, Any] = {"owner": "other", "expires_at": until}
    about = {"work_item_id": "item", "action_id": "action"}
    assert run_when(START) == [Run.Started(**about, **claim, epoch=1)]
    assert run_when(START, STARTED, seconds=59) == []
    later = {**claim, "expires_at": until + MINUTE}
    assert run_when(START, STARTED, seconds=60) == [Run.TakenOver(**later, epoch=2)]
    for ending in (FINISHED, INTERRUPTED):
        assert run_when(START, STARTED, ending, seconds=60) is InvalidTransition


def test_another_work_item_or_action_is_a_conflict_whatever_became_of_the_run() -> None:
    for name in ("work_item_id", "action_id"):
        other = run_commands.Start(**{**ABOUT, name: "other"}, **LEASE)
        for history in RUNS[1:]:
            assert run_when(other, *history, seconds=60) is IdempotencyConflict


def test_a_claim_of_a_run_is_live_until_the_very_end_of_its_lease() -> None:
    for command, event in ((RENEW, Run.Renewed), (FINISH, Run.Finished)):
        for seconds, alive in ((59.999, True), (60, False)):
            got = run_when(command, STARTED, seconds=seconds)
            assert got is ClaimLost if not alive else isinstance(got, list)
            if alive:
                assert [type(one) for one in got] == [event]  # type: ignore[union-attr]


def test_a_lease_that_ends_too_far_ahead_is_over() -> None:
    assert run_when(RENEW, STARTED, seconds=-2 * 86_400) is ClaimLost
    held = run.fold((STARTED,)).held
    assert not is_live(held, FINISH, at(-2 * 86_400))
    assert is_live(held, FINISH, at(0))


# --- operations


def test_what_is_created_and_claimed_at_once_is_both_or_nothing() -> None:
    assert when(BOTH) == [CREATED, CLAIMED]
    assert when(BOTH, CREATED) == [CLAIMED]
    assert when(BOTH, *RUNNING) == []
    by_hand = replace(BOTH, replay_policy="probe_first")
    assert when(by_hand) == []
    assert when(BOTH, seconds=60) is ClaimLost
    assert when(BOTH, of_run=()) is ClaimLost


@pytest.mark.parametrize("name", ["run_id", "work_item_id", "action_id", "operation_type"])
def test_a_key_stands_for_its_content(name: str) -> None:
    for history in HISTORIES[1:2] + HISTORIES[3:]:
        assert when(CREATE, *history) == []
        other: Any = {name: "other"}
        assert when(replace(CREATE, **other), *history) is IdempotencyConflict
    same = replace(CREATE, payload={"n": 1.0})
    assert when(same, CREATED) == []


def test_only_the_claim_of_its_own_run_claims_it() -> None:
    assert when(CLAIM, CREATED) == [CLAIMED]
    assert when(CLAIM, BY_HAND) == []
    assert when(CLAIM_BY_HAND, BY_HAND) == [CLAIMED]
    of_another = CREATED.model_copy(update={"run_id": "other"})
    assert when(CLAIM, of_another) == []
    for of_run in (RUNS[0], *RUNS[3:]):
        assert when(CLAIM, CREATED, of_run=of_run) is ClaimLost


def test_a_completion_counts_only_under_the_live_claim_it_ran_under() -> None:
    assert when(complete(), *RUNNING) == [completed("applied")]
    for shown in ({"owner": "other"}, {"epoch": 2}, {"run_id": "other"}):
        assert when(complete(**shown), *RUNNING) == []
    late = [type(one) for one in when(complete(), *RUNNING, seconds=60)]  # type: ignore[union-attr]
    assert late == [Operation.Orphaned]
    for of_run in (RUNS[3], RUNS[4], RUNS[5]):
        found = when(complete(), *RUNNING, of_run=of_run)
        assert [type(one) for one in found] == [Operation.Orphaned]  # type: ignore[union-attr]


def test_recovery_goes_by_the_claim_it_ran_under() -> None:
    assert when(RECOVER, *RUNNING, seconds=59) == []
    for of_run, seconds in ((RUNS[1], 60), (RUNS[3], 0), (RUNS[4], 0), (RUNS[5], 0)):
        found = when(RECOVER, *RUNNING, of_run=of_run, seconds=seconds)
        assert [type(one) for one in found] == [Operation.Orphaned]  # type: ignore[union-attr]
    assert when(RECOVER, CREATED, of_run=(), seconds=60) == []
    assert when(RECOVER, CREATED, seconds=60) == []
    for of_run in RUNS[4:]:
        never = Operation.NeverClaimed(reason="never claimed")
        assert when(RECOVER, CREATED, of_run=of_run) == [never]


def test_a_decision_is_for_what_is_in_doubt() -> None:
    decision = resolve("confirm_not_applied")
    assert when(decision) is OperationNotFound
    for history in HISTORIES[1:]:
        in_doubt = operation.fold(history).is_in_doubt
        found = when(decision, *history)
        assert found == [resolved("not_applied")] if in_doubt else found is InvalidTransition


# --- laws


def test_a_command_decides_the_same_each_time_and_nothing_after_it_took_effect() -> None:
    again_is_nothing = (c.Create, c.Claim, c.CreateAndClaim, c.Complete, c.RequestCancel, c.Recover)
    for history in HISTORIES:
        for command in COMMANDS:
            for seconds in (0, 60):
                found = when(command, *history, seconds=seconds)
                assert found == when(command, *history, seconds=seconds)
                if isinstance(found, list) and found and isinstance(command, again_is_nothing):
                    assert when(command, *history, *found, seconds=seconds) in ([], ClaimLost)


def test_what_is_decided_breaks_no_rule_of_the_history() -> None:
    for history in HISTORIES:
        for of_run in RUNS:
            for command in COMMANDS:
                for seconds in (0, 60):
                    found = when(command, *history, of_run=of_run, seconds=seconds)
                    before = state(*history, of_run=of_run)
                    for event in found if isinstance(found, list) else ():
                        assert operation.broken_rule(before, event) is None, (history, command)
                        before = operation.evolve(before, event)


def test_what_a_run_decides_breaks_no_rule_of_its_history() -> None:
    for history in RUNS:
        for command in RUN_COMMANDS:
            for seconds in (0, 60):
                found = run_when(command, *history, seconds=seconds)
                before = run.fold(history)
                for event in found if isinstance(found, list) else ():
                    assert run.broken_rule(before, event) is None
                    before = run.evolve(before, event)


@pytest.mark.parametrize(
    ("history", "event"),
    [
        ((CREATED,), CREATED),
        ((), CLAIMED),
        (RUNNING, CLAIMED),
        ((CREATED,), CLAIMED.model_copy(update={"execution_epoch": 2})),
        ((CREATED,), CLAIMED.model_copy(update={"owner": "other"})),
        ((CREATED,), CANCEL_REQUESTED),
        ((*RUNNING, CANCEL_REQUESTED), CANCEL_REQUESTED),
        ((CREATED,), completed("applied")),
        ((*RUNNING, ORPHANED), completed("applied")),
        ((CREATED,), ORPHANED),
        ((CREATED,), Operation.NeverClaimed(reason="its run goes on")),
        (RUNNING, Operation.NeverClaimed(reason="it ran")),
        (RUNNING, resolved("applied")),
        ((*RUNNING, completed("applied")), resolved("applied")),
    ],
)
def test_a_tampered_history_breaks_a_rule(history: tuple[Event, ...], event: Event) -> None:
    assert operation.broken_rule(state(*history), event) is not None


@pytest.mark.parametrize(
    ("history", "event"),
    [
        ((STARTED,), STARTED),
        ((), TAKEN_OVER),
        ((STARTED,), TAKEN_OVER.model_copy(update={"epoch": 3})),
        ((STARTED, TAKEN_OVER), RENEWED),
        ((STARTED, FINISHED), FINISHED),
        ((STARTED, FINISHED), INTERRUPTED),
        ((), INTERRUPTED),
    ],
)
def test_a_tampered_run_breaks_a_rule(history: tuple[Event, ...], event: Event) -> None:
    assert run.broken_rule(run.fold(history), event) is not None


def test_a_head_row_gives_back_the_state() -> None:
    for history in HISTORIES[1:]:
        known = operation.fold(history)
        assert operation.State.from_scalars(list(known.scalars()), known.epoch) == known
    for history in RUNS[1:]:
        of_run = run.fold(history)
        assert run.State.from_scalars(list(of_run.scalars()), of_run.epoch) == of_run
