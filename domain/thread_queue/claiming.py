"""What a queue answers to workers: claims, their leases, their dispatches."""

from turnledger.domain.claim import current, live
from turnledger.domain.event import Event
from turnledger.domain.limits import Context
from turnledger.domain.thread import must_exist, must_take_work
from turnledger.domain.thread_queue import commands as c
from turnledger.domain.thread_queue.events import ThreadQueue
from turnledger.domain.thread_queue.guards import NOTHING, Decision, refuse, why_blocked
from turnledger.domain.thread_queue.state import InFlight, State


def claim_head(state: State, command: c.ClaimHead, context: Context) -> Decision:
    """Nothing, if something stands against it."""
    head = state.head
    if head is None or why_blocked(state, context):
        return NOTHING
    return [
        ThreadQueue.Claimed(
            queued_turn_id=head.queued_turn_id,
            owner=command.owner,
            epoch=state.epoch + 1,
            expires_at=context.now + command.lease,
            claims=head.claims + 1,
        )
    ]


def renew(state: State, command: c.Renew, context: Context) -> Decision:
    """A live claim only."""
    flying = live(state.in_flight, command, context)
    turn_id, expires_at = flying.queued_turn_id, context.now + command.lease
    renewed = ThreadQueue.Renewed(queued_turn_id=turn_id, epoch=flying.epoch, expires_at=expires_at)
    return [renewed]


def release(state: State, command: c.Release, context: Context) -> Decision:
    """A live claim only, before its dispatch."""
    flying = live(state.in_flight, command, context)
    if flying.dispatch_id is not None:
        refuse(command, f"dispatch {flying.dispatch_id} has started; ack or fail it")
    turn_id = flying.queued_turn_id
    released = ThreadQueue.Released(queued_turn_id=turn_id, epoch=flying.epoch)
    return given_back(flying, released, context)


def start_dispatch(state: State, command: c.StartDispatch, context: Context) -> Decision:
    """A live claim only; the same again is nothing."""
    flying = live(state.in_flight, command, context)
    if flying.dispatch_id == command.dispatch_id:
        return NOTHING
    must_take_work(state.lifecycle, command.thread_id)
    if flying.dispatch_id is not None:
        refuse(command, f"dispatch {flying.dispatch_id} has started already")
    if command.dispatch_id in state.dispatch_ids:
        refuse(command, f"dispatch id {command.dispatch_id} was used before; use a new one")
    return [
        ThreadQueue.DispatchStarted(
            queued_turn_id=flying.queued_turn_id,
            dispatch_id=command.dispatch_id,
            owner=flying.owner,
            epoch=flying.epoch,
        )
    ]


def ack(state: State, command: c.Ack, _context: Context) -> Decision:
    """A current claim is enough."""
    flying = current(state.in_flight, command)
    if flying.dispatch_id is None:
        refuse(command, "no dispatch has started; start_dispatch comes first")
    return [acked(flying, flying.dispatch_id)]


def ack_dispatch(state: State, command: c.AckDispatch, _context: Context) -> Decision:
    """Nothing, unless that very dispatch is in flight."""
    must_exist(state.lifecycle, command.thread_id)
    flying = state.in_flight
    if flying is None or flying.dispatch_id != command.dispatch_id:
        return NOTHING
    return [acked(flying, command.dispatch_id)]


def acked(flying: InFlight, dispatch_id: str) -> ThreadQueue.Acked:
    """The event that ends a dispatch well."""
    turn_id = flying.queued_turn_id
    return ThreadQueue.Acked(queued_turn_id=turn_id, epoch=flying.epoch, dispatch_id=dispatch_id)


def given_back(flying: InFlight, event: Event, context: Context) -> Decision:
    """The event, unless the turn was given back too often: then it is set aside as poison."""
    if flying.claims <= context.limits.max_claims:
        return [event]
    failure = f"claimed {flying.claims} times and never dispatched"
    turn_id = flying.queued_turn_id
    return [ThreadQueue.Failed(queued_turn_id=turn_id, epoch=flying.epoch, failure=failure)]
