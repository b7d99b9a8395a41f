"""Replaying queues: each event on the scalars so far, and on the turns that it is about.

A queue may be long, so its turns stand beside the state, and an event sees those that a command
would have read: the one that it names, and the head; all of them only where it is about all.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from turnledger.domain import thread_queue
from turnledger.domain.payload import encode
from turnledger.domain.thread import Lifecycle
from turnledger.domain.thread_queue import STATE_FORM, State, ThreadQueue, Turn
from turnledger.domain.thread_queue.state import GONE, VISIBLE
from turnledger.infrastructure.queue_repository import queue_columns
from turnledger.infrastructure.rows import QueueColumns, StoredState
from turnledger.projections.plan import target

_ABOUT_ALL = frozenset((ThreadQueue.Cleared, ThreadQueue.Reordered))
_EMPTY = State()
_NO_TURNS: dict[str, Turn] = {}


class _Queue:
    """What is known of one queue so far.

    Attributes:
        state: The state, with those turns that the last event was judged by.
        turns: All that aren't gone.
        places: Where the visible ones stood, as a heap; some have moved on.
        appended: How many were ever appended.
        in_flight_at: When the last event of its flight was recorded.
    """

    __slots__ = ("appended", "in_flight_at", "places", "state", "thread_id", "turns")

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self.state = _EMPTY
        self.turns: dict[str, Turn] = {}
        self.places: list[tuple[int, str]] = []
        self.appended = self.in_flight_at = 0

    def head(self) -> Turn | None:
        """The first visible turn; places that nobody has any more are left behind."""
        places, turns = self.places, self.turns
        while places:
            order, turn_id = places[0]
            turn = turns.get(turn_id)
            if turn is not None and turn.queue_order == order and turn.state in VISIBLE:
                return turn
            heappop(places)
        return None

    def seen(self, event: Any) -> dict[str, Turn]:
        """The turns that an event is judged by."""
        kind = type(event)
        if kind in _ABOUT_ALL:
            return self.turns
        named = self.turns.get(getattr(event, "queued_turn_id", ""))
        known = {} if named is None else {named.queued_turn_id: named}
        if kind is ThreadQueue.Claimed:
            head = self.head()
            if head is not None:
                known[head.queued_turn_id] = head
        return known

    def must_account_for_all(self) -> None:
        """Every turn that was appended is somewhere.

        Raises:
            ValueError: Not so.
        """
        state = self.state
        known = state.visible + (state.in_flight is not None) + state.acked + state.deleted
        if self.appended != known or state.visible < 0:
            msg = f"{self.appended} turns were appended, {known} are accounted for"
            raise ValueError(msg)


class QueueReplay:
    """Folds the events of queues."""

    def __init__(self, life: Callable[[str], Lifecycle]) -> None:
        """Take what says how a thread lives."""
        self._queues: dict[str, _Queue] = {}
        self._life = life

    def folded(self, stream_id: str, event: Any, recorded_at: int) -> None:
        """Take the next event.

        Raises:
            ValueError: It breaks a rule.
        """
        queue = self._queues.get(stream_id)
        if queue is None:
            queue = self._queues[stream_id] = _Queue(target(stream_id))
        before, kind = queue.state, type(event)
        seen = before.among(self._life(queue.thread_id), queue.seen(event))
        broken = thread_queue.broken_rule(seen, event)
        if broken is not None:
            raise ValueError(broken)
        state = thread_queue.evolve(seen, event)
        _keep(queue.turns, queue.places, seen, state)
        if state.in_flight is not before.in_flight:
            queue.in_flight_at = recorded_at
        if kind is ThreadQueue.Appended:
            queue.appended += 1
        elif kind in _ABOUT_ALL:
            state = state.among(state.lifecycle, _NO_TURNS)
        queue.state = state
        queue.must_account_for_all()

    def state(self, stream_id: str) -> State | None:
        """The state of a stream, without its turns; None if it has no event."""
        queue = self._queues.get(stream_id)
        return None if queue is None else queue.state.among(queue.state.lifecycle, _NO_TURNS)

    def columns(self, stream_id: str, life: Lifecycle) -> QueueColumns:
        """What the head row ought to say to readers."""
        queue = self._queues.get(stream_id) or _Queue("")
        head = queue.head()
        known = {} if head is None else {head.queued_turn_id: head}
        whole = queue.state.among(life, known)
        return queue_columns(whole, whole, queue.in_flight_at, 0)

    def stored(self, stream_id: str) -> StoredState:
        """What the head row ought to hold."""
        state = self.state(stream_id) or _EMPTY
        return StoredState(state.epoch, STATE_FORM, encode(state.scalars()))


def _keep(
    turns: dict[str, Turn], places: list[tuple[int, str]], before: State, after: State
) -> None:
    """Keep the turns that changed, but for those that are gone."""
    for turn_id, turn in after.turns.items():
        if turn is before.turns.get(turn_id):
            continue
        if turn.state in GONE:
            turns.pop(turn_id, None)
            continue
        turns[turn_id] = turn
        if turn.state in VISIBLE:
            heappush(places, (turn.queue_order, turn_id))
