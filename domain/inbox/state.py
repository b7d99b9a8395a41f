"""The state of a thread's inbox, and how each event changes it."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self

from turnledger.domain.duration import from_microseconds, to_microseconds
from turnledger.domain.event import Event
from turnledger.domain.inbox.events import Inbox
from turnledger.domain.thread import Lifecycle

STATE_FORM = 1  # the version of the form in which the head row holds it; a change counts it up

MessageState = Literal["pending", "claimed", "confirmed", "expired", "rejected", "deleted"]

_NO_MESSAGES: Mapping[str, "Message"] = MappingProxyType({})


class Message(NamedTuple):
    """What a decision needs to know of one message.

    Attributes:
        claims: How often it was claimed since it was posted or requeued.
        deliveries: How often it was handed out, and not given back.
    """

    message_id: str
    arrival: int
    queued_at: datetime
    delivery: str
    state: MessageState = "pending"
    claims: int = 0
    deliveries: int = 0


class InFlight(NamedTuple):
    """The one claim that an inbox may have given out; its claims and deliveries are counted in."""

    message_id: str
    owner: str
    epoch: int
    expires_at: datetime
    claims: int
    deliveries: int

    @classmethod
    def from_stored(cls, *stored: Any) -> Self:
        """What `stored` gave, with its time."""
        message_id, owner, epoch, expires_at, claims, deliveries = stored
        return cls(message_id, owner, epoch, from_microseconds(expires_at), claims, deliveries)

    def stored(self) -> tuple[Any, ...]:
        """As JSON: the time is in microseconds."""
        return (*self[:3], to_microseconds(self.expires_at), *self[4:])


class State(NamedTuple):
    """A thread's inbox.

    The fields above the epoch are all that the head row holds beside it, and no event needs more
    than them to be folded. `messages` are those that the command at hand needs: read from the read
    model, or all of them in a replay.

    Attributes:
        posted: How many messages ever came.
        undelivered: How many are expired.
        settled: How many were confirmed, rejected or deleted.
    """

    posted: int = 0
    waiting: int = 0
    undelivered: int = 0
    settled: int = 0
    in_flight: InFlight | None = None
    epoch: int = 0
    lifecycle: Lifecycle = "active"
    messages: Mapping[str, Message] = _NO_MESSAGES

    @classmethod
    def from_scalars(
        cls, scalars: list[Any], epoch: int, messages: Mapping[str, Message] = _NO_MESSAGES
    ) -> Self:
        """The state of a head row, and of those messages that a command needs.

        Args:
            scalars: What `scalars` gives.
            epoch: The epoch, which the head row holds beside them.
            messages: What was read of single messages.
        """
        *counts, stored = scalars
        flying = None if stored is None else InFlight.from_stored(*stored)
        posted, waiting, undelivered, settled = counts
        return cls(posted, waiting, undelivered, settled, flying, epoch, "active", messages)

    def scalars(self) -> tuple[Any, ...]:
        """What the head row holds beside the epoch, as JSON in the form `STATE_FORM`."""
        flying = self.in_flight
        return (*self[:4], None if flying is None else flying.stored())

    @property
    def oldest(self) -> Message | None:
        """The oldest of the waiting messages that are known here."""
        waiting = (one for one in self.messages.values() if one.state == "pending")
        return min(waiting, key=lambda one: (one.queued_at, one.arrival), default=None)

    def known(self, message_id: str, **changes: Any) -> Mapping[str, Message]:
        """The messages, with one of them changed, if it is among them."""
        message = self.messages.get(message_id)
        if message is None:
            return self.messages
        return {**self.messages, message_id: message._replace(**changes)}


def evolve(state: State, event: Event) -> State:
    """The state after an event. Events that say nothing about the state leave it as it is."""
    step = _STEPS.get(type(event))
    return state if step is None else step(state, event)


def fold(events: Iterable[Event], state: State = State()) -> State:  # noqa: B008 - immutable
    """The state after all of the events."""
    for event in events:
        state = evolve(state, event)
    return state


def _posted(state: State, event: Inbox.Posted) -> State:
    queued_at = event.queued_at or event.created_at
    message = Message(event.message_id, event.arrival, queued_at, event.delivery)
    messages = {**state.messages, event.message_id: message}
    return state._replace(posted=event.arrival + 1, waiting=state.waiting + 1, messages=messages)


def _claimed(state: State, event: Inbox.Claimed) -> State:
    counts = {"claims": event.claims, "deliveries": event.deliveries}
    flying = InFlight(event.message_id, event.owner, event.epoch, event.expires_at, **counts)
    messages = state.known(event.message_id, state="claimed", **counts)
    waiting = state.waiting - 1
    return state._replace(waiting=waiting, in_flight=flying, epoch=event.epoch, messages=messages)


def _confirmed(state: State, event: Inbox.Confirmed) -> State:
    messages = state.known(event.message_id, state="confirmed")
    return state._replace(in_flight=None, settled=state.settled + 1, messages=messages)


def _released(state: State, _event: Inbox.Released) -> State:
    return _back(state, deliveries=_flying(state).deliveries - 1)


def _recovered(state: State, _event: Inbox.Recovered) -> State:
    return _back(state, deliveries=_flying(state).deliveries)


def _back(state: State, deliveries: int) -> State:
    flying = _flying(state)
    changes = {"state": "pending", "claims": flying.claims, "deliveries": deliveries}
    messages = state.known(flying.message_id, **changes)
    return state._replace(in_flight=None, waiting=state.waiting + 1, messages=messages)


def _expired(state: State, event: Inbox.Expired) -> State:
    changes = {"state": "expired", "deliveries": event.deliveries}
    messages = state.known(_flying(state).message_id, **changes)
    return state._replace(in_flight=None, undelivered=state.undelivered + 1, messages=messages)


def _requeued(state: State, event: Inbox.Requeued) -> State:
    messages = state.known(event.message_id, state="pending", claims=0)
    waiting, undelivered = state.waiting + 1, state.undelivered - 1
    return state._replace(waiting=waiting, undelivered=undelivered, messages=messages)


def _deleted(state: State, event: Inbox.Deleted) -> State:
    messages = state.known(event.message_id, state="deleted")
    ended = state._replace(settled=state.settled + 1, messages=messages)
    if event.undelivered:
        return ended._replace(undelivered=state.undelivered - 1)
    return ended._replace(waiting=state.waiting - 1)


def _rejected(state: State, event: Inbox.Rejected) -> State:
    messages = state.known(event.message_id, state="rejected")
    settled = state.settled + 1
    return state._replace(waiting=state.waiting - 1, settled=settled, messages=messages)


def _cleared(state: State, event: Inbox.Cleared) -> State:
    ended = event.waiting + event.undelivered + (event.in_flight_id is not None)
    messages = {
        message_id: message._replace(state="deleted")
        if message.state in ("pending", "claimed", "expired")
        else message
        for message_id, message in state.messages.items()
    }
    settled = state.settled + ended
    return state._replace(
        waiting=0, undelivered=0, settled=settled, in_flight=None, messages=messages
    )


def _flying(state: State) -> InFlight:
    if state.in_flight is None:  # such a history was never written
        msg = "nothing is in flight"
        raise ValueError(msg)
    return state.in_flight


_STEPS: dict[type[Event], Callable[[State, Any], State]] = {
    Inbox.Posted: _posted,
    Inbox.Claimed: _claimed,
    Inbox.Confirmed: _confirmed,
    Inbox.Released: _released,
    Inbox.Recovered: _recovered,
    Inbox.Expired: _expired,
    Inbox.Requeued: _requeued,
    Inbox.Deleted: _deleted,
    Inbox.Rejected: _rejected,
    Inbox.Cleared: _cleared,
}
