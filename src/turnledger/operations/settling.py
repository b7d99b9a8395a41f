"""What becomes of operations: completing, cancelling, recovering, deciding."""

import logging
from functools import partial
from typing import Any, cast

from turnledger.claiming import checked_claim, keep_evidence
from turnledger.domain import evidence, operation
from turnledger.domain.errors import ClaimLost, Unreadable
from turnledger.domain.identifier import check_identifier
from turnledger.domain.operation import (
    DECISIONS,
    EFFECTS,
    Operation,
    OperationRecovery,
    RecordedOperation,
)
from turnledger.domain.operation import commands as c
from turnledger.domain.payload import settle_text
from turnledger.domain.run import RunClaim
from turnledger.infrastructure import operation_repository as repository
from turnledger.infrastructure.unit_of_work import UnitOfWork
from turnledger.operations.desk import OperationDesk, found, one_of

_PAGE = 100

_log = logging.getLogger(__name__)


class Settling(OperationDesk):
    """The part of `ledger.operations` for those who say what came of an effect."""

    def complete(
        self, run_claim: RunClaim, key: str, effect: c.CompletedEffect, result: Any = None
    ) -> bool:
        """Say what came of an operation.

        Args:
            run_claim: The claim under which it was claimed.
            key: The operation.
            effect: applied, not_applied, failed_no_effect or unknown.
            result: JSON; what isn't JSON is kept as its repr.

        Returns:
            Whether it is settled by this. False, if it doesn't run, or is another's: then nothing
            changes. False, too, if the run's claim isn't live any more: what is reported is kept as
            evidence, and the operation becomes a hazardous orphan, whose effect somebody must
            decide on.

        Raises:
            ClaimLost: The claim was given out before a restore. The report is kept as evidence.
            PayloadTooLarge: The result is past its limit; answer with a reference.
        """
        check_identifier("key", key)
        one_of("effect", effect, EFFECTS)
        checked_claim(run_claim, RunClaim)
        kept, altered = self._settled(key, "result", result)
        said: dict[str, Any] = {"effect": effect, "result": kept, "altered": altered}
        try:
            self._shown(run_claim)
        except ClaimLost:
            self._keep_late(_completion(run_claim, key, said))
            raise
        command = _completion(run_claim, key, said)
        completed = self._backend.transact(partial(self._complete, command), several=True)
        if not completed:
            self._keep_late(command)
        return completed

    def request_cancel(self, key: str) -> bool:
        """Say that an operation isn't wanted any more; its owner may still complete it.

        Returns:
            Whether it runs, and its cancellation wasn't requested before.
        """
        return bool(self._done(c.RequestCancel(key=check_identifier("key", key))))

    def recover(self) -> OperationRecovery:
        """Say of what nobody answers for that nobody does; what a live claim holds isn't touched.

        Safe from every process, at every time. Each operation has a transaction of its own; one
        that can't be read is passed over and named in the log.

        Returns:
            How many became hazardous orphans, since the claim under which they ran isn't their
            run's live one; and how many were settled that hadn't begun when their run ended.
        """
        kinds: list[Any] = []
        last = ""
        while page := self._backend.look(partial(repository.stale, after=last, page=_PAGE)):
            for key, run_id in page:
                try:
                    kinds += map(type, self._done(c.Recover(key=key), run_id))
                except Unreadable as error:
                    _log.warning("passed over: %s", error)
            last = page[-1][0]
        return OperationRecovery(
            operations_orphaned=kinds.count(Operation.Orphaned),
            operations_never_claimed=kinds.count(Operation.NeverClaimed),
        )

    def resolve(
        self, key: str, decision: c.Decision, *, by: str, evidence: Any = None
    ) -> RecordedOperation:
        """Decide whether an operation took effect, of which nobody can know it.

        Args:
            key: The operation: a hazardous orphan, or one of unknown effect.
            decision: confirm_applied, confirm_not_applied or confirm_failed_no_effect.
            by: Who decides.
            evidence: What the decision rests on, as JSON.

        Raises:
            OperationNotFound: There is no such operation.
            InvalidTransition: It isn't in doubt (any more).
        """
        who, altered = settle_text("by", by, self._settings.max_result_bytes)
        check_identifier("key", key)
        why, why_altered = self._settled(key, "evidence", evidence)
        command = c.Resolve(
            key=key,
            decision=one_of("decision", decision, DECISIONS),
            by=who,
            evidence=why,
            altered=altered or why_altered,
        )
        return cast("RecordedOperation", self._changed(command))

    def _complete(self, command: c.Complete, unit: UnitOfWork) -> bool:
        origin = self._backend.origin()
        events, _ = repository.carry_out(unit, command, origin, command.run_id)
        completed = any(isinstance(event, Operation.Completed) for event in events)
        if not completed:
            self._keep_if_its_own(command, unit)
        return completed

    def _keep_late(self, command: c.Complete) -> None:
        """Keep a report, also if a transaction around it is undone; once is enough."""
        self._backend.keep(partial(self._keep_if_its_own, command))

    def _keep_if_its_own(self, command: c.Complete, unit: UnitOfWork) -> None:
        """Keep a report that came too late, if it is of an operation that its owner had claimed.

        What it completed in time needs no evidence.
        """
        state = repository.load(unit, command.key)
        late = state.orphaned or state.is_running
        if not late or not operation.is_claimers(state, command):
            return
        report = evidence.KeepOfOperation(
            key=command.key,
            owner=command.owner,
            epoch=command.epoch,
            kind=command.NAME,
            value={"effect": command.effect, "result": command.result},
            altered=command.altered,
        )
        stream_id = operation.stream_id(command.key)
        known = found(unit, command.key).evidence
        keep_evidence(self._backend, unit, stream_id, known, report)


def _completion(claim: RunClaim, key: str, said: dict[str, Any]) -> c.Complete:
    whose: dict[str, Any] = {"run_id": claim.run_id, "owner": claim.owner, "epoch": claim.epoch}
    return c.Complete(key=key, **whose, **said)
