"""What the parts of `ledger.inbox` share: carrying out one command."""

from collections.abc import Sequence

from turnledger.domain.event import Event
from turnledger.domain.inbox.commands import InboxCommand
from turnledger.infrastructure import inbox_repository as repository
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.unit_of_work import UnitOfWork


class InboxDesk:
    """Loads, decides and saves."""

    def __init__(self, backend: Backend) -> None:
        """Take what the ledger's services share."""
        self._backend = backend
        self._settings = backend.settings

    def _done(self, command: InboxCommand) -> Sequence[Event]:
        """Carry out one command in a transaction of its own."""

        def work(unit: UnitOfWork) -> Sequence[Event]:
            return repository.carry_out(unit, command, self._backend.origin())[0]

        return self._backend.transact(work, several=True)
