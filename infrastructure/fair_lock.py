"""A lock that is handed on in the order of asking, and whose owner can do others' errands.

SQLite has one writer. If threads of one process asked the database for it, they would poll, and
the unlucky ones wait for a second (measured: 550 to 1,090 ms with four writers, 86 ms with this).
"""

from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from threading import Lock, get_ident
from typing import Any


class Errand:
    """Work for which a thread waits, done by whoever has the lock.

    Attributes:
        taken: Its thread gets an answer, and not the lock.
        done: It was done, and what it did stands; else its thread does it itself.
        result: What came of it.
        error: What it raised.
    """

    __slots__ = ("_context", "_work", "done", "error", "result", "taken", "turn")

    def __init__(self, work: Callable[..., Any]) -> None:
        """Take the work, and the caller's context variables."""
        self._work = work
        self._context = copy_context()
        self.turn = Lock()  # its thread waits for it
        self.turn.acquire()
        self.taken = self.done = False
        self.result: Any = None
        self.error: BaseException | None = None

    def carry_out(self, how: Callable[[Callable[..., Any]], Any]) -> None:
        """Do the work, and keep what comes of it until it is settled.

        Args:
            how: Gives the work what it needs.
        """
        self.result = self.error = None
        try:
            self.result = self._context.run(how, self._work)
        except BaseException as error:  # noqa: BLE001 - it is raised in the errand's own thread
            self.error = error

    def settle(self, *, done: bool) -> None:
        """Let its thread go on."""
        self.done = done
        self.turn.release()

    def answer(self) -> Any:
        """What came of it, for its own thread."""
        if self.error is not None:
            raise self.error
        return self.result


class FairLock:
    """First come, first served."""

    def __init__(self) -> None:
        """Make a free lock."""
        self._guard = Lock()
        self._waiting: deque[tuple[Lock, int, Errand | None]] = deque()
        self._owner: int | None = None

    @property
    def is_taken(self) -> bool:
        """Whether another thread has it."""
        return self._owner is not None and self._owner != get_ident()

    @property
    def is_wanted(self) -> bool:
        """Whether another thread waits for it."""
        return bool(self._waiting)

    def acquire(self, timeout: float, errand: Errand | None = None) -> bool:
        """Wait for the lock for at most a time in seconds.

        Args:
            timeout: It counts until an errand is taken, not until it is done.
            errand: What the caller wants the lock for; its owner may do it meanwhile.

        Returns:
            Whether the caller has it now; or its errand was taken, and is settled.
        """
        me = get_ident()
        turn = Lock() if errand is None else errand.turn
        place = (turn, me, errand)
        try:
            with self._guard:
                if self._owner is None or self._owner == me:  # a signal cut a release short
                    self._owner = me
                    return True
                if any(thread == me for _, thread, _ in self._waiting):
                    return False  # a signal handler asks, in the middle of asking
                if errand is None:
                    turn.acquire()
                self._waiting.append(place)
            if turn.acquire(timeout=timeout):
                return True
        except BaseException:
            self._give_up(place)
            raise
        if not self._give_up(place):
            return False
        return errand is None or not errand.taken or turn.acquire()

    def release(self) -> None:
        """Hand the lock to the one that has waited longest."""
        with self._guard:
            if self._owner == get_ident():
                self._owner = None
                if self._waiting:
                    turn, self._owner, _ = self._waiting.popleft()
                    turn.release()

    def take_errand(self) -> Errand | None:
        """The errand of the one that has waited longest, for the lock's owner to do.

        None if nobody waits, or if the next one wants the lock itself.
        """
        with self._guard:
            if not self._waiting:
                return None
            errand = self._waiting[0][2]
            if errand is not None:
                self._waiting.popleft()
                errand.taken = True
            return errand

    def _give_up(self, place: tuple[Lock, int, Errand | None]) -> bool:
        """Leave the queue; or keep the lock, if it was handed over just now."""
        with self._guard:
            if place in self._waiting:
                self._waiting.remove(place)
                return False
            return True
