"""Whatever owners, the clock and those who decide do: the ledger answers as the page says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from turnledger import (
    ClaimLost,
    InvalidTransition,
    Ledger,
    LedgerError,
    OperationNotFound,
    OperationRecovery,
    OperationSettled,
    OutcomeUnknown,
    RunClaim,
)

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock

LONGEST = timedelta(hours=1)
RUNS, KEYS = ("r", "s"), ("a", "b", "c")
RUN_OF = {"a": "r", "b": "r", "c": "s"}
POLICY_OF: Any = {"a": "safe", "b": "never_automatic", "c": "probe_first"}
CONFIRMED = {
    "confirm_applied": "applied",
    "confirm_not_applied": "not_applied",
    "confirm_failed_no_effect": "failed_no_effect",
}

runs, keys = st.sampled_from(RUNS), st.sampled_from(KEYS)
owners = st.sampled_from(("x", "y"))
leases = st.sampled_from((timedelta(seconds=10), timedelta(seconds=60), LONGEST))
indices = st.sampled_from((0, 0, 0, 1, 1, 2, 3, 7))  # mostly the latest, now and then a stale one
moves = st.sampled_from((1, 9, 30, 60, 3_600, -1, -30, -7_200))
effects: Any = st.sampled_from(("applied", "not_applied", "failed_no_effect", "unknown"))
decisions: Any = st.sampled_from(sorted(CONFIRMED))


def outcome(call: Callable[[], Any]) -> Any:
    """What a command gives: its value, or the kind of its refusal."""
    try:
        return call()
    except LedgerError as refusal:
        return type(refusal)


@dataclass
class ModelRun:
    """A run as the page describes it."""

    status: str | None = None
    owner: str = ""
    epoch: int = 0
    expires_at: datetime | None = None

    def over(self, now: datetime) -> bool:
        assert self.expires_at is not None
        return not now < self.expires_at <= now + LONGEST

    def is_live(self, owner: str, epoch: int, now: datetime) -> bool:
        held = self.status == "running" and (self.owner, self.epoch) == (owner, epoch)
        return held and not self.over(now)

    def start(self, owner: str, lease: timedelta, now: datetime) -> Any:
        if self.status in ("finished", "interrupted"):
            return InvalidTransition
        if self.status == "running" and not self.over(now):
            return None
        self.status, self.owner, self.epoch = "running", owner, self.epoch + 1
        self.expires_at = now + lease
        return (owner, self.epoch, self.expires_at)


@dataclass
class ModelOperation:
    """An operation as the page describes it."""

    execution: str | None = None
    effect: str = "pending"
    claimed_by: tuple[str, int] | None = None
    evidence: set[tuple[str, int]] = field(default_factory=set)
    orphaned: bool = False

    @property
    def runs(self) -> bool:
        return self.execution in ("running", "cancel_requested")

    @property
    def blocks(self) -> bool:
        if self.execution is None:
            return False
        return self.execution != "quiescent" or self.effect == "unknown"

    def settle(self, execution: str, effect: str) -> None:
        self.execution, self.effect = execution, effect

    def orphan(self) -> None:
        self.orphaned = True
        self.settle("hazardous_orphan", "unknown")

    def complete(self, claim: RunClaim, effect: str, *, is_live: bool) -> bool:
        mine = self.claimed_by == (claim.owner, claim.epoch)
        if self.runs and mine and is_live:
            self.settle("quiescent", effect)
            return True
        if self.runs and mine:
            self.orphan()
        if self.orphaned and mine:
            self.evidence.add((claim.owner, claim.epoch))
        return False


class Workers(RuleBasedStateMachine):
    """Two runs, three operations, two owners and a clock that jumps."""

    def __init__(
        self, opening: Callable[..., Ledger], clock: Clock, numbers: Iterator[int]
    ) -> None:
        super().__init__()
        self.clock = clock
        self.ledger = opening(max_lease=LONGEST)
        number = next(numbers)  # each run of the machine has names of its own
        self.names = {name: f"{name} {number}" for name in (*RUNS, *KEYS)}
        self.item = f"item {number}"
        self.runs = {name: ModelRun() for name in RUNS}
        self.operations = {name: ModelOperation() for name in KEYS}
        self.claims: list[tuple[str, RunClaim]] = []
        self.calls: dict[str, int] = dict.fromkeys(KEYS, 0)

    @initialize()
    def fill(self) -> None:
        for name in RUNS:
            self.start(name, "x", timedelta(seconds=60))

    def said(self, key: str) -> dict[str, Any]:
        return {"operation_type": "send", "payload": key, "replay_policy": POLICY_OF[key]}

    def is_live(self, name: str, claim: RunClaim) -> bool:
        return self.runs[name].is_live(claim.owner, claim.epoch, self.clock.now)

    def picked(self, index: int) -> list[tuple[str, RunClaim]]:
        return self.claims[::-1][index : index + 1]

    @rule(name=runs, owner=owners, lease=leases)
    def start(self, name: str, owner: str, lease: timedelta) -> None:
        start = partial(self.ledger.runs.start, self.names[name], self.item, "action")
        got = outcome(lambda: start(owner, lease))
        expected = self.runs[name].start(owner, lease, self.clock.now)
        if isinstance(got, RunClaim):
            self.claims.append((name, got))
            got = (got.owner, got.epoch, got.expires_at)
        assert got == expected

    @rule(index=indices, lease=leases)
    def renew(self, index: int, lease: timedelta) -> None:
        for name, claim in self.picked(index):
            live = self.is_live(name, claim)
            got = outcome(lambda claim=claim: self.ledger.runs.renew(claim, lease).expires_at)
            assert got == (self.clock.now + lease if live else ClaimLost)
            if live:
                self.runs[name].expires_at = got

    @rule(index=indices)
    def finish(self, index: int) -> None:
        for name, claim in self.picked(index):
            live = self.is_live(name, claim)
            got = outcome(lambda claim=claim: self.ledger.runs.finish(claim, "done").status)
            assert got == ("finished" if live else ClaimLost)
            if live:
                self.runs[name].status = "finished"

    @rule(name=runs)
    def interrupt(self, name: str) -> None:
        going_on = self.runs[name].status == "running"
        assert self.ledger.runs.interrupt(self.names[name], "why") is going_on
        if going_on:
            self.runs[name].status = "interrupted"

    @rule(key=keys)
    def create(self, key: str) -> None:
        about = {
            "run_id": self.names[RUN_OF[key]],
            "work_item_id": self.item,
            "action_id": "action",
        }
        created = self.ledger.operations.create(self.names[key], **about, **self.said(key))
        known = self.operations[key]
        assert created.duplicate is (known.execution is not None)
        if known.execution is None:
            known.execution = "not_started"

    @rule(key=keys, index=indices, automatic=st.booleans(), new=st.booleans())
    def claim(self, key: str, index: int, *, automatic: bool, new: bool) -> None:
        for name, claim in self.picked(index):
            known = self.operations[key]
            if new and name != RUN_OF[key]:
                continue  # it would be other content, or another operation
            said: Any = {**self.said(key), "automatic": automatic}
            take: Any = self.ledger.operations.claim
            if new:
                take = self.ledger.operations.create_and_claim
            told = said if new else {"automatic": automatic}
            shown = (claim, self.names[key])
            got = outcome(lambda take=take, shown=shown, told=told: take(*shown, **told))
            may = known.execution == "not_started" or (new and known.execution is None)
            may = may and name == RUN_OF[key] and (POLICY_OF[key] == "safe" or not automatic)
            if not self.is_live(name, claim):
                assert got is ClaimLost
            elif not may:
                assert got is None
            else:
                assert (got.execution, got.execution_epoch) == ("running", 1)
                known.execution, known.claimed_by = "running", (claim.owner, claim.epoch)

    @rule(key=keys, index=indices, effect=effects)
    def complete(self, key: str, index: int, effect: Any) -> None:
        for name, claim in self.picked(index):
            if name == RUN_OF[key]:
                live = self.is_live(name, claim)
                got = self.ledger.operations.complete(claim, self.names[key], effect, effect)
                assert got is self.operations[key].complete(claim, effect, is_live=live)

    @rule(key=keys, index=indices, fails=st.booleans())
    def once(self, key: str, index: int, *, fails: bool) -> None:
        for name, claim in self.picked(index):
            if name != RUN_OF[key]:
                continue
            known, live, before = self.operations[key], self.is_live(name, claim), self.calls[key]

            def body() -> str:
                self.calls[key] += 1
                if fails:
                    raise OSError
                return "result"

            try:
                got = outcome(
                    lambda claim=claim, body=body: self.ledger.operations.once(
                        claim, self.names[key], "send", key, body, replay_policy=POLICY_OF[key]
                    )
                )
            except OSError:
                got = OSError
            called = live and known.execution in (None, "not_started")
            assert self.calls[key] == before + called
            if called:
                known.claimed_by = (claim.owner, claim.epoch)
                known.settle("quiescent", "unknown" if fails else "applied")
                assert got == (OSError if fails else "result")
            else:
                assert self.answered(known, got, is_live=live)

    def answered(self, known: ModelOperation, got: Any, *, is_live: bool) -> bool:
        """Whether `once` answered as it ought to without calling its body."""
        if not is_live:
            return got is ClaimLost
        if known.blocks:
            return got is OutcomeUnknown
        return (
            got not in (ClaimLost, OutcomeUnknown)
            if known.effect == "applied"
            else (got is OperationSettled)
        )

    @rule(key=keys)
    def request_cancel(self, key: str) -> None:
        known = self.operations[key]
        got = self.ledger.operations.request_cancel(self.names[key])
        assert got is (known.execution == "running")
        if got:
            known.execution = "cancel_requested"

    @rule()
    def recover(self) -> None:
        orphaned = never = 0
        for key, known in self.operations.items():
            of_run = self.runs[RUN_OF[key]]
            if known.runs and not of_run.is_live(*(known.claimed_by or ("", 0)), self.clock.now):
                known.orphan()
                orphaned += 1
            elif known.execution == "not_started" and of_run.status in ("finished", "interrupted"):
                known.settle("quiescent", "failed_no_effect")
                never += 1
        got = self.ledger.operations.recover()
        least = OperationRecovery(operations_orphaned=orphaned, operations_never_claimed=never)
        assert got.operations_orphaned >= least.operations_orphaned  # those of runs before, too
        assert got.operations_never_claimed >= least.operations_never_claimed

    @rule(key=keys, decision=decisions)
    def resolve(self, key: str, decision: Any) -> None:
        known = self.operations[key]
        said = {"by": "me", "evidence": None}
        got = outcome(
            lambda: self.ledger.operations.resolve(self.names[key], decision, **said).effect
        )
        if known.execution is None:
            assert got is OperationNotFound
        elif known.effect != "unknown":
            assert got is InvalidTransition
        else:
            known.settle("quiescent", CONFIRMED[decision])
            assert got == CONFIRMED[decision]

    @rule(seconds=moves)
    def move_the_clock(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def teardown(self) -> None:
        """From wherever it stands, all of it comes to an end, by what anybody may do."""
        for name in RUNS:
            start = partial(self.ledger.runs.start, self.names[name], self.item, "action")
            outcome(lambda start=start: start("anybody", 60))  # else nobody ever starts it
            self.ledger.runs.interrupt(self.names[name], "the end")
        self.ledger.operations.recover()
        for one in self.ledger.operations.safe_to_proceed(self.item):
            self.ledger.operations.resolve(one.key, "confirm_applied", by="anybody")
        assert self.ledger.operations.safe_to_proceed(self.item) == []

    @invariant()
    def every_operation_is_where_the_model_says(self) -> None:
        for key, known in self.operations.items():
            operation = self.ledger.operations.get(self.names[key])
            if operation is None:
                assert known.execution is None
                continue
            assert (operation.execution, operation.effect) == (known.execution, known.effect)
            held = None if operation.owner is None else (operation.owner, operation.run_epoch)
            assert held == known.claimed_by
            assert {(one.owner, one.epoch) for one in operation.evidence} == known.evidence
        blocking = [one.key for one in self.ledger.operations.safe_to_proceed(self.item)]
        assert blocking == [self.names[k] for k, known in self.operations.items() if known.blocks]

    @invariant()
    def a_body_ran_at_most_once(self) -> None:
        assert max(self.calls.values()) <= 1


def test_what_the_page_says_holds_after_every_step(
    open_ledger: Callable[..., Ledger], clock: Clock, kind: str
) -> None:
    run_state_machine_as_test(
        partial(Workers, open_ledger, clock, count()),
        settings=settings(
            max_examples=20 if kind == "sqlite" else 5,
            stateful_step_count=50,
            derandomize=True,
            database=None,
            deadline=None,
            phases=(Phase.generate,),
        ),
    )
    verification = open_ledger().verify()
    assert (verification.findings, verification.notes) == ((), ())
