"""The threads in which an `AsyncLedger` carries out its calls."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager
from contextvars import copy_context
from functools import partial
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from turnledger.asynchronous.lane import Lane, enter, lane_of
from turnledger.domain.errors import StoreError, StoreUnavailable
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.fair_lock import Errand
from turnledger.infrastructure.grouping import LONGEST_SECONDS

# Each has a connection of its own, and is started when the others are busy. PostgreSQL is fastest
# with 4 to 8. On SQLite they ask questions; commands go through one thread, many in a transaction.
MOST_THREADS = 8

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Call(Errand):
    """A command that was called, and what its caller awaits."""

    __slots__ = ("future",)

    def __init__(self, work: Callable[[], Any]) -> None:
        """Take what is to be done."""
        super().__init__(work)
        self.future: Future[Any] = Future()

    def give_answer(self) -> None:
        """Give what came of it to whoever awaits it."""
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


class Crew:
    """A few threads, started as they are needed.

    Attributes:
        backend: What they work on, once it is open.
    """

    backend: Backend

    def __init__(self) -> None:
        """Start none yet."""
        self._threads = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="turnledger")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="turnledger-writer")
        self._guard = Lock()
        self._calls: deque[Call] = deque()
        self._is_serving = False
        self._closing: Future[None] | None = None

    async def run(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Do some work in a thread, with the caller's context variables; see `ended`.

        Raises:
            StoreError: The ledger was closed.
        """
        self.check_open()
        return await ended(self._begun(partial(work, *args, **kwargs)))

    async def run_always(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Likewise; it isn't withdrawn if the waiting task is cancelled before it begins."""
        self.check_open()
        return await ended(self._begun(partial(work, *args, **kwargs)), always=True)

    def _begun(self, task: Callable[[], Result]) -> Future[Result]:
        lane = lane_of(self)
        if lane is not None:
            return lane.submit(task)
        return self._threads.submit(copy_context().run, task)

    async def command(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Carry out a command; on SQLite together with others that are called meanwhile.

        Raises:
            StoreError: The ledger was closed.
        """
        if self.backend.store.writer is None or lane_of(self) is not None:
            return await self.run(work, *args, **kwargs)
        self.check_open()
        call = Call(partial(work, *args, **kwargs))
        with self._guard:
            self._calls.append(call)
            idle, self._is_serving = not self._is_serving, True
        if idle:
            self._writer.submit(self._serve)
        return await ended(call.future)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[None]:
        """Carry out the calls of a block in one transaction."""
        self.check_open()
        lane = Lane(self, self.backend, lane_of(self))
        beginning = lane.begin()
        try:
            await ended(beginning, always=True)
            leave = enter(lane)
            try:
                yield
            finally:
                leave()
        except BaseException as error:
            await ended(lane.end(error), always=True)
            raise
        await ended(lane.end(None), always=True)

    def check_open(self) -> None:
        """Take no work for a ledger that was closed.

        Raises:
            StoreError: It was.
        """
        if self._closing is not None:
            raise closed(self.backend.store.url)

    def _serve(self) -> None:
        """Carry out what has been called, until there is nothing left."""
        while (call := self._next_call()) is not None:
            if self._calls:
                self._carry_out_together(call)
            else:
                call.carry_out(_just_do)
                call.give_answer()

    def _next_call(self) -> Call | None:
        """The next call that wasn't withdrawn; None if there is none."""
        with self._guard:
            while self._calls:
                call = self._calls.popleft()
                if call.future.set_running_or_notify_cancel():
                    return call
            self._is_serving = False
            return None

    def _carry_out_together(self, first: Call) -> None:
        """Carry out calls in one transaction; if that can't be, each in its own."""
        calls = [first]
        try:
            with self.backend.transaction() as around:
                end = steady() + LONGEST_SECONDS
                first.carry_out(around.lend)
                while steady() < end and (another := self._next_call()) is not None:
                    calls.append(another)
                    another.carry_out(around.lend)
        except BaseException as error:  # noqa: BLE001 - it is raised where the calls are awaited
            again = isinstance(error, StoreError) and not isinstance(error, StoreUnavailable)
            for call in calls:
                call.error = error
                if again:
                    call.carry_out(_just_do)
        for call in calls:
            call.give_answer()

    async def close(self, last: Callable[[], None]) -> None:
        """Take no more work, wait for what is under way, and do a last thing, once."""
        if self._closing is None:
            closer = ThreadPoolExecutor(1, thread_name_prefix="turnledger-closer")
            self._closing = closer.submit(self._close, last)
            closer.shutdown(wait=False)
        await ended(self._closing, always=True)

    def _close(self, last: Callable[[], None]) -> None:
        self._writer.shutdown()
        self._threads.shutdown()
        last()


def _just_do(work: Callable[[], Any]) -> Any:
    return work()


async def ended(work: Future[Result], *, always: bool = False) -> Result:
    """Wait for the end of a thread's work, also if the waiting task is cancelled.

    Work that hasn't begun by then is withdrawn. What has begun goes on to its end, and only then is
    the cancellation raised: nothing happens any more behind the back of whoever cancelled.

    Args:
        work: Is done in a thread.
        always: It isn't withdrawn.
    """
    result = asyncio.wrap_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not result.done():
        try:
            await asyncio.wait([result])
        except asyncio.CancelledError as error:
            if not always and work.cancel():
                raise
            cancelled = error
    if cancelled is not None:
        raise cancelled from result.exception()
    return result.result()


def closed(url: str) -> StoreError:
    """The error for whoever comes too late."""
    return StoreError(url, "the ledger was closed")
