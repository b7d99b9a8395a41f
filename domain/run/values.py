"""What comes back: frozen values. JSON inside them is plain dict and list, a fresh copy."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnledger.domain.claim import Evidence
from turnledger.domain.run.state import RunStatus


@dataclass(frozen=True, kw_only=True)
class RunClaim:
    """The right to execute a run's operations, until its lease is over or it is taken over.

    Attributes:
        epoch: Grows by one with every claim of the run; later commands must show it.
        expires_at: The end of the lease; at that very instant the claim is over.
        generation: The ledger's generation that gave it out.
        work_item_id: What the run works on; None in a claim that was put together by hand.
        action_id: What it does there; likewise.
    """

    run_id: str
    owner: str
    epoch: int
    generation: str
    work_item_id: str | None = None
    action_id: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class StartedRun:
    """A run, and what has become of it.

    Attributes:
        status: running (also when its lease is over), finished or interrupted.
        owner: Of the latest claim; likewise epoch.
        expires_at: The end of its lease; None once the run is over.
        outcome: Of a finished run.
        reason: Of an interrupted one.
        altered: Whether the outcome or reason had to be changed to be storable.
        evidence: What owners reported whose claim was lost.
        unreadable: What is wrong with the stored record, if it can't be read.
    """

    run_id: str
    work_item_id: str
    action_id: str
    status: RunStatus
    owner: str
    epoch: int
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime
    outcome: Any = None
    reason: Any = None
    altered: bool = False
    evidence: tuple[Evidence, ...] = ()
    unreadable: str | None = None
