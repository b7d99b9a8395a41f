"""A transaction around several commands of one thread, which are part of it."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from threading import get_ident
from typing import Any, TypeVar

from turnledger.infrastructure.conflict import Conflict, Patience
from turnledger.infrastructure.statement import SQLITE
from turnledger.infrastructure.unit_of_work import UnitOfWork

Result = TypeVar("Result")
Work = Callable[[UnitOfWork], Any]

_PATIENCE_SECONDS = 5.0  # with those who are first, again and again, on PostgreSQL


class Enclosing:
    """A transaction under way.

    Attributes:
        unit: Its unit of work.
        evidence: What was done in it that must stay, also if it is undone; each with the context
            variables of whoever did it.
    """

    def __init__(self, ledger: object, unit: UnitOfWork, url: str) -> None:
        """Take what it belongs to, and the unit of work."""
        self._ledger = ledger
        self._place = (get_ident(), os.getpid())
        self._ended = False
        self._url = url
        self.unit = unit
        self.evidence: list[tuple[Context, Work]] = []

    @contextmanager
    def open(self) -> Generator[None]:
        """Let the commands of a block be part of it."""
        token = _open.set((*_open.get(), self))
        try:
            yield
        finally:
            _open.reset(token)

    def end(self) -> None:
        """Let no command be part of it any more, in whatever context it is given."""
        self._ended = True

    def lend(self, call: Callable[[], Result]) -> Result:
        """Make a call, in whatever context: its commands are part of it."""
        with self.open():
            return call()

    def carry_out(self, work: Callable[[UnitOfWork], Result], *, several: bool) -> Result:
        """Do some work as a part of it, which is undone alone if it raises.

        Args:
            work: What is to be done.
            several: It changes more than one stream.
        """
        savepoint = several or self.unit.dialect == SQLITE  # elsewhere it costs a journey
        patience: Patience | None = None
        while True:
            try:
                with self.unit.joined(savepoint=savepoint) as part:
                    return work(part)
            except Conflict as conflict:
                if self.unit.lost is not None:
                    raise self.unit.lost from conflict
                patience = patience or Patience(_PATIENCE_SECONDS)
                patience.wait(self._url, conflict)

    def note(self, evidence: Work) -> None:
        """Note what must stay, with the context variables of now."""
        self.evidence.append((copy_context(), evidence))

    def surrounds(self, ledger: object) -> bool:
        """Whether this thread's next command on a ledger would be part of it."""
        is_here = self._place == (get_ident(), os.getpid())
        return self._ledger is ledger and is_here and not self._ended


_open: ContextVar[tuple[Enclosing, ...]] = ContextVar("transactions", default=())


def enclosing(ledger: object) -> Enclosing | None:
    """The innermost transaction on a ledger around this thread's next command."""
    return next((one for one in reversed(_open.get()) if one.surrounds(ledger)), None)
