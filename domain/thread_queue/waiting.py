"""What a queue answers to those who put work in, or hold it up."""

from collections import Counter

from turnledger.domain.errors import QueuedTurnNotFound, ReorderMismatch
from turnledger.domain.limits import Context
from turnledger.domain.thread import must_exist, must_take_work
from turnledger.domain.thread_queue import commands as c
from turnledger.domain.thread_queue.events import ThreadQueue
from turnledger.domain.thread_queue.guards import NOTHING, Decision, is_gone, must_have_room, refuse
from turnledger.domain.thread_queue.state import State


def append(state: State, command: c.Append, context: Context) -> Decision:
    """Behind everything that is there."""
    must_take_work(state.lifecycle, command.thread_id)
    must_have_room(state, command, 1, context)
    return [
        ThreadQueue.Appended(
            queued_turn_id=command.queued_turn_id,
            queue_order=state.next_order,
            submission=command.submission,
            created_at=context.recorded_at,
            not_before=command.not_before,
        )
    ]


def append_many(state: State, command: c.AppendMany, context: Context) -> Decision:
    """All of them, in order."""
    must_take_work(state.lifecycle, command.thread_id)
    must_have_room(state, command, len(command.submissions), context)
    new = zip(command.queued_turn_ids, command.submissions, strict=True)
    return [
        ThreadQueue.Appended(
            queued_turn_id=turn_id,
            queue_order=order,
            submission=submission,
            created_at=context.recorded_at,
        )
        for order, (turn_id, submission) in enumerate(new, state.next_order)
    ]


def edit(state: State, command: c.Edit, _context: Context) -> Decision:
    """Keeps id and place."""
    must_take_work(state.lifecycle, command.thread_id)
    turn = state.turns.get(command.queued_turn_id)
    if turn is not None and not turn.is_visible and not is_gone(turn):
        refuse(command, f"queued turn {turn.queued_turn_id} is in flight")
    if turn is None or is_gone(turn):
        raise QueuedTurnNotFound(command.thread_id, command.queued_turn_id)
    turn_id = turn.queued_turn_id
    return [ThreadQueue.Edited(queued_turn_id=turn_id, submission=command.submission)]


def delete(state: State, command: c.Delete, _context: Context) -> Decision:
    """Nothing, if it isn't visible."""
    must_exist(state.lifecycle, command.thread_id)
    turn = state.turns.get(command.queued_turn_id)
    if turn is None or not turn.is_visible:
        return NOTHING
    return [ThreadQueue.Deleted(queued_turn_id=turn.queued_turn_id)]


def clear_queue(state: State, command: c.Clear, _context: Context) -> Decision:
    """Everything visible, and what is in flight."""
    must_exist(state.lifecycle, command.thread_id)
    return clear(state)


def clear(state: State) -> Decision:
    """The event that empties a queue, if anything is in it; deleting a thread uses it too."""
    ids = tuple(turn.queued_turn_id for turn in state.visible_turns())
    flying = state.in_flight
    if flying is None:
        return [ThreadQueue.Cleared(queued_turn_ids=ids)] if ids else NOTHING
    held = {"in_flight_id": flying.queued_turn_id, "dispatch_id": flying.dispatch_id}
    return [ThreadQueue.Cleared(queued_turn_ids=ids, **held)]


def reorder(state: State, command: c.Reorder, _context: Context) -> Decision:
    """An exact permutation of what is visible."""
    must_take_work(state.lifecycle, command.thread_id)
    ids = command.queued_turn_ids
    visible = tuple(turn.queued_turn_id for turn in state.visible_turns())
    given, there = Counter(ids), set(visible)
    missing = tuple(turn_id for turn_id in visible if turn_id not in given)
    unknown = tuple(turn_id for turn_id in given if turn_id not in there)
    repeated = tuple(turn_id for turn_id, times in given.items() if times > 1)
    if missing or unknown or repeated:
        raise ReorderMismatch(command.thread_id, missing, unknown, repeated)
    if ids == visible:
        return NOTHING
    return [ThreadQueue.Reordered(queued_turn_ids=ids, first_order=state.next_order)]


def pause(state: State, command: c.Pause, _context: Context) -> Decision:
    """Nothing, if it is paused."""
    must_exist(state.lifecycle, command.thread_id)
    if state.paused is not None:
        return NOTHING
    return [ThreadQueue.Paused(reason=command.reason, altered=command.altered)]


def resume(state: State, command: c.Resume, _context: Context) -> Decision:
    """Nothing, if it isn't paused."""
    must_exist(state.lifecycle, command.thread_id)
    return NOTHING if state.paused is None else [ThreadQueue.Resumed()]
