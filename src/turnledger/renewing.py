"""Keeping claims: one thread renews the leases of all that is in hand."""

import logging
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from turnledger.domain.errors import LedgerError, Refusal
from turnledger.infrastructure.clock import steady

_log = logging.getLogger("turnledger.turns")

_PARTS = 3  # of a lease: it is renewed when one of them is over
_AGAIN = 30  # likewise: a renewal that the store refused is tried again then
_LONGEST_WAIT = 3_600.0

_BATCH = 50  # in one transaction

Renew = Callable[[Any, float], Any]
Block = Callable[[], AbstractContextManager[Any]]


class Kept(Protocol):
    """Something claimed whose lease is renewed.

    Attributes:
        claim: As it was given out.
        lease_seconds: For how long, each time.
    """

    claim: Any
    lease_seconds: float

    @property
    def name(self) -> str:
        """What it is, for messages, and in which order several are renewed."""
        ...

    @property
    def is_settled(self) -> bool:
        """Whether nothing is to be renewed any more."""
        ...

    def lost(self, reason: str) -> None:
        """The claim is lost."""
        ...

    def renewed(self, at: float) -> None:
        """It was renewed at a time of the steady clock."""
        ...

    def not_renewed(self, now: float) -> None:
        """The store said no."""
        ...


class Renewer:
    """Renews what it is told to keep, from a thread that is started for the first one.

    It holds turns weakly: one that nobody holds any more isn't kept, and its lease ends.
    """

    def __init__(self, renew: Renew, transaction: Block) -> None:
        """Take what renews a claim for so many seconds, and a block that commits several."""
        self._renew = renew
        self._transaction = transaction
        self._due: weakref.WeakKeyDictionary[Kept, float] = weakref.WeakKeyDictionary()
        self._guard = threading.Condition()
        self._thread: threading.Thread | None = None
        self._ended = False

    def keep(self, turn: Kept) -> None:
        """Renew a turn's lease from now on."""
        with self._guard:
            self._due[turn] = steady() + turn.lease_seconds / _PARTS
            if self._thread is None and not self._ended:
                self._thread = threading.Thread(
                    target=self._run, name="turnledger-renewer", daemon=True
                )
                self._thread.start()
            self._guard.notify()

    def drop(self, turn: Kept) -> None:
        """Renew it no more."""
        with self._guard:
            self._due.pop(turn, None)

    def keeps(self, turn: Kept) -> bool:
        """Whether it renews a turn's lease."""
        with self._guard:
            return turn in self._due

    def end(self) -> None:
        """Renew nothing any more."""
        with self._guard:
            self._ended = True
            self._guard.notify()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while (due := self._next()) is not None:
            due.sort(key=lambda turn: turn.name)
            for first in range(0, len(due), _BATCH):
                self._renew_together(due[first : first + _BATCH])
            del due  # and hold none while it waits

    def _next(self) -> list[Kept] | None:
        """Wait for the turns whose time has come; None at the end."""
        with self._guard:
            while not self._ended:
                now = steady()
                due = [turn for turn, at in self._due.items() if at <= now]
                if due:
                    return due
                first = min(self._due.values(), default=now + _LONGEST_WAIT)
                self._guard.wait(min(first - now, _LONGEST_WAIT))
        return None

    def _renew_together(self, turns: list[Kept]) -> None:
        """Renew several leases in one transaction; if that can't be, each in its own."""
        at = steady()
        answers: list[tuple[Kept, LedgerError | None]] = []
        try:
            with self._transaction() if len(turns) > 1 else nullcontext():
                answers += [(turn, self._renewed(turn)) for turn in turns]
        except LedgerError as error:
            if len(turns) == 1:
                answers = [(turns[0], error)]
            else:
                for turn in turns:
                    self._renew_together([turn])
                return
        for turn, failure in answers:
            self._answered(turn, at, failure)

    def _renewed(self, turn: Kept) -> LedgerError | None:
        """Renew one; returns why it was refused. Whatever else goes wrong is raised."""
        try:
            if not turn.is_settled:
                self._renew(turn.claim, turn.lease_seconds)
        except Refusal as error:
            return error
        return None

    def _answered(self, turn: Kept, at: float, failure: LedgerError | None) -> None:
        if failure is None:
            turn.renewed(at)
            self._again(turn, at + turn.lease_seconds / _PARTS)
        elif isinstance(failure, Refusal):
            self.drop(turn)
            turn.lost(str(failure.facts.get("reason", failure)))
        else:
            _log.warning("%s wasn't renewed: %s", turn.name, failure)
            turn.not_renewed(steady())
            self._again(turn, steady() + turn.lease_seconds / _AGAIN)

    def _again(self, turn: Kept, at: float) -> None:
        with self._guard:
            if turn in self._due:
                self._due[turn] = at
