"""Whatever three owners do, and whatever the clock does: the ledger answers as the page says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
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
    AttemptsExhausted,
    ClaimLost,
    InvalidTransition,
    Ledger,
    LedgerError,
    RequestChanged,
    RetryPolicy,
    StaleRevision,
    TurnClaim,
    TurnRecovery,
)

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock

LONGEST = timedelta(hours=1)
MOST_ATTEMPTS = 3
WAIT = timedelta(seconds=30)
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
SETTLED = ("refused", "cancelled")
MOVES = ("prepared", "responded")

owners = st.sampled_from(("x", "y", "z"))
turns = st.sampled_from((0, 0, 1, 2))
leases = st.sampled_from((timedelta(seconds=10), timedelta(seconds=60), LONGEST))
indices = st.sampled_from((0, 0, 0, 1, 1, 2, 3, 7))  # mostly the latest, now and then a stale one
moves = st.sampled_from((1, 9, 30, 60, 3_600, 7_200, -1, -30, -7_200))
requests = st.sampled_from(("q", "q", "q", {"other": 1}))
numbers = st.sampled_from((1, 1, 2, 3, None))
decisions: Any = st.sampled_from(("adopt", "retry", "cancel"))
endings: Any = st.sampled_from(("complete", "fail", "ack"))
flags = st.booleans()


def outcome(call: Callable[[], Any]) -> Any:
    """What a command gives: its value, or the kind of its refusal."""
    try:
        return call()
    except LedgerError as refusal:
        return type(refusal)


@dataclass
class ModelAttempt:
    """What is known of an attempt."""

    request: Any
    owner: str
    epoch: int
    status: str = "prepared"
    dispatched_by: list[tuple[str, int]] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, int]:
        return (self.owner, self.epoch)


@dataclass
class ModelTurn:
    """A turn as the page describes it."""

    status: str = "pending"
    owner: str = ""
    epoch: int = 0
    expires_at: datetime = LONG_AGO
    not_before: datetime = LONG_AGO
    attempts: list[ModelAttempt] = field(default_factory=list)
    owners: dict[int, str] = field(default_factory=dict)

    @property
    def latest(self) -> ModelAttempt | None:
        return self.attempts[-1] if self.attempts else None

    @property
    def is_open(self) -> bool:
        return self.status in ("pending", "claimed")

    def over(self, now: datetime) -> bool:
        return not now < self.expires_at <= now + LONGEST

    def current(self, claim: TurnClaim) -> bool:
        key = (claim.owner, claim.epoch)
        return self.status == "claimed" and (self.owner, self.epoch) == key

    def live(self, claim: TurnClaim, now: datetime) -> bool:
        return self.current(claim) and not self.over(now)

    def claimable(self, now: datetime) -> bool:
        return self.status == "pending" or (self.status == "claimed" and self.over(now))

    def claim(self, owner: str, lease: timedelta, now: datetime) -> Any:
        if not self.claimable(now):
            return None
        self.status, self.owner, self.epoch = "claimed", owner, self.epoch + 1
        self.expires_at = now + lease
        self.owners[self.epoch] = owner
        if self.latest is not None and self.latest.status in MOVES:
            self.latest.owner, self.latest.epoch = owner, self.epoch
        return (owner, self.epoch, self.expires_at)

    def unanswered(self, now: datetime) -> bool:
        latest = self.latest
        if latest is None or latest.status != "dispatching":
            return False
        own = self.status == "claimed" and (self.owner, self.epoch) == latest.key
        return not own or self.over(now)

    def recover(self, now: datetime) -> tuple[int, int]:
        unknown = self.unanswered(now)
        if unknown:
            self.attempts[-1].status = "unknown"
        over = self.status == "claimed" and self.over(now)
        if over:
            self.status = "pending"
        return (int(unknown), int(over))

    def prepare(self, claim: TurnClaim, request: Any, number: int | None, now: datetime) -> Any:
        if not self.live(claim, now):
            return ClaimLost
        latest, count = self.latest, len(self.attempts)
        number = number or (count if latest and latest.status not in SETTLED else count + 1)
        if number <= count:
            known = self.attempts[number - 1]
            own = known.key == (claim.owner, claim.epoch)
            same = (number, known.status) if own else InvalidTransition
            return same if known.request == request else RequestChanged
        if number > count + 1 or (latest and latest.status not in SETTLED):
            return InvalidTransition
        if number > MOST_ATTEMPTS:
            return AttemptsExhausted
        self.attempts.append(ModelAttempt(request, claim.owner, claim.epoch))
        self.not_before = LONG_AGO
        return (number, "prepared")

    def change(self, claim: TurnClaim, number: int, before: str, after: str, now: datetime) -> Any:
        if not self.live(claim, now):
            return ClaimLost
        if number > len(self.attempts):
            return InvalidTransition
        attempt = self.attempts[number - 1]
        if attempt.key != (claim.owner, claim.epoch) or attempt.status != before:
            return InvalidTransition
        attempt.status = after
        if after == "dispatching":
            attempt.dispatched_by.append(attempt.key)
        return after

    def resolve(self, number: int, decision: str) -> Any:
        if number > len(self.attempts) or self.attempts[number - 1].status != "unknown":
            return InvalidTransition
        attempt = self.attempts[number - 1]
        if decision == "retry" and not self.is_open:
            return InvalidTransition
        attempt.status = "responded" if decision == "adopt" else "cancelled"
        if decision == "adopt":
            attempt.owner, attempt.epoch = self.owner, self.epoch
        if decision == "retry":
            self.attempts.append(ModelAttempt(attempt.request, self.owner, self.epoch))
        return "resolved"

    def end(self, how: str, claim: TurnClaim, now: datetime) -> Any:
        enough = self.current(claim) if how == "ack" else self.live(claim, now)
        if not enough:
            return ClaimLost
        if how == "fail" and self.latest and self.latest.status == "responded":
            return InvalidTransition
        self.status = "acked"
        return "acked"

    def cancel(self) -> Any:
        if self.status == "acked":
            return InvalidTransition
        if self.is_open and self.latest and self.latest.status == "dispatching":
            self.latest.status = "unknown"
        self.status = "cancelled"
        return "cancelled"


class Coordinators(RuleBasedStateMachine):
    """One work item, a few turns, three owners and a clock that jumps."""

    def __init__(self, opening: Callable[..., Ledger], clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        policy = RetryPolicy(max_attempts=MOST_ATTEMPTS, base=WAIT, factor=1, jitter=0)
        self.ledger = opening(max_lease=LONGEST, retry_policy=policy)
        self.coordinator = self.ledger.coordinator
        before = self.coordinator.list()
        for turn in before:  # of the runs before, of which nothing may be left to recover
            outcome(partial(self.coordinator.cancel, turn.turn_id, "over"))
        self.coordinator.recover()
        run = len(before)  # each run of the machine has a work item of its own
        self.item = f"item {run}"
        self.models: dict[str, ModelTurn] = {}
        self.claims: list[TurnClaim] = []
        self.revision = 0

    @initialize()
    def fill(self) -> None:
        for _ in range(3):
            self.begin(None)

    @rule(owner=st.one_of(st.none(), owners))
    def begin(self, owner: str | None) -> None:
        name = f"{self.item}: {len(self.models)}"
        turn = self.coordinator.begin(self.item, name, turn_id=name, owner=owner)
        self.models[name] = ModelTurn()
        if owner is not None:
            assert turn.claim is not None
            self.claims.append(turn.claim)
            self.models[name].claim(owner, timedelta(seconds=60), self.clock.now)

    def named(self, index: int) -> str:
        return list(self.models)[-1 - index % len(self.models)]

    def taken(self, turn_id: str, expected: Any, got: TurnClaim | None) -> None:
        if got is None:
            assert expected is None
            return
        assert got.turn_id == turn_id
        assert (got.owner, got.epoch, got.expires_at) == expected
        self.claims.append(got)

    @rule(turn=turns, owner=owners, lease=leases)
    def claim(self, turn: int, owner: str, lease: timedelta) -> None:
        name = self.named(turn)
        expected = self.models[name].claim(owner, lease, self.clock.now)
        self.taken(name, expected, self.coordinator.claim(name, owner, lease))

    @rule(owner=owners, lease=leases)
    def claim_next(self, owner: str, lease: timedelta) -> None:
        now = self.clock.now
        free = (
            name
            for name, one in self.models.items()
            if one.claimable(now) and one.not_before <= now
        )
        name = next(free, None)
        got = self.coordinator.claim_next(self.item, owner=owner, lease=lease)
        expected = None if name is None else self.models[name].claim(owner, lease, now)
        self.taken(name or "", expected, got)

    @rule(turn=turns, owner=owners, lease=leases)
    def resume(self, turn: int, owner: str, lease: timedelta) -> None:
        name, now = self.named(turn), self.clock.now
        model = self.models[name]
        if model.claimable(now) and model.unanswered(now):
            model.attempts[-1].status = "unknown"
        expected = model.claim(owner, lease, now)
        got = self.coordinator.resume(name, owner, lease)
        self.taken(name, expected, got and got.claim)
        if got is not None:
            status = model.latest.status if model.latest else "refused"
            steps = {"prepared": "dispatch", "responded": "use_response"}
            steps["unknown"] = "resolve_unknown"
            assert got.step == steps.get(status, "prepare")
            assert got.attempt == len(model.attempts) + (got.step == "prepare")

    def shown(self, index: int) -> tuple[TurnClaim, ModelTurn] | None:
        if not self.claims:
            return None
        claim = self.claims[-1 - index % len(self.claims)]
        return claim, self.models[claim.turn_id]

    @rule(index=indices, lease=leases)
    def renew(self, index: int, lease: timedelta) -> None:
        if shown := self.shown(index):
            claim, model = shown
            got = outcome(lambda: self.coordinator.renew(claim, lease).expires_at)
            if not model.live(claim, self.clock.now):
                assert got is ClaimLost
                return
            model.expires_at = self.clock.now + lease
            assert got == model.expires_at

    @rule(index=indices)
    def release(self, index: int) -> None:
        if shown := self.shown(index):
            claim, model = shown
            live = model.live(claim, self.clock.now)
            assert outcome(lambda: self.coordinator.release(claim)) is (None if live else ClaimLost)
            if live:
                model.status = "pending"

    @rule(index=indices, request=requests, number=numbers)
    def prepare(self, index: int, request: Any, number: int | None) -> None:
        if shown := self.shown(index):
            claim, model = shown
            got = outcome(lambda: self.coordinator.prepare(claim, request, attempt=number))
            expected = model.prepare(claim, request, number, self.clock.now)
            assert (got if isinstance(got, type) else (got.attempt, got.status)) == expected

    @rule(index=indices, word=st.sampled_from(("start_dispatch", "respond", "refuse", "reject")))
    def work(self, index: int, word: str) -> None:
        if shown := self.shown(index):
            claim, model = shown
            number = max(len(model.attempts), 1)
            before, after = {
                "start_dispatch": ("prepared", "dispatching"),
                "respond": ("dispatching", "responded"),
                "refuse": ("dispatching", "refused"),
                "reject": ("responded", "cancelled"),
            }[word]
            got = outcome(lambda: self.command(word, claim, number).status)
            assert got == model.change(claim, number, before, after, self.clock.now)
            if got == "refused":
                model.not_before = self.clock.now + WAIT

    def command(self, word: str, claim: TurnClaim, number: int) -> Any:
        coordinator = self.coordinator
        turn = coordinator.get(claim.turn_id)
        known = turn.attempts[number - 1].request_hash if turn and turn.attempts else "none"
        match word:
            case "start_dispatch":
                return coordinator.start_dispatch(claim, number)
            case "respond":
                return coordinator.respond(claim, number, known, "answer")
            case "refuse":
                return coordinator.refuse(claim, number, "no", retryable=True)
            case _:
                return coordinator.reject(claim, number, "bad")

    @rule(turn=turns, decision=decisions)
    def resolve(self, turn: int, decision: Any) -> None:
        name = self.named(turn)
        model = self.models[name]
        number = max(len(model.attempts), 1)
        given: Any = {"by": "me", "response": "found"}
        got = outcome(
            lambda: self.coordinator.resolve(name, number, decision, **given) and "resolved"
        )
        assert got == model.resolve(number, decision)

    @rule(index=indices, how=endings, wrong=flags)
    def end(self, index: int, how: Any, wrong: bool) -> None:  # noqa: FBT001
        if shown := self.shown(index):
            claim, model = shown
            said: Any = () if how == "ack" else ("value",)
            more: Any = {"expected_revision": self.revision + wrong} if said else {}
            got = outcome(lambda: getattr(self.coordinator, how)(claim, *said, **more).status)
            if got is StaleRevision:
                assert wrong
                assert model.live(claim, self.clock.now)
                return
            assert got == model.end(how, claim, self.clock.now)
            self.revision += got == "acked"

    @rule(turn=turns, really=st.integers(0, 3))
    def cancel(self, turn: int, really: int) -> None:
        if really == 0:
            name = self.named(turn)
            was_open = self.models[name].is_open
            got = outcome(lambda: self.coordinator.cancel(name, "no").status)
            assert got == self.models[name].cancel()
            self.revision += was_open

    @rule()
    def recover(self) -> None:
        now = self.clock.now
        counts = [model.recover(now) for model in self.models.values()]
        unknown, pending = (sum(column) for column in zip(*counts, strict=True))
        expected = TurnRecovery(attempts_unknown=unknown, turns_pending=pending)
        assert self.coordinator.recover() == expected

    @rule(seconds=moves)
    def pass_time(self, seconds: int) -> None:
        self.clock.advance(seconds)

    @rule()
    def open_again(self) -> None:
        """Nothing hangs on what a process remembers."""
        self.coordinator = Ledger(self.ledger._backend).coordinator

    def teardown(self) -> None:
        """From wherever it stands, all of it comes to an end, by what anybody may do."""
        while self.coordinator.list(self.item, status="claimed"):
            self.clock.advance(3_600)
            self.coordinator.recover()
        self.coordinator.recover()  # what was under way in a turn that is settled
        for turn in self.coordinator.list(self.item):
            if turn.attempts and turn.attempts[-1].status == "unknown":
                self.coordinator.resolve(turn.turn_id, len(turn.attempts), "cancel", by="anybody")
            if turn.status == "pending":
                claim = self.coordinator.claim(turn.turn_id, "anybody", 60)
                assert claim is not None
                self.coordinator.complete(claim, "done")
        for turn in self.coordinator.list(self.item):
            assert turn.status in ("acked", "cancelled")
            assert not {one.status for one in turn.attempts} & {"dispatching", "unknown"}

    @invariant()
    def everything_is_as_the_page_says(self) -> None:
        now = self.clock.now
        for turn in self.coordinator.list(self.item):
            model = self.models[turn.turn_id]
            assert (turn.status, turn.epoch) == (model.status, model.epoch)
            there = [(one.status, one.owner, one.epoch) for one in turn.attempts]
            assert there == [(one.status, *one.key) for one in model.attempts]
            assert all(len(one.dispatched_by) <= 1 for one in model.attempts)
            unsettled = [one for one in model.attempts if one.status not in SETTLED]
            assert len(unsettled) <= 1
            assert self.goes_on(model, now)
        assert self.coordinator.work_item(self.item).revision == self.revision

    def goes_on(self, model: ModelTurn, now: datetime) -> bool:
        """Whether somebody can do something about a turn: claim, recover, resolve or cancel."""
        latest = model.latest
        if model.is_open:
            return True  # it can be cancelled by anybody, and claimed once its lease is over
        return latest is None or latest.status != "dispatching" or model.unanswered(now)


def test_what_the_page_says_holds_after_every_step(
    open_ledger: Callable[..., Ledger], clock: Clock, kind: str
) -> None:
    run_state_machine_as_test(
        partial(Coordinators, open_ledger, clock),
        settings=settings(
            max_examples=12 if kind == "sqlite" else 3,
            stateful_step_count=50,
            derandomize=True,
            database=None,
            deadline=None,
            phases=(Phase.generate,),
        ),
    )
    verification = open_ledger().verify()
    assert (verification.findings, verification.notes) == ((), ())
