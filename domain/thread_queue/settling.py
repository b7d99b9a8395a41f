"""What a queue answers to what went wrong: failures, recoveries, decisions on them."""

from turnledger.domain.claim import current, is_stale
from turnledger.domain.limits import Context
from turnledger.domain.thread import must_exist, must_take_work
from turnledger.domain.thread_queue import commands as c
from turnledger.domain.thread_queue.claiming import given_back
from turnledger.domain.thread_queue.events import ThreadQueue
from turnledger.domain.thread_queue.guards import NOTHING, Decision, failed_turn, refuse
from turnledger.domain.thread_queue.state import State


def fail(state: State, command: c.Fail, _context: Context) -> Decision:
    """A current claim is enough."""
    flying = current(state.in_flight, command)
    return [
        ThreadQueue.Failed(
            queued_turn_id=flying.queued_turn_id,
            epoch=flying.epoch,
            failure=command.failure,
            outcome_unknown=command.outcome_unknown,
            altered=command.altered,
            dispatch_id=flying.dispatch_id,
        )
    ]


def retry(state: State, command: c.Retry, _context: Context) -> Decision:
    """A failed turn whose outcome is known."""
    must_take_work(state.lifecycle, command.thread_id)
    turn = failed_turn(state, command)
    if turn.outcome_unknown:
        refuse(command, f"the outcome of {turn.queued_turn_id} is unknown; resolve it")
    return [ThreadQueue.Retried(queued_turn_id=turn.queued_turn_id)]


def resolve(state: State, command: c.Resolve, _context: Context) -> Decision:
    """A failed turn whose outcome is unknown."""
    must_exist(state.lifecycle, command.thread_id)
    turn = failed_turn(state, command)
    if not turn.outcome_unknown:
        refuse(command, f"the outcome of {turn.queued_turn_id} is known; retry or delete it")
    return [
        ThreadQueue.Resolved(
            queued_turn_id=turn.queued_turn_id,
            decision=command.decision,
            by=command.by,
            evidence=command.evidence,
            altered=command.altered,
        )
    ]


def recover(state: State, command: c.Recover, context: Context) -> Decision:
    """Only a claim that is over, or a former owner's."""
    must_exist(state.lifecycle, command.thread_id)
    flying = state.in_flight
    if flying is None:
        return NOTHING
    if not is_stale(flying, context) and flying.owner != command.owner:
        return NOTHING
    turn_id, epoch = flying.queued_turn_id, flying.epoch
    if flying.dispatch_id is None:
        recovered = ThreadQueue.Recovered(queued_turn_id=turn_id, epoch=epoch)
        return given_back(flying, recovered, context)
    return [
        ThreadQueue.Failed(
            queued_turn_id=turn_id,
            epoch=epoch,
            failure=command.failure,
            outcome_unknown=True,
            altered=command.altered,
            dispatch_id=flying.dispatch_id,
        )
    ]


def fail_in_flight(state: State, command: c.FailInFlight, _context: Context) -> Decision:
    """Live or not."""
    must_exist(state.lifecycle, command.thread_id)
    flying = state.in_flight
    if flying is None:
        return NOTHING
    return [
        ThreadQueue.Failed(
            queued_turn_id=flying.queued_turn_id,
            epoch=flying.epoch,
            failure=command.failure,
            outcome_unknown=flying.dispatch_id is not None,
            altered=command.altered,
            dispatch_id=flying.dispatch_id,
        )
    ]
