"""The threads in which an `AsyncLedger` carries out its commands."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

from turnledger.domain.errors import StoreError

# Each has a connection of its own, and is started when the others are busy. PostgreSQL is fastest
# with 4 to 8. SQLite has one writer, whatever their number; the rest of them read meanwhile.
MOST_THREADS = 8

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Crew:
    """A few threads, started as they are needed.

    Attributes:
        url: The ledger's, for messages.
    """

    def __init__(self, url: str = "") -> None:
        """Start none yet."""
        self.url = url
        self._threads = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="turnledger")
        self._closing: Future[None] | None = None

    async def run(
        self, work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        """Do some work in a thread, with the caller's context variables; see `ended`.

        Raises:
            StoreError: The ledger was closed.
        """
        if self._closing is not None:
            raise closed(self.url)
        task = partial(work, *args, **kwargs)
        return await ended(self._threads.submit(copy_context().run, task))

    async def close(self, last: Callable[[], None]) -> None:
        """Take no more work, wait for what is under way, and do a last thing, once."""
        if self._closing is None:
            closer = ThreadPoolExecutor(1, thread_name_prefix="turnledger-closer")
            self._closing = closer.submit(self._close, last)
            closer.shutdown(wait=False)
        await ended(self._closing, always=True)

    def _close(self, last: Callable[[], None]) -> None:
        self._threads.shutdown()
        last()


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
