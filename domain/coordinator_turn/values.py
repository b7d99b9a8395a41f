"""What comes back: frozen values. JSON inside them is plain dict and list, a fresh copy."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from turnledger.domain.claim import Evidence
from turnledger.domain.coordinator_turn.state import AttemptStatus, TurnStatus

Step = Literal["dispatch", "use_response", "resolve_unknown", "prepare"]


@dataclass(frozen=True, kw_only=True)
class ProviderTurn:
    """One request to a model provider, and what became of it.

    Attributes:
        provider_turn_id: The turn's id and the attempt's number.
        attempt: Its number in the turn, from 1.
        status: prepared, dispatching, responded, unknown, refused or cancelled.
        request: What is sent; JSON.
        request_hash: The SHA-256 of its canonical JSON, in hex.
        owner: Whose it is, or was last; likewise epoch.
        response: What came back; see `response_hash` for whether anything did.
        response_hash: Of the response, likewise; None if there is none.
        error: Why it was refused or rejected, or the reason of a decision to cancel it.
        retryable: Whether a refusal may be tried again.
        resolved_by: Who decided on it while its outcome was unknown.
        altered: Whether the response or the error had to be changed to be storable.
        evidence: What owners reported whose claim was lost, and late responses.
    """

    provider_turn_id: str
    turn_id: str
    attempt: int
    status: AttemptStatus
    request: Any
    request_hash: str
    owner: str
    epoch: int
    prepared_at: datetime
    dispatched_at: datetime | None = None
    response: Any = None
    response_hash: str | None = None
    error: Any = None
    retryable: bool | None = None
    resolved_by: str | None = None
    altered: bool = False
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TurnClaim:
    """The right to work on a coordinator turn, until its lease is over or it is claimed again.

    Attributes:
        epoch: Grows by one with every claim of the turn; later commands must show it.
        expires_at: The end of the lease; at that very instant the claim is over.
        generation: The ledger's generation that gave it out.
        message: What to work on; None in a claim that was put together by hand.
    """

    turn_id: str
    owner: str
    epoch: int
    generation: str
    work_item_id: str | None = None
    expires_at: datetime | None = None
    message: Any = None
    kind: str | None = None
    target: str | None = None
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BegunTurn:
    """A coordinator turn that was begun, and what has become of it.

    Attributes:
        turn_order: Its place in the work item; smaller ones come first.
        message: What it is about: JSON, opaque to turnledger; None if it can't be read.
        kind: message, recovery, or a word of the host's.
        target: Who is to answer it: coordinator, or a name of the host's.
        status: pending, claimed, acked or cancelled.
        outcome: Of an acked turn: completed, failed, or None if it was acked without a result.
        result: Of a completed turn.
        error: Of a failed turn.
        reason: Of a cancelled turn.
        attempts: Its provider turns, in the order of their numbers.
        attachments: The SHA-256 of each, in hex; see `ledger.attachments`.
        owner: Who holds it, while it is claimed; likewise expires_at.
        epoch: Of the latest claim; 0 if there was none.
        not_before: From when on `claim_next` gives it out.
        altered: Whether the result, error or reason had to be changed to be storable.
        evidence: What owners reported whose claim was lost.
        claim: Of a turn that was claimed with its begin.
        duplicate: The command that returned this had been carried out before.
        unreadable: What is wrong with the stored record, if it can't be read.
    """

    turn_id: str
    work_item_id: str
    turn_order: int
    message: Any
    kind: str
    target: str
    status: TurnStatus
    created_at: datetime
    updated_at: datetime
    outcome: Literal["completed", "failed"] | None = None
    result: Any = None
    error: Any = None
    reason: Any = None
    attempts: tuple[ProviderTurn, ...] = ()
    attachments: tuple[str, ...] = ()
    owner: str | None = None
    epoch: int = 0
    expires_at: datetime | None = None
    not_before: datetime | None = None
    altered: bool = False
    evidence: tuple[Evidence, ...] = ()
    claim: TurnClaim | None = None
    duplicate: bool = False
    unreadable: str | None = None


@dataclass(frozen=True, kw_only=True)
class Resumption:
    """A claim, and what its owner is to do first.

    Attributes:
        step: dispatch (send the stored request), use_response (it is there; make no call),
            resolve_unknown (decide on the attempt), or prepare (the attempt of that number).
        attempt: Which attempt that is about.
        request: That attempt's, as it is stored; None if it is still to be prepared.
        response: That attempt's; None if there is none.
    """

    claim: TurnClaim
    step: Step
    attempt: int
    request: Any = None
    response: Any = None


@dataclass(frozen=True, kw_only=True)
class RecoverableTurn:
    """A turn that a worker should take up now: pending, or its lease is over.

    Attributes:
        status: pending, or claimed if its lease is over.
        attempt: The number of its latest attempt; None if there is none.
        attempt_status: That attempt's.
    """

    turn_id: str
    work_item_id: str
    status: TurnStatus
    attempt: int | None
    attempt_status: AttemptStatus | None
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class TurnRecovery:
    """What was over.

    Attributes:
        attempts_unknown: How many dispatches nobody answers for any more.
        turns_pending: How many turns wait again.
    """

    attempts_unknown: int = 0
    turns_pending: int = 0


@dataclass(frozen=True, kw_only=True)
class WorkItemRevision:
    """How often a work item has changed.

    Attributes:
        revision: One more with each turn that is settled, and each touch.
        turns: How many turns were ever begun on it.
        settled: How many of them have ended.
    """

    work_item_id: str
    revision: int
    turns: int
    settled: int


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What an idempotency key did.

    Attributes:
        target: Whose the key is: coordinator, or what the turn was begun for.
        command: The command's name.
        id: Of what it created.
    """

    key: str
    target: str
    command: str
    id: str
    recorded_at: datetime
