"""What comes back: frozen values. JSON inside them is plain dict and list, a fresh copy."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from turnledger.domain.claim import Evidence
from turnledger.domain.inbox.state import MessageState

Delivery = Literal["after-turn", "steer-current-turn"]
DELIVERIES: tuple[str, ...] = get_args(Delivery)
RecoveryMode = Literal["at_most_once", "at_least_once"]


@dataclass(frozen=True, kw_only=True)
class InboxMessage:
    """A message from outside, and what has become of it.

    Attributes:
        content: What it says: JSON, opaque to turnledger; None if it can't be read.
        source: Who sent it.
        delivery: after-turn, steer-current-turn; or a word of a newer release.
        queued_at: Its place: older ones come first.
        arrival: How many came before it: its place among those of the same queued_at.
        state: pending, claimed, confirmed, expired (undelivered), rejected or deleted.
        reason: Why it is expired or rejected.
        deliveries: How often it was handed out, and not given back.
        evidence: What owners reported whose claim was lost.
        owner: Who holds it, while it is in flight; likewise epoch and expires_at.
        duplicate: The command that returned this had been carried out before.
        unreadable: What is wrong with the stored record, if it can't be read.
    """

    thread_id: str
    message_id: str
    content: Any
    source: str
    delivery: str
    instructions: Any
    metadata: dict[str, Any]
    queued_at: datetime
    arrival: int
    state: MessageState
    created_at: datetime
    updated_at: datetime
    reason: str | None = None
    deliveries: int = 0
    evidence: tuple[Evidence, ...] = ()
    owner: str | None = None
    epoch: int | None = None
    expires_at: datetime | None = None
    duplicate: bool = False
    unreadable: str | None = None


@dataclass(frozen=True, kw_only=True)
class MessageClaim:
    """The right to deliver a message, until its lease is over or another claim is given out.

    Attributes:
        epoch: Grows by one with every claim of the inbox; later commands must show it.
        expires_at: The end of the lease; at that very instant the claim is over.
        generation: The ledger's generation that gave it out.
        content: What to deliver; None in a claim that was put together by hand.
        deliveries: How often it was handed out and not given back, this time included.
    """

    thread_id: str
    owner: str
    epoch: int
    generation: str
    message_id: str | None = None
    expires_at: datetime | None = None
    content: Any = None
    source: str | None = None
    delivery: str | None = None
    instructions: Any = None
    metadata: dict[str, Any] | None = None
    queued_at: datetime | None = None
    deliveries: int = 1


@dataclass(frozen=True, kw_only=True)
class NotReady:
    """The oldest message can't be delivered now, and nothing behind it moves.

    Attributes:
        reason: in_flight, expired_claim (recover it), or not_deliverable (the thread is busy).
    """

    message_id: str
    reason: Literal["in_flight", "expired_claim", "not_deliverable"]


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """The oldest message will never be delivered by this release; the next one moves up."""

    message_id: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class InboxRecovery:
    """How many claims were over, by what became of their messages.

    Attributes:
        messages_pending: They wait again.
        messages_expired: They are kept as undelivered.
    """

    messages_pending: int = 0
    messages_expired: int = 0
