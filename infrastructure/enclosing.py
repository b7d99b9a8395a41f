"""A transaction around several commands of one thread, which are part of it."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import get_ident
from typing import Any, TypeVar

from turnledger.infrastructure.conflict import Conflict, Patience
from turnledger.infrastructure.unit_of_work import UnitOfWork

Result = TypeVar("Result")

_PATIENCE_SECONDS = 5.0  # with those who are first, again and again, on PostgreSQL


class Enclosing:
    """A transaction under way.

    Attributes:
        unit: Its unit of work.
        evidence: What was done in it that must stay, also if it is undone.
    """

    def __init__(self, ledger: object, unit: UnitOfWork, url: str) -> None:
        """Take what it belongs to, and the unit of work."""
        self.ledger = ledger
        self.thread = get_ident()
        self.unit = unit
        self._url = url
        self.evidence: list[Callable[[UnitOfWork], Any]] = []

    @contextmanager
    def open(self) -> Generator[None]:
        """Let the commands of a block be part of it.

        Raises:
            Conflict: It is lost, whatever the block made of that.
        """
        token = _open.set((*_open.get(), self))
        try:
            yield
        finally:
            _open.reset(token)
        if self.unit.lost:
            raise Conflict("an error has ended it")

    def lend(self, call: Callable[[], Result]) -> Result:
        """Make a call, in whatever context: its commands are part of it."""
        with self.open():
            return call()

    def carry_out(self, work: Callable[[UnitOfWork], Result]) -> Result:
        """Do some work as a part of it, which is undone alone if it raises."""
        patience: Patience | None = None
        while True:
            try:
                with self.unit.joined() as part:
                    return work(part)
            except Conflict as conflict:
                patience = patience or Patience(_PATIENCE_SECONDS)
                patience.wait(self._url, conflict)


_open: ContextVar[tuple[Enclosing, ...]] = ContextVar("transactions", default=())


def enclosing(ledger: object) -> Enclosing | None:
    """The innermost transaction on a ledger around this thread's next command."""
    for found in reversed(_open.get()):
        if found.ledger is ledger and found.thread == get_ident():
            return found
    return None
