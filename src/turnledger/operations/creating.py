"""Creating operations, and claiming them for their execution."""

from dataclasses import replace
from typing import Any, cast

from turnledger.domain.claim import lose
from turnledger.domain.identifier import check_identifier
from turnledger.domain.operation import POLICIES, RecordedOperation, ReplayPolicy
from turnledger.domain.operation import commands as c
from turnledger.domain.run import RunClaim
from turnledger.infrastructure import operation_repository as repository
from turnledger.infrastructure.intake import Intake
from turnledger.infrastructure.operation_rows import OperationRow, as_created
from turnledger.infrastructure.run_repository import held_run
from turnledger.infrastructure.unit_of_work import UnitOfWork
from turnledger.operations.desk import OperationDesk, found, one_of, row_of, yes_or_no


class Creating(OperationDesk):
    """The part of `ledger.operations` for those who wish effects, and those who begin them."""

    def create(  # noqa: PLR0913 - all that can be said of an operation
        self,
        key: str,
        *,
        run_id: str,
        work_item_id: str,
        action_id: str,
        operation_type: str,
        payload: Any,
        replay_policy: ReplayPolicy = "never_automatic",
    ) -> RecordedOperation:
        """Record that an effect is wished. It needs no live run; claiming it does.

        Args:
            key: Its identity, chosen by the host, unique in the ledger.
            run_id: The run under whose lease it will be executed.
            work_item_id: What it is about.
            action_id: What it is a part of.
            operation_type: What kind of effect it is: a name that the host chose.
            payload: What is wished: JSON, opaque to turnledger.
            replay_policy: safe (it may be claimed automatically), probe_first or never_automatic.

        Returns:
            The operation; the first one with `duplicate=True`, if the key is known with the same
            content.

        Raises:
            IdempotencyConflict: The key is known with other content.
        """
        about = {"run_id": run_id, "work_item_id": work_item_id, "action_id": action_id}
        command = c.Create(
            key=check_identifier("key", key),
            **{name: check_identifier(name, said) for name, said in about.items()},
            **self._content(
                self._backend.contents.of_work_item(work_item_id),
                *(operation_type, payload, replay_policy),
            ),
        )

        def work(unit: UnitOfWork) -> RecordedOperation:
            events, _ = repository.carry_out(unit, command, self._backend.origin())
            if events:
                return found(unit, key)
            row = cast("OperationRow", row_of(unit.cursor, unit.dialect, key))
            return replace(as_created(row), duplicate=True)

        return self._backend.transact(work, several=True)

    def claim(
        self, run_claim: RunClaim, key: str, *, automatic: bool = True
    ) -> RecordedOperation | None:
        """Record that an operation is about to be executed, which can't be taken back.

        Args:
            run_claim: A live claim of the operation's own run.
            key: The operation.
            automatic: Nobody decided on this very execution; then its policy must be safe.

        Returns:
            The operation, which runs now; None if it isn't the run's, has begun before, or may not
            be claimed automatically.

        Raises:
            ClaimLost: The run's claim isn't live.
        """
        check_identifier("key", key)
        yes_or_no("automatic", automatic)
        said = self._shown(run_claim)
        return self._changed(c.Claim(key=key, **said, automatic=automatic), said["run_id"])

    def create_and_claim(  # noqa: PLR0913 - all that can be said of an operation
        self,
        run_claim: RunClaim,
        key: str,
        operation_type: str,
        payload: Any,
        *,
        replay_policy: ReplayPolicy = "never_automatic",
        automatic: bool = True,
        run_id: str | None = None,
        work_item_id: str | None = None,
        action_id: str | None = None,
    ) -> RecordedOperation | None:
        """Create an operation of the claim's run and claim it, in one transaction.

        One that is known with the same content, and hasn't begun, is claimed. See `create` and
        `claim`. Its run, work item and action are the claim's, if they aren't said.

        Returns:
            The operation, which runs now; None if it couldn't be claimed: then nothing is written.

        Raises:
            ClaimLost: The run's claim isn't live.
            IdempotencyConflict: The key is known with other content, or for another run.
        """
        check_identifier("key", key)
        yes_or_no("automatic", automatic)
        shown = self._shown(run_claim)
        told = {"work_item_id": work_item_id, "action_id": action_id}
        about = {n: check_identifier(n, said) for n, said in told.items() if said is not None}
        intake = self._of_item_or_run(about.get("work_item_id"), run_claim.run_id)
        content = self._content(intake, operation_type, payload, replay_policy)
        if run_id is not None and check_identifier("run_id", run_id) != run_claim.run_id:
            return None

        def work(unit: UnitOfWork) -> RecordedOperation | None:
            run = held_run(unit, run_claim.run_id)
            if run.status is None:
                lose(run_claim, "the run was never started")
            where: dict[str, Any] = {
                "work_item_id": run.work_item_id,
                "action_id": run.action_id,
                **about,
            }
            command = c.CreateAndClaim(key=key, **shown, **where, **content, automatic=automatic)
            origin = self._backend.origin()
            events, _ = repository.carry_out(unit, command, origin, run_claim.run_id)
            return found(unit, key) if events else None

        return self._backend.transact(work, several=True)

    def _content(
        self, intake: Intake, operation_type: str, payload: Any, replay_policy: str
    ) -> dict[str, Any]:
        return {
            "operation_type": check_identifier("operation_type", operation_type),
            "payload": intake.payload("payload", payload, self._settings.max_payload_bytes),
            "replay_policy": one_of("replay_policy", replay_policy, POLICIES),
        }
