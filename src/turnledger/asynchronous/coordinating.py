"""The twin of `ledger.coordinator`."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from turnledger.asynchronous.services import AsyncCoordinatorCommands
from turnledger.claiming import MINUTE, Seconds
from turnledger.coordinator.working import Call, Dispatch, MakeRequest, Use

if TYPE_CHECKING:
    from concurrent.futures import Future


class AsyncCoordinator(AsyncCoordinatorCommands):
    """The commands and queries of `ledger.coordinator`, awaited; see `Coordinator`."""

    async def work(  # noqa: PLR0913 - as Coordinator's
        self,
        request: MakeRequest,
        call: Call,
        *,
        use: Use | None = None,
        owner: str | None = None,
        lease: Seconds = MINUTE,
        once: bool = False,
        stopped: threading.Event | None = None,
    ) -> int:
        """See `Coordinator.work`. What the functions return is awaited, if it can be.

        The function that records the dispatch is awaited: `await dispatch()`. Cancelling this
        cancels the function that runs; what is known is recorded. One call answers one turn at a
        time: let several run for more.
        """
        self._crew.check_open()
        bridge = _Bridge(asyncio.get_running_loop())
        ended = stopped or threading.Event()
        given: dict[str, Any] = {"owner": owner, "lease": lease, "once": once, "stopped": ended}
        if use is not None:
            given["use"] = partial(bridge.called, use)
        work = partial(
            self._service.work, partial(bridge.called, request), partial(bridge.sent, call), **given
        )
        working = asyncio.ensure_future(asyncio.to_thread(work))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            ended.set()
            bridge.cancel()
            await asyncio.wait([working])
            raise


class _Bridge:
    """Lets a thread wait for functions that run in an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take the loop."""
        self._loop = loop
        self._running: Future[Any] | None = None

    def called(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function in the loop, from the thread; returns what it returned, awaited."""
        self._running = asyncio.run_coroutine_threadsafe(_awaited(function, *args), self._loop)
        return self._running.result()

    def sent(self, call: Call, request: Any, dispatch: Dispatch) -> Any:
        """Likewise a call to a provider: its dispatch is recorded in a thread, too."""
        return self.called(call, request, partial(asyncio.to_thread, dispatch))

    def cancel(self) -> None:
        """Cancel the function that runs."""
        if self._running is not None:
            self._running.cancel()


async def _awaited(function: Callable[..., Any], *args: Any) -> Any:
    result = function(*args)
    return await result if inspect.isawaitable(result) else result
