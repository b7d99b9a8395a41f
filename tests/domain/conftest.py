"""given(events).when(command).then(events), and short words for facts and wishes.

A state is folded from events alone, and each event is read back from its stored form first. The
fixtures hold no state, so that one of each serves the whole session.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from turnledger.domain import evidence, inbox, thread, thread_queue, timer
from turnledger.domain.errors import Refusal
from turnledger.domain.event import Event, EventRegistry
from turnledger.domain.inbox.commands import InboxCommand
from turnledger.domain.limits import Context, Limits
from turnledger.domain.payload import encode
from turnledger.domain.thread_queue import State, ThreadQueue
from turnledger.domain.thread_queue import commands as c

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from turnledger.domain.command import Command

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
Wished = TypeVar("Wished")
THREAD = "thread"
OWNER = "worker"
LEASE = timedelta(seconds=60)
REGISTRY = EventRegistry(
    (*thread_queue.EVENTS, *thread.EVENTS, *evidence.EVENTS, *inbox.EVENTS, *timer.EVENTS)
)


def stored(event: Event) -> Event:
    """The event as it is read back; writing it loses nothing."""
    read = REGISTRY.read(event.TOPIC, event.SCHEMA_VERSION, encode(event))
    assert read == event
    assert isinstance(read, Event)
    return read


def queue_state(events: Iterable[Event]) -> State:
    """The state of a thread's queue, with what the thread's own events say of its life."""
    history = list(events)
    return thread_queue.fold(history)._replace(lifecycle=life_state(history).lifecycle)


def inbox_state(events: Iterable[Event]) -> inbox.State:
    """The state of a thread's inbox, with what the thread's own events say of its life."""
    history = list(events)
    return inbox.fold(history)._replace(lifecycle=life_state(history).lifecycle)


def life_state(events: Iterable[Event]) -> thread.State:
    """The state of a thread."""
    state = thread.State()
    for event in events:
        state = thread.evolve(state, event)
    return state


def decide(events: Sequence[Event], command: Command, context: Context) -> list[Event]:
    """What the aggregate that a command is for answers, after a history."""
    match command:
        case c.QueueCommand():
            state = queue_state(events)
            decision = thread_queue.decide(state, command, context)
            assert state == queue_state(events), "decide has changed the state"
            return list(decision)
        case InboxCommand():
            there = inbox_state(events)
            answer = inbox.decide(there, command, context)
            assert there == inbox_state(events), "decide has changed the state"
            return list(answer)
        case thread.Archive() | thread.Unarchive() | thread.Delete() | thread.Fork():
            return list(thread.decide(life_state(events), command, context))
        case evidence.Keep():
            kept = [event for event in events if isinstance(event, evidence.Evidence.Kept)]
            about = [one for one in kept if one.queued_turn_id == command.queued_turn_id]
            known = [(one.owner, one.epoch, one.kind) for one in about]
            return list(evidence.decide(known, command))
        case evidence.KeepOfMessage():
            pieces = [one for one in events if isinstance(one, evidence.Evidence.KeptOfMessage)]
            mine = [one for one in pieces if one.message_id == command.message_id]
            return list(
                evidence.decide([(one.owner, one.epoch, one.kind) for one in mine], command)
            )
        case _:
            raise AssertionError(command)


@dataclass(frozen=True)
class Outcome:
    """What a command led to."""

    events: list[Event] | None
    refusal: Refusal | None

    def then(self, *expected: Event) -> None:
        """It leads to these events, and to nothing else."""
        assert self.refusal is None
        assert self.events == list(expected)

    def then_nothing(self) -> None:
        """There is nothing to do."""
        self.then()

    def then_refused(self, kind: type[Refusal], **facts: object) -> None:
        """It is refused, and the refusal says why."""
        assert type(self.refusal) is kind, self.events
        said = vars(self.refusal)
        assert {name: said[name] for name in facts} == facts
        assert said["thread_id"] == THREAD


@dataclass(frozen=True)
class Given:
    """A history, and the circumstances of the next command."""

    events: tuple[Event, ...] = ()
    now: datetime = NOW
    behind: timedelta = timedelta(0)
    limits: Limits = field(default_factory=Limits)

    def __call__(self, *events: Event) -> Given:
        return replace(self, events=tuple(map(stored, events)))

    def at(self, seconds: float, *, clock_behind: float = 0) -> Given:
        """So long after NOW; the clock is so far behind the last event."""
        now = NOW + timedelta(seconds=seconds)
        return replace(self, now=now, behind=timedelta(seconds=clock_behind))

    def within(self, **limits: Any) -> Given:
        """With these settings."""
        return replace(self, limits=Limits(**limits))

    @property
    def context(self) -> Context:
        """By what the command is judged."""
        return Context(self.now, self.now + self.behind, self.limits)

    @property
    def state(self) -> State:
        """The state of the thread's queue."""
        return queue_state(self.events)

    @property
    def life(self) -> str:
        """Whether the thread is active, archived or deleted."""
        return life_state(self.events).lifecycle

    def when(self, command: Command) -> Outcome:
        """Decide the command, and once more: what comes out hangs on nothing else."""
        first, second = self._decided(command), self._decided(command)
        assert first.events == second.events
        assert str(first.refusal) == str(second.refusal)
        if first.events is not None:
            after = [*self.events, *map(stored, first.events)]
            queue_state(after)
            inbox_state(after)
        return first

    def _decided(self, command: Command) -> Outcome:
        try:
            return Outcome(decide(self.events, command, self.context), None)
        except Refusal as refusal:
            return Outcome(None, refusal)

    def visible(self) -> list[str]:
        """The ids of the visible queue, in order."""
        return [turn.queued_turn_id for turn in self.state.visible_turns()]

    def why_blocked(self) -> str | None:
        """Why the queue gives out no claim."""
        return thread_queue.why_blocked(self.state, self.context)


class Fact:
    """Events of a queue in few words: turn "a", owner "worker", epoch 1, until NOW + 60 s."""

    def appended(
        self, turn: str = "a", order: int = 0, *, not_before: float | None = None, at: float = 0
    ) -> ThreadQueue.Appended:
        return ThreadQueue.Appended(
            queued_turn_id=turn,
            queue_order=order,
            submission={"text": turn},
            created_at=NOW + timedelta(seconds=at),
            not_before=None if not_before is None else NOW + timedelta(seconds=not_before),
        )

    def queue(self, *turns: str) -> list[ThreadQueue.Appended]:
        """Turns that were appended one after the other."""
        return [self.appended(turn, order) for order, turn in enumerate(turns)]

    def claimed(
        self,
        turn: str = "a",
        *,
        owner: str = OWNER,
        epoch: int = 1,
        claims: int = 1,
        until: float = 60,
    ) -> ThreadQueue.Claimed:
        return ThreadQueue.Claimed(
            queued_turn_id=turn,
            owner=owner,
            epoch=epoch,
            claims=claims,
            expires_at=NOW + timedelta(seconds=until),
        )

    def started(
        self, turn: str = "a", dispatch: str = "d", *, owner: str = OWNER, epoch: int = 1
    ) -> ThreadQueue.DispatchStarted:
        return ThreadQueue.DispatchStarted(
            queued_turn_id=turn, dispatch_id=dispatch, owner=owner, epoch=epoch
        )

    def acked(self, turn: str = "a", dispatch: str = "d", epoch: int = 1) -> ThreadQueue.Acked:
        return ThreadQueue.Acked(queued_turn_id=turn, dispatch_id=dispatch, epoch=epoch)

    def failed(
        self,
        turn: str = "a",
        failure: object = "no",
        *,
        unknown: bool = False,
        epoch: int = 1,
        dispatch: str | None = None,
    ) -> ThreadQueue.Failed:
        return ThreadQueue.Failed(
            queued_turn_id=turn,
            epoch=epoch,
            failure=failure,
            outcome_unknown=unknown,
            dispatch_id=dispatch,
        )

    def released(self, turn: str = "a", epoch: int = 1) -> ThreadQueue.Released:
        return ThreadQueue.Released(queued_turn_id=turn, epoch=epoch)

    def recovered(self, turn: str = "a", epoch: int = 1) -> ThreadQueue.Recovered:
        return ThreadQueue.Recovered(queued_turn_id=turn, epoch=epoch)

    def deleted(self, turn: str = "a") -> ThreadQueue.Deleted:
        return ThreadQueue.Deleted(queued_turn_id=turn)

    def cleared(
        self, *turns: str, flying: str | None = None, dispatch: str | None = None
    ) -> ThreadQueue.Cleared:
        return ThreadQueue.Cleared(queued_turn_ids=turns, in_flight_id=flying, dispatch_id=dispatch)

    def paused(self, reason: str = "by hand") -> ThreadQueue.Paused:
        return ThreadQueue.Paused(reason=reason)

    def failing(self, turn: str = "a", *, unknown: bool = False) -> list[Event]:
        """The one turn of a queue that failed while it was dispatched."""
        begun = [self.appended(turn), self.claimed(turn), self.started(turn)]
        return [*begun, self.failed(turn, unknown=unknown, dispatch="d")]

    def dispatching(self, turn: str = "a", *behind: str) -> list[Event]:
        """A queue whose head is being dispatched."""
        return [*self.queue(turn, *behind), self.claimed(turn), self.started(turn)]


_USUAL: dict[str, object] = {
    "thread_id": THREAD,
    "queued_turn_id": "a",
    "owner": OWNER,
    "epoch": 1,
    "lease": LEASE,
    "dispatch_id": "d",
    "failure": "no",
    "reason": "by hand",
    "by": "me",
}


class Wish:
    """Commands in few words: what isn't said is as usual."""

    def __call__(self, kind: Callable[..., Wished], /, **said: object) -> Wished:
        """Make one."""
        needed = [one.name for one in fields(kind) if one.default is MISSING]  # type: ignore[arg-type]
        usual = {**_USUAL, "submission": {"text": said.get("queued_turn_id", "a")}}
        return kind(**{name: usual[name] for name in needed if name not in said}, **said)

    def append(self, turn: str = "a", **said: object) -> c.Append:
        return self(c.Append, queued_turn_id=turn, **said)

    def append_many(self, *turns: str) -> c.AppendMany:
        submissions = tuple({"text": turn} for turn in turns)
        return self(c.AppendMany, queued_turn_ids=turns, submissions=submissions)


@pytest.fixture(scope="session", name="given")
def _given() -> Given:
    return Given()


@pytest.fixture(scope="session", name="fact")
def _fact() -> Fact:
    return Fact()


@pytest.fixture(scope="session", name="wish")
def _wish() -> Wish:
    return Wish()
