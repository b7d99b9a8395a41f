"""ThreadQueue: one first-in, first-out queue of queued turns for each thread.

Invariants, always:

- at most one queued turn of a thread is in flight, and a failed head blocks the rest;
- the orders within a thread are distinct, and a queued turn is in exactly one state;
- appended = visible + in flight + acked + deleted, and a turn is acked at most once;
- the epoch grows by one with every claim and never falls; every epoch has one owner.
"""

from turnledger.domain.thread import Lifecycle
from turnledger.domain.thread_queue.decide import decide
from turnledger.domain.thread_queue.events import CATEGORY, EVENTS, ThreadQueue, stream_id
from turnledger.domain.thread_queue.guards import Decision, why_blocked
from turnledger.domain.thread_queue.history import broken_rule
from turnledger.domain.thread_queue.state import (
    STATE_FORM,
    State,
    Turn,
    evolve,
    fold,
    pruned,
)
from turnledger.domain.thread_queue.values import Claim, QueuedTurn
from turnledger.domain.thread_queue.waiting import clear

__all__ = [
    "CATEGORY",
    "EVENTS",
    "STATE_FORM",
    "Claim",
    "Decision",
    "Lifecycle",
    "QueuedTurn",
    "State",
    "ThreadQueue",
    "Turn",
    "broken_rule",
    "clear",
    "decide",
    "evolve",
    "fold",
    "pruned",
    "stream_id",
    "why_blocked",
]
