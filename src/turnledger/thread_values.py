"""What `ledger.threads` answers with."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

ThreadState = Literal["pending", "in_flight", "blocked", "idle", "archived", "deleted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSummary:
    """What a thread is doing.

    Attributes:
        state: pending (a claim would be given out), in_flight, blocked, idle, archived, deleted.
        why_blocked: Why no claim is given out, or None; see `ledger.queue.why_blocked`.
        waiting: How many queued turns are visible.
        oldest_waiting_at: When the first of them was appended.
        owner: Who holds what is in flight; likewise expires_at.
        forked_from: The thread from which it was forked, if it was.
        unreadable: What is damaged, so that the rest can't be said.
    """

    thread_id: str
    state: ThreadState
    why_blocked: str | None
    waiting: int
    oldest_waiting_at: datetime | None = None
    owner: str | None = None
    expires_at: datetime | None = None
    forked_from: str | None = None
    unreadable: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadDeletion:
    """What ended when a thread was deleted.

    Attributes:
        queued_turns: Those that were visible.
        in_flight: How many queued turns were in flight: their claims are fenced off.
        messages: Those of the inbox: waiting, undelivered, or in flight.
        timers: Those that were live.
    """

    thread_id: str
    queued_turns: int = 0
    in_flight: int = 0
    messages: int = 0
    timers: int = 0
