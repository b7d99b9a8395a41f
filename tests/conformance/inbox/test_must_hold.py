"""Whatever two owners do, and whatever the clock does: the ledger answers as the page says."""

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
    ClaimLost,
    InboxRecovery,
    InvalidTransition,
    Ledger,
    LedgerError,
    MessageClaim,
    NotReady,
    ThreadArchived,
)

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock

LONGEST = timedelta(hours=1)
MOST_CLAIMS = 2
THREADS = ("a", "b")
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)

threads = st.sampled_from(THREADS)
owners = st.sampled_from(("x", "y"))
deliveries = st.sampled_from(("after-turn", "steer-current-turn"))
ages = st.sampled_from((None, None, 30, -30, 3_600))
leases = st.sampled_from((timedelta(seconds=10), timedelta(seconds=60), LONGEST))
indices = st.sampled_from((0, 0, 0, 1, 1, 2, 3, 7))  # mostly the latest, now and then a stale one
moves = st.sampled_from((1, 9, 30, 60, 3_600, 7_200, -1, -30, -7_200))
modes: Any = st.sampled_from(("at_most_once", "at_least_once"))


def outcome(call: Callable[[], Any]) -> Any:
    """What a command gives: its value, or the kind of its refusal."""
    try:
        return call()
    except LedgerError as refusal:
        return type(refusal)


@dataclass
class ModelMessage:
    """What is known of a message."""

    message_id: str
    delivery: str
    place: tuple[datetime, int]
    state: str = "pending"
    claims: int = 0
    deliveries: int = 0
    evidence: set[tuple[str, int]] = field(default_factory=set)


@dataclass
class ModelInbox:
    """An inbox as the page describes it, in a few lines."""

    messages: dict[str, ModelMessage] = field(default_factory=dict)
    flying: ModelMessage | None = None
    owner: str = ""
    epoch: int = 0
    expires_at: datetime = LONG_AGO
    held: dict[int, tuple[str, ModelMessage]] = field(default_factory=dict)
    archived: bool = False

    def those(self, state: str) -> list[str]:
        found = [one for one in self.messages.values() if one.state == state]
        return [one.message_id for one in sorted(found, key=lambda one: one.place)]

    def over(self, now: datetime) -> bool:
        return not now < self.expires_at <= now + LONGEST

    def post(self, message_id: str, delivery: str, queued_at: datetime) -> None:
        place = (queued_at, len(self.messages))
        self.messages[message_id] = ModelMessage(message_id, delivery, place)

    def delete(self, message_id: str) -> bool:
        message = self.messages.get(message_id)
        if message is None or message.state not in ("pending", "expired"):
            return False
        message.state = "deleted"
        return True

    def claim(self, owner: str, lease: timedelta, now: datetime, *, idle: bool, turn: bool) -> Any:
        waiting = self.those("pending")
        if self.archived or (self.flying is None and not waiting):
            return None
        if self.flying is not None:
            return (self.flying.message_id, "expired_claim" if self.over(now) else "in_flight")
        message = self.messages[waiting[0]]
        if not (idle or (turn and message.delivery == "steer-current-turn")):
            return (message.message_id, "not_deliverable")
        message.state, self.flying = "claimed", message
        message.claims += 1
        message.deliveries += 1
        self.owner, self.epoch, self.expires_at = owner, self.epoch + 1, now + lease
        self.held[self.epoch] = (owner, message)
        return (message.message_id, owner, self.epoch, self.expires_at, message.deliveries)

    def is_current(self, owner: str, epoch: int) -> bool:
        return self.flying is not None and (self.owner, self.epoch) == (owner, epoch)

    def confirm(self, owner: str, epoch: int) -> Any:
        if not self.is_current(owner, epoch):
            given_to, message = self.held[epoch]
            message.evidence.add((given_to, epoch))
            return ClaimLost
        return self._land("confirmed")

    def release(self, owner: str, epoch: int, now: datetime) -> Any:
        if not self.is_current(owner, epoch) or self.over(now):
            return ClaimLost
        assert self.flying is not None
        self.flying.deliveries -= 1
        return self._back()

    def recover(self, mode: str, now: datetime) -> InboxRecovery:
        if self.flying is None or not self.over(now):
            return InboxRecovery()
        message = self.flying
        self._back() if mode == "at_least_once" else self._land("expired")
        if message.state == "pending":
            return InboxRecovery(messages_pending=1)
        return InboxRecovery(messages_expired=1)

    def requeue(self, message_id: str) -> Any:
        if self.archived:
            return ThreadArchived
        message = self.messages.get(message_id)
        if message is None or message.state != "expired":
            return InvalidTransition
        message.state, message.claims = "pending", 0
        return "pending"

    def _back(self) -> None:
        assert self.flying is not None
        self._land("pending" if self.flying.claims <= MOST_CLAIMS else "expired")

    def _land(self, state: str) -> None:
        assert self.flying is not None
        self.flying.state, self.flying = state, None


class Inboxes(RuleBasedStateMachine):
    """Two threads, two owners and a clock that jumps."""

    def __init__(self, opening: Callable[..., Ledger], clock: Clock) -> None:
        super().__init__()
        self.clock = clock
        self.ledger = opening(max_lease=LONGEST, max_claims=MOST_CLAIMS)
        self.inbox = self.ledger.inbox
        run = len(self.ledger.threads.list())  # each run of the machine has threads of its own
        self.names = {thread: f"{thread} {run}" for thread in THREADS}
        self.models = {thread: ModelInbox() for thread in THREADS}
        self.claims: list[tuple[str, MessageClaim]] = []

    @initialize()
    def fill(self) -> None:
        for thread in THREADS:
            for delivery in ("after-turn", "steer-current-turn", "after-turn"):
                self.post(thread, delivery, None)

    @rule(thread=threads, delivery=deliveries, age=ages)
    def post(self, thread: str, delivery: Any, age: int | None) -> None:
        model = self.models[thread]
        queued_at = None if age is None else self.clock.now - timedelta(seconds=age)
        said: Any = {"source": "test", "delivery": delivery, "queued_at": queued_at}
        got = outcome(lambda: self.inbox.post(self.names[thread], "hi", **said))
        if model.archived:
            assert got is ThreadArchived
        else:
            assert queued_at is None or got.queued_at == queued_at
            model.post(got.message_id, delivery, got.queued_at)

    @rule(thread=threads, owner=owners, idle=st.booleans(), turn=st.booleans(), lease=leases)
    def claim(self, thread: str, owner: str, lease: timedelta, *, idle: bool, turn: bool) -> None:
        got = self.inbox.claim_next(
            self.names[thread],
            owner,
            can_after_turn=idle,
            can_steer_current_turn=turn,
            lease=lease,
        )
        expected = self.models[thread].claim(owner, lease, self.clock.now, idle=idle, turn=turn)
        if isinstance(got, MessageClaim):
            self.claims.append((thread, got))
            held = (got.owner, got.epoch, got.expires_at, got.deliveries)
            assert (got.message_id, *held) == expected
        elif isinstance(got, NotReady):
            assert (got.message_id, got.reason) == expected
        else:
            assert got is expected is None

    @rule(index=indices)
    def confirm(self, index: int) -> None:
        for thread, claim in self.claims[::-1][index : index + 1]:
            got = outcome(lambda claim=claim: self.inbox.confirm(claim))
            assert got is self.models[thread].confirm(claim.owner, claim.epoch)

    @rule(index=indices)
    def release(self, index: int) -> None:
        for thread, claim in self.claims[::-1][index : index + 1]:
            got = outcome(lambda claim=claim: self.inbox.release(claim))
            model = self.models[thread]
            assert got is model.release(claim.owner, claim.epoch, self.clock.now)

    @rule(thread=st.none() | threads, mode=modes)
    def recover(self, thread: str | None, mode: Any) -> None:
        got = self.inbox.recover(None if thread is None else self.names[thread], mode=mode)
        named = THREADS if thread is None else (thread,)
        each = [self.models[one].recover(mode, self.clock.now) for one in named]
        pending = sum(one.messages_pending for one in each)
        expired = sum(one.messages_expired for one in each)
        if thread is not None:
            assert got == InboxRecovery(messages_pending=pending, messages_expired=expired)

    @rule(thread=threads, index=indices)
    def requeue(self, thread: str, index: int) -> None:
        ids = self.models[thread].those("expired") + list(self.models[thread].messages)
        message_id = (ids or ["never"])[index % max(len(ids), 1)]
        got = outcome(lambda: self.inbox.requeue(self.names[thread], message_id).state)
        assert got == self.models[thread].requeue(message_id)

    @rule(thread=threads, index=indices)
    def delete(self, thread: str, index: int) -> None:
        ids = list(self.models[thread].messages)
        message_id = (ids or ["never"])[index % max(len(ids), 1)]
        got = self.inbox.delete(self.names[thread], message_id)
        assert got is self.models[thread].delete(message_id)

    @rule(thread=threads, archived=st.booleans())
    def archive(self, thread: str, *, archived: bool) -> None:
        life = self.ledger.threads
        (life.archive if archived else life.unarchive)(self.names[thread])
        self.models[thread].archived = archived

    @rule(seconds=moves)
    def move_the_clock(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @invariant()
    def every_message_is_where_the_model_says(self) -> None:
        for thread, model in self.models.items():
            name = self.names[thread]
            assert [one.message_id for one in self.inbox.list(name)] == model.those("pending")
            kept = [one.message_id for one in self.inbox.undelivered(name)]
            assert kept == model.those("expired")
            for message_id, known in model.messages.items():
                message = self.inbox.get(name, message_id)
                assert message is not None
                assert (message.state, message.deliveries) == (known.state, known.deliveries)
                evidence = {(piece.owner, piece.epoch) for piece in message.evidence}
                assert evidence == known.evidence


def test_what_the_page_says_holds_after_every_step(
    open_ledger: Callable[..., Ledger], clock: Clock, kind: str
) -> None:
    run_state_machine_as_test(
        partial(Inboxes, open_ledger, clock),
        settings=settings(
            max_examples=12 if kind == "sqlite" else 4,
            stateful_step_count=40,
            derandomize=True,
            database=None,
            deadline=None,
            phases=(Phase.generate,),
        ),
    )
    verification = open_ledger().verify()
    assert (verification.findings, verification.notes) == ((), ())
