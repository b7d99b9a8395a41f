"""What comes back: frozen values. JSON inside them is plain dict and list, a fresh copy."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from turnledger.domain.claim import Evidence
from turnledger.domain.operation.commands import CompletedEffect, Decision
from turnledger.domain.operation.state import Effect, Execution

ReplayPolicy = Literal["safe", "probe_first", "never_automatic"]
POLICIES: tuple[str, ...] = get_args(ReplayPolicy)
EFFECTS: tuple[str, ...] = get_args(CompletedEffect)
DECISIONS: tuple[str, ...] = get_args(Decision)


@dataclass(frozen=True, kw_only=True)
class RecordedOperation:
    """One external effect, and what is known of it.

    Attributes:
        key: Its identity, unique in the ledger.
        run_id: The run under whose lease it is executed.
        payload: What is wished; JSON, opaque to turnledger; None if it can't be read.
        replay_policy: safe, probe_first or never_automatic.
        execution: not_started, running, cancel_requested, hazardous_orphan or quiescent.
        effect: pending, applied, not_applied, failed_no_effect or unknown.
        execution_epoch: How often it was claimed.
        owner: Who claimed it, also once it is settled; None if nobody did.
        run_epoch: The epoch of that run's claim.
        result: What its owner reported in time.
        reason: Why it is a hazardous orphan, or was never claimed.
        resolved_by: Who decided on it while it was in doubt.
        resolution: What that decision rests on.
        altered: Whether the result or the resolution had to be changed to be storable.
        evidence: What its owner reported too late: effect and result.
        duplicate: The command that returned this had been carried out before.
        unreadable: What is wrong with the stored record, if it can't be read.
    """

    key: str
    run_id: str
    work_item_id: str
    action_id: str
    operation_type: str
    payload: Any
    replay_policy: str
    execution: Execution
    effect: Effect
    created_at: datetime
    updated_at: datetime
    execution_epoch: int = 0
    owner: str | None = None
    run_epoch: int | None = None
    result: Any = None
    reason: str | None = None
    resolved_by: str | None = None
    resolution: Any = None
    altered: bool = False
    evidence: tuple[Evidence, ...] = ()
    duplicate: bool = False
    unreadable: str | None = None


@dataclass(frozen=True, kw_only=True)
class BlockingOperation:
    """An operation that isn't settled with a known effect, and what would settle it."""

    key: str
    run_id: str
    execution: Execution
    effect: Effect
    reason: str


@dataclass(frozen=True, kw_only=True)
class OperationRecovery:
    """What nobody answered for.

    Attributes:
        operations_orphaned: They ran when the claim of their run was lost: somebody must decide.
        operations_never_claimed: They hadn't begun when their run ended: settled, without effect.
    """

    operations_orphaned: int = 0
    operations_never_claimed: int = 0
