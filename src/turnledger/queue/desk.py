"""What the parts of `ledger.queue` share: carrying out one command."""

from typing import Any

from turnledger.domain import thread_queue
from turnledger.domain.errors import QueuedTurnNotFound
from turnledger.domain.thread_queue import QueuedTurn
from turnledger.domain.thread_queue.commands import QueueCommand
from turnledger.infrastructure import queue_repository as repository
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.intake import Intake
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.queue_rows import as_queued_turn
from turnledger.infrastructure.statement import Cursor
from turnledger.infrastructure.unit_of_work import UnitOfWork

Outcome = tuple[thread_queue.Decision, repository.Loaded]  # what happened, on what was read


class QueueDesk:
    """Loads, decides and saves."""

    def __init__(self, backend: Backend) -> None:
        """Take what the ledger's services share."""
        self._backend = backend
        self._settings = backend.settings

    def _carry_out(
        self, unit: UnitOfWork, command: QueueCommand, origin: Origin | None = None
    ) -> Outcome:
        loaded = repository.load(unit, command)
        events = thread_queue.decide(loaded.state, command, loaded.context)
        if events:
            repository.save(unit, loaded, events, command, origin or self._backend.origin())
        return events, loaded

    def _done(self, command: QueueCommand) -> thread_queue.Decision:
        """Carry out one command in a transaction of its own."""
        return self._backend.transact(lambda unit: self._carry_out(unit, command)[0])

    def _find(self, cursor: Cursor, thread_id: str, queued_turn_id: str) -> QueuedTurn | None:
        row = repository.turn_row(cursor, self._backend.store.dialect, thread_id, queued_turn_id)
        return None if row is None else as_queued_turn(row)

    def _found(self, unit: UnitOfWork, thread_id: str, queued_turn_id: str) -> QueuedTurn:
        turn = self._find(unit.cursor, thread_id, queued_turn_id)
        if turn is None:
            raise QueuedTurnNotFound(thread_id, queued_turn_id)
        return turn

    def _intake(self, thread_id: str) -> Intake:
        return self._backend.contents.of_thread(thread_id)

    def _settled(self, thread_id: str, name: str, value: Any) -> tuple[Any, bool]:
        return self._intake(thread_id).settled(name, value, self._settings.max_result_bytes)
