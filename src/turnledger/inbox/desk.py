"""What the parts of `ledger.inbox` share: carrying out one command."""

from collections.abc import Sequence
from typing import get_args

from turnledger.domain.errors import InvalidPayload
from turnledger.domain.event import Event
from turnledger.domain.inbox import RecoveryMode
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


def check_mode(name: str, mode: object) -> None:
    """Refuse what is no way of recovering messages.

    Raises:
        InvalidPayload: It is none.
    """
    if mode not in get_args(RecoveryMode):
        raise InvalidPayload(name, f"must be 'at_most_once' or 'at_least_once', not {mode!r}")
