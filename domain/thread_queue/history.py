"""What must hold, always: which event can follow which state, for those who check a history.

`decide` never breaks these rules; a history that somebody has tampered with may.
"""

from collections.abc import Callable
from typing import Any

from turnledger.domain.event import Event
from turnledger.domain.thread_queue.events import ThreadQueue
from turnledger.domain.thread_queue.state import State

Rule = tuple[bool, str]


def broken_rule(state: State, event: Event) -> str | None:
    """The rule that an event breaks, if it can't follow a state in which all turns are known."""
    rules = _RULES.get(type(event))
    if rules is not None:
        for holds, rule in rules(state, event):
            if not holds:
                return rule
    return None


def _appended(state: State, event: ThreadQueue.Appended) -> tuple[Rule, ...]:
    return (
        (event.queued_turn_id not in state.turns, "a queued turn is appended once"),
        (event.queue_order == state.next_order, "orders are given out one after the other"),
        (state.lifecycle == "active", f"a thread that is {state.lifecycle} takes no work"),
    )


def _visible(state: State, event: Any) -> tuple[Rule, ...]:
    turn = state.turns.get(event.queued_turn_id)
    return ((turn is not None and turn.is_visible, "only a visible turn can be changed"),)


def _failed(state: State, event: Any) -> tuple[Rule, ...]:
    turn = state.turns.get(event.queued_turn_id)
    unknown = isinstance(event, ThreadQueue.Resolved)
    return (
        (turn is not None and turn.state == "failed", "only a failed turn can wait again"),
        (turn is not None and turn.outcome_unknown == unknown, "an unknown outcome is resolved"),
    )


def _cleared(state: State, event: ThreadQueue.Cleared) -> tuple[Rule, ...]:
    flying = state.in_flight and state.in_flight.queued_turn_id
    return (
        (_is_queue(state, event.queued_turn_ids), "clearing ends every visible turn, once"),
        (event.in_flight_id == flying, "clearing ends what is in flight"),
        (event.dispatch_id == _dispatch(state), "what ends a flight names its dispatch"),
    )


def _reordered(state: State, event: ThreadQueue.Reordered) -> tuple[Rule, ...]:
    return (
        (_is_queue(state, event.queued_turn_ids), "an order holds every visible turn, once"),
        (event.first_order == state.next_order, "orders are given out one after the other"),
    )


def _claimed(state: State, event: ThreadQueue.Claimed) -> tuple[Rule, ...]:
    turn = state.next_turn()
    return (
        (state.in_flight is None, "at most one turn of a thread is in flight"),
        (event.epoch == state.epoch + 1, "epochs rise by one"),
        (
            turn is not None and turn.queued_turn_id == event.queued_turn_id,
            "only the pending head of a queue that isn't paused is claimed",
        ),
    )


def _held(state: State, event: Any) -> tuple[Rule, ...]:
    flying = state.in_flight
    held = flying is not None and (flying.queued_turn_id, flying.epoch) == (
        event.queued_turn_id,
        event.epoch,
    )
    return ((held, "only the turn that is in flight can be settled, under its epoch"),)


def _given_back(state: State, event: Any) -> tuple[Rule, ...]:
    flying = state.in_flight
    idle = flying is not None and flying.dispatch_id is None
    return (*_held(state, event), (idle, "a turn that was dispatched isn't given back"))


def _dispatch_started(state: State, event: ThreadQueue.DispatchStarted) -> tuple[Rule, ...]:
    flying = state.in_flight
    return (
        *_given_back(state, event),
        (flying is not None and flying.owner == event.owner, "an epoch has one owner"),
        (event.dispatch_id not in state.dispatch_ids, "a dispatch id is used once"),
    )


def _acked(state: State, event: ThreadQueue.Acked) -> tuple[Rule, ...]:
    flying = state.in_flight
    same = flying is not None and flying.dispatch_id == event.dispatch_id
    return (*_held(state, event), (same, "only the dispatch under way is acked"))


def _failed_in_flight(state: State, event: ThreadQueue.Failed) -> tuple[Rule, ...]:
    same = event.dispatch_id == _dispatch(state)
    return (*_held(state, event), (same, "what ends a flight names its dispatch"))


def _dispatch(state: State) -> str | None:
    return None if state.in_flight is None else state.in_flight.dispatch_id


def _is_queue(state: State, queued_turn_ids: tuple[str, ...]) -> bool:
    visible = sorted(turn.queued_turn_id for turn in state.visible_turns())
    return sorted(queued_turn_ids) == visible


_RULES: dict[type[Event], Callable[[State, Any], tuple[Rule, ...]]] = {
    ThreadQueue.Appended: _appended,
    ThreadQueue.Edited: _visible,
    ThreadQueue.Deleted: _visible,
    ThreadQueue.Cleared: _cleared,
    ThreadQueue.Reordered: _reordered,
    ThreadQueue.Claimed: _claimed,
    ThreadQueue.Renewed: _held,
    ThreadQueue.Released: _given_back,
    ThreadQueue.Recovered: _given_back,
    ThreadQueue.DispatchStarted: _dispatch_started,
    ThreadQueue.Acked: _acked,
    ThreadQueue.Failed: _failed_in_flight,
    ThreadQueue.Retried: _failed,
    ThreadQueue.Resolved: _failed,
}
