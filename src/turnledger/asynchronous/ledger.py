"""The door for asyncio: `turnledger.open_async` and the ledger that it gives."""

import asyncio
import os
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import timedelta
from functools import partial
from typing import Any, Self

from turnledger.asynchronous.coordinating import AsyncCoordinator
from turnledger.asynchronous.crew import Crew
from turnledger.asynchronous.log import AsyncLog
from turnledger.asynchronous.operations import AsyncOperations
from turnledger.asynchronous.recovery import AsyncRecovery
from turnledger.asynchronous.services import (
    AsyncAttachments,
    AsyncInbox,
    AsyncQueue,
    AsyncRuns,
    AsyncThreads,
    AsyncTimers,
)
from turnledger.asynchronous.turns import AsyncTurns
from turnledger.asynchronous.twin import Twin, awaited
from turnledger.asynchronous.watch import Watch, WorkWatch
from turnledger.claiming import MINUTE, Seconds
from turnledger.domain.duration import check_duration
from turnledger.domain.redactor import Redactor
from turnledger.domain.settings import Settings
from turnledger.door import attachment_folder, open_backend
from turnledger.infrastructure.attachment_folder import AttachmentFolder
from turnledger.infrastructure.backend import Backend, Observer
from turnledger.infrastructure.clock import Clock
from turnledger.ledger import Ledger, seconds
from turnledger.past import At, past_of
from turnledger.turns.working import GRACE


class AsyncLedger(Twin[Ledger]):
    """An open ledger for asyncio: the names of `Ledger`, awaited. An async context manager.

    Each call is a whole command, carried out in one of a few threads of the ledger's own; on SQLite
    those that are called at the same time share a transaction. If a task is cancelled while it
    awaits one, the command is withdrawn if it hadn't begun; else it goes on to its end, and the
    cancellation is raised then. So there is never half a command, and none goes on behind the
    task's back. Claims that a cancelled task was given are over with their lease, or by
    `queue.recover(owner=…)`. A cancelled wait for a change ends at once.

    Attributes:
        queue: The queue of each thread.
        inbox: The messages from outside for each thread.
        timers: Prompts for threads at a later time.
        coordinator: The turns of coordinators on work items, and their provider turns.
        attachments: The files that those were begun with.
        runs: The leases under which operations are executed.
        operations: External effects that must not happen twice.
        recovery: The scan for what nobody answers for any more.
        threads: The life of each thread.
        log: Every event, in the order of its position.
        settings: What it was opened with.
    """

    def __init__(
        self, backend: Backend, crew: Crew, attachments: AttachmentFolder | None = None
    ) -> None:
        """Take what its services share, and who works for them; `turnledger.open_async` does."""
        ledger = Ledger(backend, attachments)
        crew.backend = self._backend = backend
        self._folder = attachments
        super().__init__(ledger, crew)
        self._watch = Watch(backend.store)
        self._work_watch = WorkWatch(backend.store)
        self.settings = ledger.settings
        self.queue = AsyncQueue(ledger.queue, crew)
        self.inbox = AsyncInbox(ledger.inbox, crew)
        self.timers = AsyncTimers(ledger.timers, crew)
        self.coordinator = AsyncCoordinator(ledger.coordinator, crew)
        self.attachments = AsyncAttachments(ledger.attachments, crew)
        self.runs = AsyncRuns(ledger.runs, crew)
        self.operations = AsyncOperations(ledger.operations, crew)
        self.recovery = AsyncRecovery(ledger.recovery, crew)
        self.threads = AsyncThreads(ledger.threads, crew)
        self.log = AsyncLog(ledger.log, crew, self._watch)

    @property
    def ledger_id(self) -> str:
        """See `Ledger.ledger_id`."""
        return self._service.ledger_id

    @property
    def generation(self) -> str:
        """See `Ledger.generation`."""
        return self._service.generation

    @property
    def is_bundle(self) -> bool:
        """See `Ledger.is_bundle`."""
        return self._service.is_bundle

    def acting_as(
        self,
        actor: str | None = None,
        correlation_id: str | None = None,
        causation_id: str | None = None,
    ) -> AbstractContextManager[None]:
        """See `Ledger.acting_as`: a plain `with`. Tasks that are made in the block act so, too."""
        return self._service.acting_as(actor, correlation_id, causation_id)

    def transaction(self) -> AbstractAsyncContextManager[None]:
        """See `Ledger.transaction`: an `async with`. It has a thread of its own meanwhile.

        Tasks that are made in the block take part in it; their calls come one after the other.
        """
        return self._crew.transaction()

    def turns(  # noqa: PLR0913 - as Ledger's
        self,
        owner: str | None = None,
        *,
        lease: Seconds = MINUTE,
        limit: int = 1,
        once: bool = False,
        stop_on: int | None = None,
        grace: Seconds = GRACE,
    ) -> AsyncTurns:
        """See `Ledger.turns`: an `async for`, and each turn an `async with`.

        A lost claim cancels the body; `ClaimLost` comes out of its `async with`. After the grace
        period the bodies are cancelled, too, and their blocks end.
        """
        turns = self._service.turns(owner, lease=lease, limit=limit, once=once)
        made = AsyncTurns(turns.plan, self.queue, self._crew, self._work_watch)
        if stop_on is not None:
            made.stop_on(stop_on, check_duration("grace", grace, self.settings.max_lease))
        return made

    why = awaited(Ledger.why)
    history = awaited(Ledger.history)

    def as_of(
        self, at: At, *, thread_id: str | None = None, work_item_id: str | None = None
    ) -> "Opening":
        """See `Ledger.as_of`: an `async with`, or `await` it. It gives an `AsyncLedger`."""
        names = {"thread_id": thread_id, "work_item_id": work_item_id}
        log, folder = self._service.log, self._folder
        return Opening(lambda: past_of(self._backend, log, at, **names).backend, lambda: folder)

    verify = awaited(Ledger.verify)
    rebuild = awaited(Ledger.rebuild)
    replay = awaited(Ledger.replay)
    doctor = awaited(Ledger.doctor)
    backup = awaited(Ledger.backup)
    checkpoint = awaited(Ledger.checkpoint)
    check = awaited(Ledger.check)
    check_all = awaited(Ledger.check_all)
    prove = awaited(Ledger.prove)
    bundle = awaited(Ledger.bundle)
    export = awaited(Ledger.export)
    gauges = awaited(Ledger.gauges)
    purge = awaited(Ledger.purge)
    stats = awaited(Ledger.stats)
    flow = awaited(Ledger.flow)
    plot = awaited(Ledger.plot)

    def observe(self, observer: Observer | None) -> None:
        """See `Ledger.observe`."""
        self._service.observe(observer)

    async def wait_for_change(
        self,
        since: int,
        timeout: float | timedelta,  # noqa: ASYNC109 - as Ledger's
    ) -> int:
        """See `Ledger.wait_for_change`. The time-out is by the event loop's clock."""
        try:
            async with asyncio.timeout(seconds(timeout)):
                return await self._watch.change(since)
        except TimeoutError:
            return await self._crew.run(self._service.wait_for_change, since, 0)

    async def close(self) -> None:
        """Take no more commands, wait for those under way, and close the connections."""
        await self.recovery.stop()
        self._watch.end()
        self._work_watch.end()
        await self._crew.close(self._close)

    def _close(self) -> None:
        self._service.close()
        self._watch.join()
        self._work_watch.join()

    async def __aenter__(self) -> Self:
        """The ledger itself."""
        return self

    async def __aexit__(self, *_error: object) -> None:
        """Close it."""
        await self.close()


class Opening:
    """What `open_async` gives: `await` it, or enter it with `async with`."""

    def __init__(
        self, door: Callable[[], Backend], folder: Callable[[], AttachmentFolder | None]
    ) -> None:
        """Take what opens the ledger, and what says where its attachments lie."""
        self._door = door
        self._folder = folder
        self._ledger: AsyncLedger | None = None

    def __await__(self) -> Generator[Any, None, AsyncLedger]:
        """Open it."""
        return self._open().__await__()

    async def __aenter__(self) -> AsyncLedger:
        """Open it."""
        self._ledger = await self
        return self._ledger

    async def __aexit__(self, *_error: object) -> None:
        """Close it."""
        if self._ledger is not None:
            await self._ledger.close()

    async def _open(self) -> AsyncLedger:
        crew, opened = Crew(), list[Backend]()
        try:
            await crew.run(lambda: opened.append(self._door()))
        except BaseException:  # a task that is cancelled meanwhile leaves nothing open
            await crew.close(lambda: _close(opened))
            raise
        return AsyncLedger(opened[0], crew, self._folder())


def _close(opened: list[Backend]) -> None:
    for backend in opened:
        backend.close()


def open_async(  # noqa: PLR0913 - all that can be said of a ledger
    url_or_path: str | os.PathLike[str],
    *,
    clock: Clock | None = None,
    settings: Settings | None = None,
    attachments: str | os.PathLike[str] | None = None,
    read_only: bool = False,
    encrypt: bool = False,
    redact: Redactor | None = None,
) -> Opening:
    """Open a ledger for asyncio; make it if it isn't there. See `turnledger.open`.

    Either `async with turnledger.open_async(…) as ledger:`, which closes it at the end, or
    `ledger = await turnledger.open_async(…)`.
    """
    return Opening(
        partial(
            open_backend,
            url_or_path,
            clock=clock,
            settings=settings,
            read_only=read_only,
            encrypt=encrypt,
            redact=redact,
        ),
        partial(attachment_folder, url_or_path, attachments),
    )
