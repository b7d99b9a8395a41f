"""Replaying queues: each event on the scalars so far, and on the turns that it is about.

A queue may be long, so its turns stand beside the state, and an event sees those that a command
would have read: the one that it names, and the head; all of them only where it is about all.
"""

from heapq import heappop, heappush
from typing import Any

from turnledger.domain import thread_queue
from turnledger.domain.payload import encode
from turnledger.domain.thread import Lifecycle
from turnledger.domain.thread_queue import STATE_FORM, State, ThreadQueue, Turn
from turnledger.domain.thread_queue.state import GONE, VISIBLE
from turnledger.infrastructure.rows import StoredState

_ABOUT_ALL = (ThreadQueue.Cleared, ThreadQueue.Reordered)
_EMPTY = State()
_NO_TURNS: dict[str, Turn] = {}


class QueueReplay:
    """Folds the events of queues.

    Attributes:
        states: The state of each stream, without its turns.
        in_flight_at: When the last event of each stream's flight was recorded.
    """

    def __init__(self) -> None:
        """Start with nothing."""
        self.states: dict[str, State] = {}
        self.in_flight_at: dict[str, int] = {}
        self._turns: dict[str, dict[str, Turn]] = {}
        self._places: dict[str, list[tuple[int, str]]] = {}
        self._appended: dict[str, int] = {}

    def folded(self, stream_id: str, event: Any, recorded_at: int, life: Lifecycle) -> None:
        """Take the next event.

        Raises:
            ValueError: It breaks a rule.
        """
        turns = self._turns.setdefault(stream_id, {})
        before = self.states.get(stream_id, _EMPTY)
        seen = before.among(life, self._seen(stream_id, turns, event))
        broken = thread_queue.broken_rule(seen, event)
        if broken is not None:
            raise ValueError(broken)
        state = thread_queue.evolve(seen, event)
        _keep(turns, self._places.setdefault(stream_id, []), seen, state)
        if state.in_flight is not before.in_flight:
            self.in_flight_at[stream_id] = recorded_at
        self.states[stream_id] = state = state.among(life, _NO_TURNS)
        if isinstance(event, ThreadQueue.Appended):
            self._appended[stream_id] = self._appended.get(stream_id, 0) + 1
        self._must_account_for_all(stream_id, state)

    def whole(self, stream_id: str, life: Lifecycle) -> State:
        """The state with its head, as far as there is one."""
        turns = self._turns.get(stream_id, {})
        head = self._head(stream_id, turns)
        known = {} if head is None else {head.queued_turn_id: head}
        return self.states.get(stream_id, _EMPTY).among(life, known)

    def stored(self, stream_id: str) -> StoredState:
        """What the head row ought to hold."""
        state = self.states.get(stream_id, _EMPTY)
        return StoredState(state.epoch, STATE_FORM, encode(state.scalars()))

    def _seen(self, stream_id: str, turns: dict[str, Turn], event: Any) -> dict[str, Turn]:
        """The turns that an event is judged by."""
        if isinstance(event, _ABOUT_ALL):
            return turns
        named = turns.get(getattr(event, "queued_turn_id", ""))
        known = {} if named is None else {named.queued_turn_id: named}
        if isinstance(event, ThreadQueue.Claimed):
            head = self._head(stream_id, turns)
            if head is not None:
                known[head.queued_turn_id] = head
        return known

    def _head(self, stream_id: str, turns: dict[str, Turn]) -> Turn | None:
        """The first visible turn; places that nobody has any more are left behind."""
        places = self._places.get(stream_id, [])
        while places:
            order, turn_id = places[0]
            turn = turns.get(turn_id)
            if turn is not None and turn.queue_order == order and turn.state in VISIBLE:
                return turn
            heappop(places)
        return None

    def _must_account_for_all(self, stream_id: str, state: State) -> None:
        flying = int(state.in_flight is not None)
        known = state.visible + flying + state.acked + state.deleted
        appended = self._appended.get(stream_id, 0)
        if appended != known or state.visible < 0:
            msg = f"{appended} turns were appended, {known} are accounted for"
            raise ValueError(msg)


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
