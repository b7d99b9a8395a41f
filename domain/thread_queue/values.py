"""What comes back: frozen values. JSON inside them is plain dict and list, a fresh copy."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnledger.domain.claim import Evidence
from turnledger.domain.thread_queue.state import TurnState


@dataclass(frozen=True, kw_only=True)
class QueuedTurn:
    """A submission and what has become of it.

    Attributes:
        queue_order: Its place in the thread; smaller ones come first.
        submission: The host's JSON object; None if it can't be read (see `unreadable`).
        state: pending, claimed, dispatching, failed, acked or deleted.
        failure: Why it failed last, if it is failed.
        altered: Whether the failure had to be changed to be storable.
        outcome_unknown: It was dispatched, and nobody can know whether that took effect.
        dispatch_id: The dispatch under way, or the last one of a failed turn.
        evidence: What owners reported whose claim was lost.
        attempts: How often it was retried.
        owner: Who holds it, while it is in flight; likewise epoch and expires_at.
        duplicate: The command that returned this had been carried out before.
        unreadable: What is wrong with the stored record, if it can't be read.
    """

    thread_id: str
    queued_turn_id: str
    queue_order: int
    submission: dict[str, Any] | None
    state: TurnState
    created_at: datetime
    updated_at: datetime
    failure: Any = None
    altered: bool = False
    outcome_unknown: bool = False
    dispatch_id: str | None = None
    evidence: tuple[Evidence, ...] = ()
    attempts: int = 0
    not_before: datetime | None = None
    owner: str | None = None
    epoch: int | None = None
    expires_at: datetime | None = None
    duplicate: bool = False
    unreadable: str | None = None


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The right to work on a queued turn, until its lease is over or another claim is given out.

    Attributes:
        epoch: Grows by one with every claim of the thread; later commands must show it.
        expires_at: The end of the lease; at that very instant the claim is over.
        generation: The ledger's generation that gave it out.
        submission: What to work on; None in a claim that was put together by hand.
    """

    thread_id: str
    owner: str
    epoch: int
    generation: str
    queued_turn_id: str | None = None
    expires_at: datetime | None = None
    submission: dict[str, Any] | None = None
    attempts: int = 0
