"""The state of a thread's queue, and how each event changes it."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import reduce
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

from turnledger.domain.duration import from_microseconds, to_microseconds
from turnledger.domain.event import Event
from turnledger.domain.record import changed, made
from turnledger.domain.thread import Lifecycle
from turnledger.domain.thread_queue.events import ThreadQueue

STATE_FORM = 1  # the version of the form in which the head row holds it; a change counts it up

TurnState = Literal["pending", "claimed", "dispatching", "failed", "acked", "deleted"]
VISIBLE = frozenset(("pending", "failed"))
GONE = frozenset(("acked", "deleted"))

_NO_TURNS: Mapping[str, "Turn"] = MappingProxyType({})
_NO_IDS: frozenset[str] = frozenset()


class Turn(NamedTuple):
    """What a decision needs to know of one queued turn."""

    queued_turn_id: str
    queue_order: int
    created_at: datetime
    state: TurnState = "pending"
    outcome_unknown: bool = False
    not_before: datetime | None = None
    claims: int = 0

    @property
    def is_visible(self) -> bool:
        """Whether it stands in the visible queue."""
        return self.state in VISIBLE


class InFlight(NamedTuple):
    """The one claim that a queue may have given out, and what its turn needs to come back."""

    queued_turn_id: str
    queue_order: int
    created_at: datetime
    not_before: datetime | None
    owner: str
    epoch: int
    expires_at: datetime
    claims: int
    dispatch_id: str | None = None

    @classmethod
    def from_stored(cls, *stored: Any) -> Self:
        """What `stored` gave, with its times."""
        turn_id, order, created_at, not_before, owner, epoch, expires_at, *rest = stored
        early = None if not_before is None else from_microseconds(not_before)
        times = (from_microseconds(created_at), early)
        return cls(turn_id, order, *times, owner, epoch, from_microseconds(expires_at), *rest)

    def stored(self) -> tuple[Any, ...]:
        """As JSON: times are in microseconds."""
        early = None if self.not_before is None else to_microseconds(self.not_before)
        turn = (self[0], self[1], to_microseconds(self.created_at), early)
        return (*turn, self[4], self[5], to_microseconds(self.expires_at), self[7], self[8])


class State(NamedTuple):
    """A thread's queue.

    The fields above the epoch are all that the head row holds beside it. `turns` and
    `dispatch_ids` are what the command at hand needs of single turns: read from the read model,
    or all of them in a replay.
    """

    next_order: int = 0
    visible: int = 0
    acked: int = 0
    deleted: int = 0
    paused: str | None = None
    in_flight: InFlight | None = None
    epoch: int = 0
    lifecycle: Lifecycle = "active"
    turns: Mapping[str, Turn] = _NO_TURNS
    dispatch_ids: frozenset[str] = frozenset()

    @classmethod
    def from_scalars(
        cls,
        scalars: list[Any],
        epoch: int,
        turns: Mapping[str, Turn] = _NO_TURNS,
        dispatch_ids: frozenset[str] = frozenset(),
    ) -> Self:
        """The state of a head row, and of those turns that a command needs.

        Args:
            scalars: What `scalars` gives.
            epoch: The epoch, which the head row holds beside them.
            turns: What was read of single turns; likewise dispatch_ids.
            dispatch_ids: Those that were used.
        """
        order, visible, acked, deleted, paused, stored = scalars
        flying = None if stored is None else InFlight.from_stored(*stored)
        counts = (order, visible, acked, deleted)
        return cls(*counts, paused, flying, epoch, "active", turns, dispatch_ids)

    def scalars(self) -> tuple[Any, ...]:
        """What the head row holds beside the epoch, as JSON in the form `STATE_FORM`."""
        flying = self.in_flight
        stored = None if flying is None else flying.stored()
        return self.next_order, self.visible, self.acked, self.deleted, self.paused, stored

    def among(self, lifecycle: Lifecycle, turns: Mapping[str, Turn]) -> Self:
        """The state as one sees it that has read the thread's life, and these turns."""
        return made(type(self), (*self[:_LIFECYCLE], lifecycle, turns, _NO_IDS))

    def but(self, **changes: Any) -> Self:
        """The state with some fields changed."""
        return changed(self, changes)

    def next_turn(self) -> Turn | None:
        """The turn that a claim would give out, but for its not_before; None if none would."""
        if self.in_flight is not None or self.paused is not None or self.lifecycle != "active":
            return None
        head = self.head
        return head if head is not None and head.state == "pending" else None

    def visible_turns(self) -> list[Turn]:
        """The visible turns that are known here, in order."""
        visible = (turn for turn in self.turns.values() if turn.is_visible)
        return sorted(visible, key=lambda turn: turn.queue_order)

    @property
    def head(self) -> Turn | None:
        """The first visible turn."""
        head: Turn | None = None
        for turn in self.turns.values():
            if turn.state in VISIBLE and (head is None or turn.queue_order < head.queue_order):
                head = turn
        return head

    def with_turn(self, turn: Turn, **changes: Any) -> Self:
        """The state with a turn as it is now, and other fields changed."""
        return self.but(turns={**self.turns, turn.queued_turn_id: turn}, **changes)

    def known(self, queued_turn_id: str, **changes: Any) -> Mapping[str, Turn]:
        """The turns, with one of them changed, if it is among them."""
        turn = self.turns.get(queued_turn_id)
        if turn is None:
            return self.turns
        return {**self.turns, queued_turn_id: changed(turn, changes)}


_LIFECYCLE = State._fields.index("lifecycle")


def evolve(state: State, event: Event) -> State:
    """The state after an event. Events that say nothing about the state leave it as it is."""
    step = _STEPS.get(type(event))
    return state if step is None else step(state, event)


def fold(events: Iterable[Event], state: State = State()) -> State:  # noqa: B008 - immutable
    """The state after all of the events."""
    return reduce(evolve, events, state)


def pruned(state: State) -> State:
    """The state without the turns that are gone and the dispatch ids that were used.

    A long replay would carry them along; no later event depends on them.
    """
    gone = [turn_id for turn_id, turn in state.turns.items() if turn.state in GONE]
    if not gone and not state.dispatch_ids:
        return state
    turns = {turn_id: turn for turn_id, turn in state.turns.items() if turn.state not in GONE}
    return state.but(turns=turns, dispatch_ids=frozenset())


def _appended(state: State, event: ThreadQueue.Appended) -> State:
    place = (event.queued_turn_id, event.queue_order, event.created_at)
    turn = Turn(*place, not_before=event.not_before)
    return state.with_turn(turn, next_order=event.queue_order + 1, visible=state.visible + 1)


def _deleted(state: State, event: ThreadQueue.Deleted) -> State:
    turns = state.known(event.queued_turn_id, state="deleted")
    return state.but(turns=turns, visible=state.visible - 1, deleted=state.deleted + 1)


def _cleared(state: State, event: ThreadQueue.Cleared) -> State:
    gone = set(event.queued_turn_ids)
    if event.in_flight_id is not None:
        gone.add(event.in_flight_id)
    turns = {
        turn_id: turn._replace(state="deleted") if turn_id in gone else turn
        for turn_id, turn in state.turns.items()
    }
    deleted = state.deleted + len(gone)
    return state.but(turns=turns, visible=0, deleted=deleted, in_flight=None)


def _reordered(state: State, event: ThreadQueue.Reordered) -> State:
    turns = dict(state.turns)
    for queue_order, turn_id in enumerate(event.queued_turn_ids, event.first_order):
        if turn_id in turns:
            turns[turn_id] = turns[turn_id]._replace(queue_order=queue_order)
    next_order = event.first_order + len(event.queued_turn_ids)
    return state.but(turns=turns, next_order=next_order)


def _claimed(state: State, event: ThreadQueue.Claimed) -> State:
    turn = state.turns[event.queued_turn_id]
    place = (turn.queued_turn_id, turn.queue_order, turn.created_at, turn.not_before)
    flying = InFlight(*place, event.owner, event.epoch, event.expires_at, event.claims)
    claimed = changed(turn, {"state": "claimed", "claims": event.claims})
    changes = {"in_flight": flying, "epoch": event.epoch, "visible": state.visible - 1}
    return state.with_turn(claimed, **changes)


def _renewed(state: State, event: ThreadQueue.Renewed) -> State:
    return state.but(in_flight=changed(_flying(state), {"expires_at": event.expires_at}))


def _given_back(state: State, _event: Event) -> State:
    return _back(state, "pending", outcome_unknown=False)


def _dispatch_started(state: State, event: ThreadQueue.DispatchStarted) -> State:
    flying = changed(_flying(state), {"dispatch_id": event.dispatch_id, "claims": 0})
    turns = state.known(event.queued_turn_id, state="dispatching", claims=0)
    dispatch_ids = state.dispatch_ids | {event.dispatch_id}
    return state.but(in_flight=flying, turns=turns, dispatch_ids=dispatch_ids)


def _acked(state: State, event: ThreadQueue.Acked) -> State:
    turns = state.known(event.queued_turn_id, state="acked")
    return state.but(turns=turns, in_flight=None, acked=state.acked + 1)


def _failed(state: State, event: ThreadQueue.Failed) -> State:
    return _back(state, "failed", outcome_unknown=event.outcome_unknown)


def _retried(state: State, event: ThreadQueue.Retried | ThreadQueue.Resolved) -> State:
    changes = {"state": "pending", "outcome_unknown": False, "claims": 0}
    return state.but(turns=state.known(event.queued_turn_id, **changes))


def _resolved(state: State, event: ThreadQueue.Resolved) -> State:
    if event.decision == "retry":
        return _retried(state, event)
    turns = state.known(event.queued_turn_id, state="acked")
    return state.but(turns=turns, visible=state.visible - 1, acked=state.acked + 1)


def _paused(state: State, event: ThreadQueue.Paused) -> State:
    return state.but(paused=event.reason)


def _resumed(state: State, _event: ThreadQueue.Resumed) -> State:
    return state.but(paused=None)


def _flying(state: State) -> InFlight:
    if state.in_flight is None:  # such a history was never written
        msg = "nothing is in flight"
        raise ValueError(msg)
    return state.in_flight


def _back(state: State, word: TurnState, *, outcome_unknown: bool) -> State:
    flying = _flying(state)
    place = (flying.queued_turn_id, flying.queue_order, flying.created_at)
    turn = Turn(*place, word, outcome_unknown, flying.not_before, flying.claims)
    return state.with_turn(turn, in_flight=None, visible=state.visible + 1)


_STEPS: dict[type[Event], Callable[[State, Any], State]] = {
    ThreadQueue.Appended: _appended,
    ThreadQueue.Deleted: _deleted,
    ThreadQueue.Cleared: _cleared,
    ThreadQueue.Reordered: _reordered,
    ThreadQueue.Claimed: _claimed,
    ThreadQueue.Renewed: _renewed,
    ThreadQueue.Released: _given_back,
    ThreadQueue.Recovered: _given_back,
    ThreadQueue.DispatchStarted: _dispatch_started,
    ThreadQueue.Acked: _acked,
    ThreadQueue.Failed: _failed,
    ThreadQueue.Retried: _retried,
    ThreadQueue.Resolved: _resolved,
    ThreadQueue.Paused: _paused,
    ThreadQueue.Resumed: _resumed,
}
