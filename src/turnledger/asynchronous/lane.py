"""A transaction of an `AsyncLedger`: a thread of its own for as long as a block lasts."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any

from turnledger.domain.errors import StoreError
from turnledger.infrastructure.backend import Backend

if TYPE_CHECKING:
    from turnledger.infrastructure.enclosing import Enclosing


class Lane:
    """Carries out the calls of a block, one after the other, in one transaction.

    Attributes:
        owner: Whose calls.
        thread: What carries them out.
        around: The transaction, while it is under way.
    """

    def __init__(self, owner: object, backend: Backend, outer: "Lane | None") -> None:
        """Take whose calls it carries out, where, and the transaction of which it is a part."""
        self.owner = owner
        self._outer = outer
        self._url = backend.store.url
        self.thread: ThreadPoolExecutor = _new_thread() if outer is None else outer.thread
        self._context = copy_context()
        self._block = backend.transaction()
        self.around: Enclosing | None = None

    def begin(self) -> Future[None]:
        """Begin the transaction.

        Raises:
            StoreError: The one around it has ended.
        """
        if self._outer is not None and self._outer.around is None:
            raise self._over()
        return self.thread.submit(self._context.run, self._begin)

    def submit(self, work: Callable[[], Any]) -> Future[Any]:
        """Carry out a call, with the caller's context variables.

        Raises:
            StoreError: The block has ended: a task that it started goes on.
        """
        if self.around is None:
            raise self._over()
        return self.thread.submit(copy_context().run, self.around.lend, work)

    def end(self, error: BaseException | None) -> Future[None]:
        """Commit; or roll back, if something was raised."""
        ending = self.thread.submit(self._context.run, self._end, error)
        if self._outer is None:
            self.thread.shutdown(wait=False)
        return ending

    def _over(self) -> StoreError:
        return StoreError(self._url, "the transaction around this call is over")

    def _begin(self) -> None:
        outer = None if self._outer is None else self._outer.around
        enter = self._block.__enter__
        self.around = enter() if outer is None else outer.lend(enter)

    def _end(self, error: BaseException | None) -> None:
        around, self.around = self.around, None
        if around is None:
            return
        if error is None:
            self._block.__exit__(None, None, None)
        else:
            self._block.__exit__(type(error), error, error.__traceback__)


def _new_thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="turnledger-transaction")


_lanes: ContextVar[tuple[Lane, ...]] = ContextVar("lanes", default=())


def enter(lane: Lane) -> Callable[[], None]:
    """Let the calls of this task, and of those that it starts, go there until what comes back."""
    token = _lanes.set((*_lanes.get(), lane))
    return lambda: _lanes.reset(token)


def lane_of(owner: object) -> Lane | None:
    """The innermost transaction of an `AsyncLedger` around this task's next call."""
    return next((lane for lane in reversed(_lanes.get()) if lane.owner is owner), None)
