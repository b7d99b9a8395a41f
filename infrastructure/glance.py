"""A snapshot of the database, for questions that take more than one query."""

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from turnledger.infrastructure.unit_of_work import UnitOfWork


class Glance(UnitOfWork):
    """A snapshot, for questions that take more than one query. Nothing can be saved in it."""

    __slots__ = ("_open",)

    def __enter__(self) -> Self:
        """Begin."""
        with ExitStack() as opened:
            self.cursor = opened.enter_context(self._store.reading(snapshot=True, damaged=True))
            self._read_host_clock()
            self._open = opened.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""
        self._open.__exit__(kind, error, trace)
