"""Inbox: the messages from outside for each thread, handed over one at a time.

Invariants, always:

- at most one message of a thread is in flight, and only ever the oldest waiting one is claimed;
- a message is in exactly one state, and keeps its place in (queued_at, arrival) for ever;
- posted = waiting + in flight + undelivered + confirmed + rejected + deleted, each counted once;
- the epoch grows by one with every claim and never falls; every epoch has one owner.
"""

from turnledger.domain.inbox.decide import decide
from turnledger.domain.inbox.events import CATEGORY, EVENTS, Inbox, stream_id
from turnledger.domain.inbox.guards import not_ready
from turnledger.domain.inbox.history import broken_rule
from turnledger.domain.inbox.state import STATE_FORM, InFlight, Message, State, evolve, fold
from turnledger.domain.inbox.values import (
    DELIVERIES,
    Delivery,
    InboxMessage,
    InboxRecovery,
    MessageClaim,
    NotReady,
    RecoveryMode,
    Rejected,
)

__all__ = [
    "CATEGORY",
    "DELIVERIES",
    "EVENTS",
    "STATE_FORM",
    "Delivery",
    "InFlight",
    "Inbox",
    "InboxMessage",
    "InboxRecovery",
    "Message",
    "MessageClaim",
    "NotReady",
    "RecoveryMode",
    "Rejected",
    "State",
    "broken_rule",
    "decide",
    "evolve",
    "fold",
    "not_ready",
    "stream_id",
]
