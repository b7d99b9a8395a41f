"""What the parts of `ledger.operations` share: carrying out one command, and what is found."""

from collections.abc import Sequence
from typing import Any, cast

from turnledger.claiming import shown
from turnledger.domain.errors import InvalidPayload
from turnledger.domain.event import Event
from turnledger.domain.operation import RecordedOperation
from turnledger.domain.operation.commands import AnyCommand
from turnledger.domain.run import RunClaim
from turnledger.infrastructure import operation_repository as repository
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.enclosing import enclosing
from turnledger.infrastructure.intake import Intake
from turnledger.infrastructure.operation_rows import (
    OPERATION,
    OperationRow,
    as_operation,
    work_item_of,
)
from turnledger.infrastructure.statement import Cursor, run
from turnledger.infrastructure.unit_of_work import UnitOfWork


class OperationDesk:
    """Loads, decides and saves."""

    def __init__(self, backend: Backend) -> None:
        """Take what the ledger's services share."""
        self._backend = backend
        self._settings = backend.settings

    def _done(self, command: AnyCommand, run_id: str | None = None) -> Sequence[Event]:
        """Carry out one command in a transaction of its own."""

        def work(unit: UnitOfWork) -> Sequence[Event]:
            return repository.carry_out(unit, command, self._backend.origin(), run_id)[0]

        return self._backend.transact(work, several=True)

    def _changed(self, command: AnyCommand, run_id: str | None = None) -> RecordedOperation | None:
        """Likewise; returns the operation after it, or None if there was nothing to do."""

        def work(unit: UnitOfWork) -> RecordedOperation | None:
            events, _ = repository.carry_out(unit, command, self._backend.origin(), run_id)
            return found(unit, command.key) if events else None

        return self._backend.transact(work, several=True)

    def _shown(self, claim: RunClaim) -> dict[str, Any]:
        return shown(self._backend, claim, RunClaim)

    def must_stand_alone(self) -> None:
        """Refuse what makes no sense in a `transaction`: a body whose effect can't be undone.

        Raises:
            InvalidPayload: This thread is in one.
        """
        if enclosing(self._backend) is not None:
            reason = "can't be called in a transaction: nothing would be recorded before it"
            raise InvalidPayload("body", reason)

    def _settled(self, key: str, name: str, value: Any) -> tuple[Any, bool]:
        """What settles an operation, as it is stored."""

        def work_item_id() -> str | None:
            with self._backend.store.reading(damaged=True) as cursor:
                row = row_of(cursor, self._backend.store.dialect, key)
            return None if row is None else str(row.work_item_id)

        intake = self._backend.contents.of_work_item_of(work_item_id)
        return intake.settled(name, value, self._settings.max_result_bytes)

    def _of_item_or_run(self, work_item_id: str | None, run_id: str) -> Intake:
        """What comes in about a work item, or else about a run's."""
        store = self._backend.store
        return self._backend.contents.of_work_item_of(
            lambda: work_item_id or work_item_of(store, run_id)
        )


def one_of(name: str, value: object, words: tuple[str, ...]) -> Any:
    """Return one of the words that an argument may be.

    Raises:
        InvalidPayload: It is another.
    """
    if value not in words:
        raise InvalidPayload(name, f"must be one of {', '.join(words)}, not {value!r}")
    return value


def yes_or_no(name: str, value: object) -> None:
    """Refuse an argument that is neither True nor False.

    Raises:
        InvalidPayload: It is neither.
    """
    if not isinstance(value, bool):
        raise InvalidPayload(name, f"must be True or False, not {value!r}")


def row_of(cursor: Cursor, dialect: str, key: str) -> OperationRow | None:
    """Where an operation stands; None if it never was."""
    row = run(cursor, dialect, OPERATION, {"key": key}).fetchone()
    return None if row is None else OperationRow(*row)


def found(unit: UnitOfWork, key: str) -> RecordedOperation:
    """An operation that is known to be there."""
    return as_operation(cast("OperationRow", row_of(unit.cursor, unit.dialect, key)))
