"""The twin of `ledger.recovery`: the scans run as a task."""

import asyncio

from turnledger.asynchronous.crew import Crew
from turnledger.asynchronous.twin import Twin, awaited
from turnledger.claiming import Seconds
from turnledger.domain.inbox import RecoveryMode
from turnledger.inbox.desk import check_mode
from turnledger.recovery import Pace, Recovery


class AsyncRecovery(Twin[Recovery]):
    """The scans of `ledger.recovery`, awaited; see `Recovery`."""

    def __init__(self, service: Recovery, crew: Crew) -> None:
        """Take the service, and who works for it."""
        super().__init__(service, crew)
        self._task: asyncio.Task[None] | None = None

    run_once = awaited(Recovery.run_once)

    async def start(
        self, every: Seconds = 2.0, *, inbox_mode: RecoveryMode = "at_most_once"
    ) -> None:
        """See `Recovery.start`: here it is a task of the running loop."""
        pace = Pace(every)
        check_mode("inbox_mode", inbox_mode)
        self._crew.check_open()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._scan(pace, inbox_mode))

    async def stop(self) -> None:
        """See `Recovery.stop`."""
        task, self._task = self._task, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])

    async def _scan(self, pace: Pace, inbox_mode: RecoveryMode) -> None:
        while True:
            try:
                await self.run_once(inbox_mode=inbox_mode)
            except Exception as error:  # noqa: BLE001 - whatever it is, the next scan may succeed
                pause = pace.failed(error)
            else:
                pause = pace.succeeded()
            await asyncio.sleep(pause)
