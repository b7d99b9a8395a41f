"""`ledger.runs`: the leases under which operations are executed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from turnledger.claiming import (
    MINUTE,
    Seconds,
    checked_claim,
    claimed_id,
    claimer,
    keep_evidence,
    shown,
)
from turnledger.domain import evidence, run
from turnledger.domain.duration import check_duration
from turnledger.domain.errors import ClaimLost
from turnledger.domain.event import Event
from turnledger.domain.identifier import check_identifier
from turnledger.domain.run import Run, RunClaim, StartedRun, State
from turnledger.domain.run import commands as c
from turnledger.infrastructure import run_repository as repository
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.operation_rows import RUN, RunRow, as_run, work_item_of
from turnledger.infrastructure.statement import Cursor
from turnledger.infrastructure.statement import run as run_statement
from turnledger.infrastructure.unit_of_work import UnitOfWork


class Runs:
    """The commands and queries of `ledger.runs`.

    All raise `InvalidInput` for bad arguments, and `StoreError` if the database says no.
    """

    def __init__(self, backend: Backend) -> None:
        """Take what the ledger's services share."""
        self._backend = backend
        self._settings = backend.settings

    def start(
        self,
        run_id: str,
        work_item_id: str,
        action_id: str,
        owner: str,
        lease: Seconds = MINUTE,
    ) -> RunClaim | None:
        """Begin a run, or take it over if its lease is over; None if somebody's claim is live.

        Args:
            run_id: Chosen by the host, unique in the ledger.
            work_item_id: What it works on.
            action_id: What it does there.
            owner: Who will execute its operations: a string, new for every boot of a process.
            lease: For how long, as seconds or a timedelta.

        Raises:
            InvalidTransition: It is finished or interrupted.
            IdempotencyConflict: It was started for another work item or action.
        """
        command = c.Start(
            run_id=check_identifier("run_id", run_id),
            work_item_id=check_identifier("work_item_id", work_item_id),
            action_id=check_identifier("action_id", action_id),
            **claimer(self._settings, owner, lease),
        )
        events, state = self._done(command)
        if not events:
            return None
        return RunClaim(
            run_id=run_id,
            owner=state.owner,
            epoch=state.epoch,
            generation=self._backend.generation,
            work_item_id=work_item_id,
            action_id=action_id,
            expires_at=state.expires_at,
        )

    def renew(self, claim: RunClaim, lease: Seconds = MINUTE) -> RunClaim:
        """Give a live claim a new end; it may be an earlier one.

        Raises:
            ClaimLost: It isn't live.
        """
        duration = check_duration("lease", lease, self._settings.max_lease)
        _, state = self._done(c.Renew(**self._shown(claim), lease=duration))
        return replace(claim, expires_at=state.expires_at)

    def finish(self, claim: RunClaim, outcome: Any = None) -> StartedRun:
        """End a run with what came of it. Its operations that haven't begun never will.

        Args:
            claim: A live claim.
            outcome: JSON; what isn't JSON is kept as its repr.

        Raises:
            ClaimLost: The claim isn't live. The outcome is kept as evidence.
            PayloadTooLarge: The outcome is past its limit; answer with a reference.
        """
        _, run_id = checked_claim(claim, RunClaim)
        kept, altered = self._settled(run_id, "outcome", outcome)
        try:
            return self._ended(c.Finish(**self._shown(claim), outcome=kept, altered=altered))
        except ClaimLost:
            self._keep_lost(claim, kept, altered=altered)
            raise

    def interrupt(self, run_id: str, reason: Any = None) -> bool:
        """End a run, whoever holds it; False if it is over already, or never was.

        Its owner finds its claim lost at its next command.

        Args:
            run_id: The run.
            reason: Why, as JSON.
        """
        check_identifier("run_id", run_id)
        kept, altered = self._settled(run_id, "reason", reason)
        events, _ = self._done(c.Interrupt(run_id=run_id, reason=kept, altered=altered))
        return bool(events)

    def get(self, run_id: str) -> StartedRun | None:
        """A run, whatever has become of it; None only if it never was."""
        check_identifier("run_id", run_id)
        with self._backend.store.reading(damaged=True) as cursor:
            found = _found(cursor, self._backend.store.dialect, run_id)
        return self._backend.contents.opened(found)

    def _settled(self, run_id: str, name: str, value: Any) -> tuple[Any, bool]:
        store = self._backend.store
        intake = self._backend.contents.of_work_item_of(lambda: work_item_of(store, run_id))
        return intake.settled(name, value, self._settings.max_result_bytes)

    def _ended(self, command: c.Finish) -> StartedRun:
        """Carry out the command that ends a run; returns the run after it."""

        def work(unit: UnitOfWork) -> StartedRun:
            repository.carry_out(unit, command, self._backend.origin())
            return cast("StartedRun", _found(unit.cursor, unit.dialect, command.run_id))

        return self._backend.transact(work, several=True)

    def _done(self, command: c.AnyCommand) -> tuple[Sequence[Event], State]:
        """Carry out one command in a transaction of its own."""
        return self._backend.transact(
            lambda unit: repository.carry_out(unit, command, self._backend.origin()), several=True
        )

    def _shown(self, claim: RunClaim) -> dict[str, Any]:
        return shown(self._backend, claim, RunClaim)

    def _keep_lost(self, claim: RunClaim, outcome: Any, *, altered: bool) -> None:
        """Keep an outcome whose claim is lost, if that claim was ever given out.

        It has a transaction of its own, committed before the refusal goes on to the caller.
        """
        stream_id = run.stream_id(claim.run_id)

        def work(unit: UnitOfWork) -> None:
            kinds = (Run.Started, Run.TakenOver)
            given = (claimed_id(unit, stream_id, kind, "owner", claim) for kind in kinds)
            if not any(given):
                return
            found = _found(unit.cursor, unit.dialect, claim.run_id)
            known = () if found is None else found.evidence
            report = evidence.KeepOfRun(
                run_id=claim.run_id,
                owner=claim.owner,
                epoch=claim.epoch,
                kind=c.Finish.NAME,
                value=outcome,
                altered=altered,
            )
            keep_evidence(self._backend, unit, stream_id, known, report)

        self._backend.keep(work)


def _found(cursor: Cursor, dialect: str, run_id: str) -> StartedRun | None:
    row = run_statement(cursor, dialect, RUN, {"run_id": run_id}).fetchone()
    return None if row is None else as_run(RunRow(*row))
