"""What a worker knows of a turn that it has in hand, and what that comes to when it leaves it."""

import logging
import threading
from typing import Any, Literal

from turnledger.domain.errors import ClaimLost
from turnledger.domain.thread_queue import Claim
from turnledger.infrastructure.clock import steady

_log = logging.getLogger("turnledger.turns")

Left = Literal["released", "failed"]
NO_RESULT = "the worker left the turn without a result"
_NOT_RENEWED = "its lease couldn't be renewed in time"


class Standing:
    """A claimed turn in a worker's hands. What the two kinds of `TurnInHand` share.

    Attributes:
        claim: As it was given out.
        dispatch_id: Of the dispatch that was recorded; None before it.
        result: acked, failed or released; None as long as it is neither.
        is_lost: The claim is known to be lost: stop working on it.
        has_reported: A result came too late, and was kept as evidence.
    """

    def __init__(self, claim: Claim, lease_seconds: float) -> None:
        """Take a claim that was just given out, for so long."""
        self.claim = claim
        self.lease_seconds = lease_seconds
        self.dispatch_id: str | None = None
        self.result: str | None = None
        self.is_lost = self.has_reported = False
        self._reason = ""
        self._is_in_doubt = False  # whether a dispatch was recorded
        self._renewed_at = steady()
        self._settled = threading.Event()

    @property
    def name(self) -> str:
        """What it is, for messages."""
        return f"the turn of thread {self.thread_id}"

    @property
    def thread_id(self) -> str:
        """The thread whose turn it is."""
        return self.claim.thread_id

    @property
    def queued_turn_id(self) -> str:
        """The turn's id."""
        return str(self.claim.queued_turn_id)

    @property
    def submission(self) -> dict[str, Any]:
        """What is to be done: the JSON object that was appended."""
        return self.claim.submission or {}

    @property
    def attempts(self) -> int:
        """How often the turn was retried."""
        return self.claim.attempts

    @property
    def owner(self) -> str:
        """Who holds it."""
        return self.claim.owner

    @property
    def epoch(self) -> int:
        """Of the claim."""
        return self.claim.epoch

    @property
    def is_settled(self) -> bool:
        """Whether it was acked, failed or released, or its claim is lost."""
        return self.result is not None or self.is_lost

    def check(self) -> None:
        """Go on only if the claim isn't known to be lost. For long bodies, between two steps.

        Raises:
            ClaimLost: It is.
        """
        if self.is_lost:
            raise ClaimLost(self.thread_id, self.owner, self.epoch, self._reason)

    def default_dispatch_id(self) -> str:
        """An id that no other dispatch of the thread has: an epoch is given out once."""
        return f"{self.queued_turn_id}-{self.epoch}"

    # --- what has become of it

    def dispatching(self) -> None:
        """A dispatch is about to be recorded."""
        self._is_in_doubt = True

    def dispatched(self, dispatch_id: str) -> None:
        """It is recorded."""
        self.dispatch_id, self._is_in_doubt = dispatch_id, False

    def refused(self, error: Exception) -> None:
        """It was refused, so it isn't recorded."""
        self._is_in_doubt = False
        if isinstance(error, ClaimLost):
            self.lost(error.facts["reason"])

    def ended(self, result: str) -> None:
        """It has a result."""
        self.result = result
        self._settled.set()

    def lost(self, reason: str) -> None:
        """The claim is lost. Said once."""
        if not self.is_settled:
            self._reason, self.is_lost = reason, True
            self._settled.set()
            facts = facts_of(self)
            _log.warning(
                "the claim on turn %s is lost: %s", self.queued_turn_id, reason, extra=facts
            )

    def came_too_late(self, result: str, error: ClaimLost) -> None:
        """A result was refused, since the claim is lost."""
        self.has_reported = result != "released"
        self.lost(error.facts["reason"])

    def renewed(self, at: float) -> None:
        """The lease has a new end, counted from a time of the steady clock."""
        self._renewed_at = at

    def not_renewed(self, now: float) -> None:
        """The store said no; if it did for too long, the claim counts as lost."""
        if now >= self._renewed_at + self.lease_seconds:
            self.lost(_NOT_RENEWED)

    # --- leaving it

    def what_is_known(self) -> Left:
        """What a turn becomes that is left without a result."""
        return "failed" if self.dispatch_id is not None else "released"

    @property
    def is_in_doubt(self) -> bool:
        """Whether a dispatch was wished for, and nobody heard whether it was recorded."""
        return self._is_in_doubt


def failure_of(error: BaseException | None) -> str:
    """What is recorded of the error with which a turn was left."""
    if error is None:
        return NO_RESULT
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - an error that can't be told is one all the same
        return type(error).__name__


def facts_of(standing: Standing) -> dict[str, Any]:
    """The fields that log records about a turn carry."""
    return {
        "thread_id": standing.thread_id,
        "queued_turn_id": standing.queued_turn_id,
        "owner": standing.owner,
        "epoch": standing.epoch,
        "dispatch_id": standing.dispatch_id,
    }
