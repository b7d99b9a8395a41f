"""Ending turns: completing, failing, acking, cancelling; each gives the work item a revision."""

from typing import Any

from turnledger.coordinator.desk import CoordinatorDesk
from turnledger.domain.coordinator_turn import BegunTurn, TurnClaim
from turnledger.domain.coordinator_turn import commands as c
from turnledger.domain.errors import ClaimLost, InvalidPayload
from turnledger.domain.identifier import LARGEST, check_identifier
from turnledger.domain.payload import shown
from turnledger.domain.work_item import Touch
from turnledger.infrastructure import turn_repository as repository


class Settling(CoordinatorDesk):
    """The part of `ledger.coordinator` for those who end turns."""

    def complete(
        self, claim: TurnClaim, result: Any, *, expected_revision: int | None = None
    ) -> BegunTurn:
        """End a turn with a result.

        Args:
            claim: A live claim.
            result: JSON; what isn't JSON is kept as its repr.
            expected_revision: What the work item's revision must be.

        Raises:
            ClaimLost: The claim isn't live. The result is kept as evidence.
            StaleRevision: The work item is at another revision. Nothing changes; the claim stays.
            PayloadTooLarge: The result is past its limit; answer with a reference.
        """
        kept, altered = self._settled(self._claimed(claim), "result", result)
        expected = _revision(expected_revision)
        try:
            shown = self._shown(claim)
            return self._turn(
                c.Complete(**shown, result=kept, altered=altered, expected_revision=expected)
            )
        except ClaimLost:
            self._keep_lost(claim, "complete", kept, altered=altered)
            raise

    def fail(
        self, claim: TurnClaim, error: Any, *, expected_revision: int | None = None
    ) -> BegunTurn:
        """End a turn with an error. It isn't tried again: begin another one for that.

        Args:
            claim: A live claim.
            error: JSON; what isn't JSON is kept as its repr.
            expected_revision: What the work item's revision must be.

        Raises:
            ClaimLost: The claim isn't live. The error is kept as evidence.
            InvalidTransition: An answer is there: use it, or reject it first.
            StaleRevision: The work item is at another revision. Nothing changes; the claim stays.
        """
        kept, altered = self._settled(self._claimed(claim), "error", error)
        expected = _revision(expected_revision)
        try:
            shown = self._shown(claim)
            return self._turn(
                c.Fail(**shown, error=kept, altered=altered, expected_revision=expected)
            )
        except ClaimLost:
            self._keep_lost(claim, "fail", kept, altered=altered)
            raise

    def ack(self, claim: TurnClaim) -> BegunTurn:
        """End a turn without a result. A current claim is enough.

        Raises:
            ClaimLost: The claim isn't current. The report is kept as evidence.
        """
        try:
            return self._turn(c.Ack(**self._shown(claim)))
        except ClaimLost:
            self._keep_lost(claim, "ack", None)
            raise

    def cancel(self, turn_id: str, reason: Any) -> BegunTurn:
        """End a turn, whoever holds it: the owner finds its claim lost at its next command.

        What is being dispatched is of unknown outcome from then on. A turn that is cancelled
        comes back as it is.

        Raises:
            TurnNotFound: There is no such turn.
            InvalidTransition: It is acked.
        """
        check_identifier("turn_id", turn_id)
        kept, altered = self._settled(self._intake(turn_id), "reason", reason)
        return self._turn(c.Cancel(turn_id=turn_id, reason=kept, altered=altered))

    def touch(self, work_item_id: str) -> int:
        """Say that a work item is another one now. Returns its new revision."""
        command = Touch(work_item_id=check_identifier("work_item_id", work_item_id))
        return self._backend.transact(
            lambda unit: repository.touch(unit, command, self._backend.origin()), several=True
        )


def _revision(expected: object) -> int | None:
    if expected is None:
        return None
    if not isinstance(expected, int) or isinstance(expected, bool) or expected < 0:
        reason = f"must be a whole number from 0 on, not {shown(expected)}"
        raise InvalidPayload("expected_revision", reason)
    return min(expected, LARGEST)
