"""What must hold, always: which event can follow which state, for those who check a history.

`decide` never breaks these rules; a history that somebody has tampered with may.
"""

from collections.abc import Callable
from typing import Any

from turnledger.domain.event import Event
from turnledger.domain.inbox.events import Inbox
from turnledger.domain.inbox.state import State

Rule = tuple[bool, str]


def broken_rule(state: State, event: Event) -> str | None:
    """The rule that an event breaks, if it can't follow a state.

    Args:
        state: The message that the event names, and the oldest that waits, are known in it.
        event: What is said to have happened.
    """
    rules = _RULES.get(type(event))
    found = rules(state, event) if rules is not None else ()
    return next((rule for holds, rule in found if not holds), None)


def _posted(state: State, event: Inbox.Posted) -> tuple[Rule, ...]:
    return (
        (event.message_id not in state.messages, "a message is posted once"),
        (event.arrival == state.posted, "arrivals are counted one after the other"),
        (state.lifecycle == "active", f"a thread that is {state.lifecycle} takes no messages"),
    )


def _claimed(state: State, event: Inbox.Claimed) -> tuple[Rule, ...]:
    return (
        (event.epoch == state.epoch + 1, "epochs rise by one"),
        *_oldest(state, event),
    )


def _oldest(state: State, event: Any) -> tuple[Rule, ...]:
    oldest = state.oldest
    same = oldest is not None and oldest.message_id == event.message_id
    return (
        (state.in_flight is None, "at most one message of a thread is in flight"),
        (state.lifecycle == "active", f"a thread that is {state.lifecycle} gives out no claims"),
        (same, "only the oldest message that waits is claimed or rejected"),
    )


def _held(state: State, event: Any) -> tuple[Rule, ...]:
    flying = state.in_flight
    held = flying is not None and flying[:3:2] == (event.message_id, event.epoch)
    return ((held, "only the message that is in flight can be settled, under its epoch"),)


def _undelivered(state: State, event: Inbox.Requeued) -> tuple[Rule, ...]:
    message = state.messages.get(event.message_id)
    expired = message is not None and message.state == "expired"
    return ((expired, "only an undelivered message is requeued"),)


def _deleted(state: State, event: Inbox.Deleted) -> tuple[Rule, ...]:
    message = state.messages.get(event.message_id)
    was = "expired" if event.undelivered else "pending"
    there = message is not None and message.state == was
    return ((there, "only a message that waits, or is undelivered, is deleted"),)


def _cleared(state: State, event: Inbox.Cleared) -> tuple[Rule, ...]:
    flying = state.in_flight and state.in_flight.message_id
    counts = (event.waiting, event.undelivered) == (state.waiting, state.undelivered)
    return (
        (counts, "clearing ends every message, once"),
        (event.in_flight_id == flying, "clearing ends what is in flight"),
    )


_RULES: dict[type[Event], Callable[[State, Any], tuple[Rule, ...]]] = {
    Inbox.Posted: _posted,
    Inbox.Claimed: _claimed,
    Inbox.Confirmed: _held,
    Inbox.Released: _held,
    Inbox.Recovered: _held,
    Inbox.Expired: _held,
    Inbox.Requeued: _undelivered,
    Inbox.Deleted: _deleted,
    Inbox.Rejected: _oldest,
    Inbox.Cleared: _cleared,
}
