"""Looking at turns and work items, and at what an idempotency key did."""

from typing import Any, get_args

from sqlalchemy import bindparam, select

from turnledger.coordinator.desk import CoordinatorDesk
from turnledger.domain import coordinator_turn, work_item
from turnledger.domain.coordinator_turn import (
    BegunTurn,
    Receipt,
    TurnStatus,
    WorkItemRevision,
)
from turnledger.domain.duration import from_microseconds
from turnledger.domain.errors import InvalidPayload
from turnledger.domain.identifier import check_identifier
from turnledger.domain.payload import shown
from turnledger.infrastructure import turn_repository as repository
from turnledger.infrastructure.statement import statement
from turnledger.infrastructure.unit_of_work import UnitOfWork
from turnledger.projections.receipts import receipts

BegunTurns = list[BegunTurn]  # inside the class, list is its method

_RECEIPT = statement(
    select(receipts.c.command, receipts.c.stream_id, receipts.c.recorded_at).where(
        receipts.c.scope == bindparam("scope"),
        receipts.c.idempotency_key == bindparam("idempotency_key"),
    )
)


class Looking(CoordinatorDesk):
    """The part of `ledger.coordinator` for those who want to know."""

    def get(self, turn_id: str) -> BegunTurn | None:
        """A turn with its attempts, whatever has become of it; None only if it never was."""
        check_identifier("turn_id", turn_id)

        def look(unit: UnitOfWork) -> BegunTurn | None:
            reader = repository.reader(unit)
            row = reader.row(turn_id)
            return None if row is None else reader.turn(row)

        return self._backend.look(look)

    def list(
        self, work_item_id: str | None = None, *, status: TurnStatus | None = None
    ) -> BegunTurns:
        """The turns of a work item, or of all, in the order in which they were begun.

        Args:
            work_item_id: Whose; default all, by their ids.
            status: Only the pending, claimed, acked or cancelled ones.
        """
        if work_item_id is not None:
            check_identifier("work_item_id", work_item_id)
        if status is not None and status not in get_args(TurnStatus):
            words = ", ".join(get_args(TurnStatus))
            raise InvalidPayload("status", f"must be one of {words}, not {shown(status)}")

        def look(unit: UnitOfWork) -> BegunTurns:
            reader = repository.reader(unit)
            return [reader.turn(row) for row in reader.rows(work_item_id, status)]

        return self._backend.look(look)

    def work_item(self, work_item_id: str) -> WorkItemRevision:
        """A work item; at revision 0 if nothing was ever done on it."""
        check_identifier("work_item_id", work_item_id)

        def look(unit: UnitOfWork) -> WorkItemRevision:
            state = repository.item_state(unit, unit.head(work_item.stream_id(work_item_id)))
            return WorkItemRevision(work_item_id=work_item_id, **state._asdict())

        return self._backend.look(look)

    def receipt(self, work_item_id: str, key: str) -> Receipt | None:
        """What an idempotency key did in a work item, or None if it is new."""
        scope = f"work_item:{check_identifier('work_item_id', work_item_id)}"
        given = {"scope": scope, "idempotency_key": check_identifier("key", key)}

        def look(unit: UnitOfWork) -> Receipt | None:
            row = unit.run(_RECEIPT, given).fetchone()
            return None if row is None else _receipt(unit, key, *row)

        return self._backend.look(look)


def _receipt(unit: UnitOfWork, key: str, command: str, stream_id: str, recorded_at: Any) -> Receipt:
    category, _, created = stream_id.partition(":")
    target = category
    if category == coordinator_turn.CATEGORY:
        row = repository.reader(unit).row(created)
        target = category if row is None else row.target
    return Receipt(
        key=key,
        target=target,
        command=command,
        id=created,
        recorded_at=from_microseconds(recorded_at),
    )
