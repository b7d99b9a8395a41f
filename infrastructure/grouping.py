"""Group commit on SQLite: commands that come at the same time share a transaction.

A commit costs a wait for the disk, whatever is in it. The thread that has the writer's lock does
the errands of those who wait for it as well, each undone alone if it is refused, and they go on
once all of it is committed. Who finds the lock free waits for nobody.
"""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from turnledger.domain.errors import StoreError, StoreUnavailable
from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.fair_lock import Errand, FairLock
from turnledger.infrastructure.unit_of_work import UnitOfWork

Result = TypeVar("Result")
Work = Callable[[UnitOfWork], Any]

LONGEST_SECONDS = 0.02  # after so long no more errands are taken into a transaction


class Grouping:
    """Carries out work in units of work that several threads may share."""

    def __init__(self, new_unit: Callable[[], UnitOfWork], url: str, patience: float) -> None:
        """Take the way to make a unit of work, the store's URL, and how many seconds to wait."""
        self._new_unit = new_unit
        self._url = url
        self._patience = patience

    def carry_out(
        self,
        writer: FairLock,
        work: Callable[[UnitOfWork], Result],
        *,
        several: bool,
    ) -> Result:
        """Do some work: all of it is committed at the end, or nothing.

        Args:
            writer: The lock of this process's writers.
            work: It is done by another thread, if that one has the lock.
            several: It changes more than one stream.

        Raises:
            StoreError: The database says no, or the lock wasn't to be had.
        """
        if not writer.is_taken:
            return self._lead(writer, work)
        errand = Errand(partial(_joined, several, work))
        try:
            if not writer.acquire(self._patience, errand):
                raise StoreUnavailable(self._url, "its other threads write without a break")
            if errand.done:
                answer: Result = errand.answer()
                return answer
            return self._alone(work) if errand.taken else self._lead(writer, work)
        finally:
            writer.release()  # if it was handed over, and an interruption came in between

    def _alone(self, work: Callable[[UnitOfWork], Result]) -> Result:
        with self._new_unit() as unit:
            return work(unit)

    def _lead(self, writer: FairLock, work: Callable[[UnitOfWork], Result]) -> Result:
        """Do the work, and the errands of those who wait meanwhile."""
        errands: list[Errand] = []
        done = False
        try:
            with self._new_unit() as unit:
                result = work(unit)
                if writer.is_wanted and not _may_be_interrupted():
                    _do_errands(writer, unit, errands)
            done = True
        except StoreError as error:
            if not errands or isinstance(error, StoreUnavailable):
                raise
        else:
            return result
        finally:
            for errand in errands:
                errand.settle(done=done)
        return self._alone(work)


def _joined(several: bool, work: Work, unit: UnitOfWork) -> Any:  # noqa: FBT001
    """Do a thread's work in another one's unit."""
    with unit.joined(savepoint=several) as part:
        return work(part)


def _do_errands(writer: FairLock, unit: UnitOfWork, errands: list[Errand]) -> None:
    end = steady() + LONGEST_SECONDS
    while unit.lost is None and steady() < end:
        errand = writer.take_errand()
        if errand is None:
            return
        errands.append(errand)
        errand.carry_out(lambda work: work(unit))


def _may_be_interrupted() -> bool:
    """Whether a signal handler may raise here: between a commit and its answer, say."""
    return threading.get_ident() == threading.main_thread().ident
