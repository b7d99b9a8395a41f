"""Looking at operations, and at what stands in the way of going on."""

from turnledger.domain.identifier import check_identifier
from turnledger.domain.operation import BlockingOperation, RecordedOperation
from turnledger.infrastructure.operation_rows import (
    ALL,
    BLOCKING,
    OF_WORK_ITEM,
    OperationRow,
    as_blocking,
    as_operation,
)
from turnledger.infrastructure.statement import run
from turnledger.operations.desk import OperationDesk, row_of

RecordedOperations = list[RecordedOperation]  # inside the class, list is its method
Blocking = list[BlockingOperation]


class Looking(OperationDesk):
    """The part of `ledger.operations` for those who want to know."""

    def get(self, key: str) -> RecordedOperation | None:
        """An operation, whatever has become of it; None only if it never was."""
        check_identifier("key", key)
        with self._backend.store.reading(damaged=True) as cursor:
            row = row_of(cursor, self._backend.store.dialect, key)
        return None if row is None else self._backend.contents.opened(as_operation(row))

    def list(self, work_item_id: str | None = None) -> RecordedOperations:
        """The operations of a work item, or of all, by their keys."""
        given = {}
        if work_item_id is not None:
            given["work_item_id"] = check_identifier("work_item_id", work_item_id)
        what = OF_WORK_ITEM if given else ALL
        with self._backend.store.reading(damaged=True) as cursor:
            rows = run(cursor, self._backend.store.dialect, what, given).fetchall()
        found = [as_operation(OperationRow(*row)) for row in rows]
        return self._backend.contents.opened(found)

    def safe_to_proceed(self, work_item_id: str) -> Blocking:
        """What stands in the way of going on with a work item; empty if nothing does.

        Returns:
            Each operation that isn't settled with a known effect, and why, by their keys.
        """
        given = {"work_item_id": check_identifier("work_item_id", work_item_id)}
        with self._backend.store.reading(damaged=True) as cursor:
            rows = run(cursor, self._backend.store.dialect, BLOCKING, given).fetchall()
        return [as_blocking(*row) for row in rows]
