"""What an inbox answers to each command."""

from collections.abc import Callable
from typing import Any

from turnledger.domain.claim import current, is_stale, live
from turnledger.domain.event import Event
from turnledger.domain.inbox import commands as c
from turnledger.domain.inbox.events import Inbox
from turnledger.domain.inbox.guards import NOTHING, Decision, not_ready, refuse
from turnledger.domain.inbox.state import InFlight, State
from turnledger.domain.inbox.values import DELIVERIES
from turnledger.domain.limits import Context
from turnledger.domain.thread import must_exist, must_take_work

UNCONFIRMED = "its claim expired unconfirmed; it may have been delivered"


def decide(state: State, command: c.InboxCommand, context: Context) -> Decision:
    """The events that a command leads to; none if there is nothing to do.

    Raises:
        Refusal: The state doesn't allow it.
    """
    return _DECISIONS[type(command)](state, command, context)


def _post(state: State, command: c.Post, context: Context) -> Decision:
    must_take_work(state.lifecycle, command.thread_id)
    return [
        Inbox.Posted(
            message_id=command.message_id,
            arrival=state.posted,
            content=command.content,
            source=command.source,
            delivery=command.delivery,
            instructions=command.instructions,
            metadata=command.metadata,
            created_at=context.recorded_at,
            queued_at=command.queued_at,
        )
    ]


def _delete(state: State, command: c.Delete, _context: Context) -> Decision:
    must_exist(state.lifecycle, command.thread_id)
    message = state.messages.get(command.message_id)
    if message is None or message.state not in ("pending", "expired"):
        return NOTHING
    undelivered = message.state == "expired"
    return [Inbox.Deleted(message_id=message.message_id, undelivered=undelivered)]


def _claim_next(state: State, command: c.ClaimNext, context: Context) -> Decision:
    oldest = state.oldest
    if oldest is None or state.lifecycle != "active" or not_ready(state, command, context):
        return NOTHING
    if oldest.delivery not in DELIVERIES:
        reason = f"this release doesn't know the delivery {oldest.delivery}"
        return [Inbox.Rejected(message_id=oldest.message_id, reason=reason)]
    return [
        Inbox.Claimed(
            message_id=oldest.message_id,
            owner=command.owner,
            epoch=state.epoch + 1,
            expires_at=context.now + command.lease,
            claims=oldest.claims + 1,
            deliveries=oldest.deliveries + 1,
        )
    ]


def _confirm(state: State, command: c.Confirm, _context: Context) -> Decision:
    """A current claim is enough."""
    flying = current(state.in_flight, command)
    return [Inbox.Confirmed(message_id=flying.message_id, epoch=flying.epoch)]


def _release(state: State, command: c.Release, context: Context) -> Decision:
    """A live claim only."""
    flying = live(state.in_flight, command, context)
    released = Inbox.Released(message_id=flying.message_id, epoch=flying.epoch)
    return _given_back(flying, released, context, flying.deliveries - 1)


def _recover(state: State, command: c.Recover, context: Context) -> Decision:
    """Only a claim that is over."""
    must_exist(state.lifecycle, command.thread_id)
    flying = state.in_flight
    if flying is None or not is_stale(flying, context):
        return NOTHING
    if command.mode == "at_most_once":
        return [_expired(flying, UNCONFIRMED, flying.deliveries)]
    recovered = Inbox.Recovered(message_id=flying.message_id, epoch=flying.epoch)
    return _given_back(flying, recovered, context, flying.deliveries)


def _requeue(state: State, command: c.Requeue, _context: Context) -> Decision:
    must_take_work(state.lifecycle, command.thread_id)
    message = state.messages.get(command.message_id)
    if message is None:
        refuse(command, f"there is no message {command.message_id} in it")
    if message.state != "expired":
        refuse(command, f"message {message.message_id} is {message.state}, not undelivered")
    return [Inbox.Requeued(message_id=message.message_id)]


def _clear(state: State, _command: c.Clear, _context: Context) -> Decision:
    flying = state.in_flight
    if not (state.waiting or state.undelivered or flying):
        return NOTHING
    return [
        Inbox.Cleared(
            waiting=state.waiting,
            undelivered=state.undelivered,
            in_flight_id=None if flying is None else flying.message_id,
        )
    ]


def _given_back(flying: InFlight, event: Event, context: Context, deliveries: int) -> Decision:
    """The event, unless the message was given back too often: then it is set aside as poison."""
    if flying.claims <= context.limits.max_claims:
        return [event]
    return [_expired(flying, f"claimed {flying.claims} times and never confirmed", deliveries)]


def _expired(flying: InFlight, reason: str, deliveries: int) -> Event:
    return Inbox.Expired(
        message_id=flying.message_id,
        epoch=flying.epoch,
        deliveries=deliveries,
        reason=reason,
    )


_DECISIONS: dict[type[c.InboxCommand], Callable[[State, Any, Context], Decision]] = {
    c.Post: _post,
    c.Delete: _delete,
    c.ClaimNext: _claim_next,
    c.Confirm: _confirm,
    c.Release: _release,
    c.Recover: _recover,
    c.Requeue: _requeue,
    c.Clear: _clear,
}
