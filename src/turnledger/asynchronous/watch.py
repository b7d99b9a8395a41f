"""Waiting for a change: one thread waits for all the tasks that do."""

import asyncio
from concurrent.futures import Future
from threading import Condition, Thread

from turnledger.asynchronous.crew import closed
from turnledger.infrastructure.statement import POSTGRESQL, SQLITE
from turnledger.infrastructure.store import Store

# So long the store is watched before the thread looks whether anybody still waits. On PostgreSQL
# every such look is a few journeys to the server.
_LOOK_SECONDS = {SQLITE: 0.25, POSTGRESQL: 5.0}
_NOWHERE = -1  # before every position, and that of an empty log


class Watch:
    """Tells tasks of changes, from a thread that is started when the first one waits."""

    _NAME = "turnledger-watch"

    def __init__(self, store: Store) -> None:
        """Take the store, which is closed between `end` and `join`: that ends a wait in it."""
        self._store = store
        self._position = _NOWHERE  # of the last event that was seen
        self._waiting: dict[Future[int], int] = {}  # each behind the position that it knows
        self._guard = Condition()
        self._thread: Thread | None = None
        self._ended = False

    async def change(self, since: int) -> int:
        """Wait until there is an event behind a position. A task may be cancelled in it at once.

        Returns:
            The last position.

        Raises:
            StoreError: The database says no, or the ledger was closed.
        """
        future: Future[int] = Future()
        since = max(since, _NOWHERE)
        with self._guard:
            if self._ended:
                raise closed(self._store.url)
            if self._position > since:
                return self._position
            self._waiting[future] = since
            if self._thread is None:
                self._thread = Thread(target=self._run, name=self._NAME, daemon=True)
                self._thread.start()
            self._guard.notify()
        try:
            return await asyncio.wrap_future(future)
        finally:
            with self._guard:
                self._waiting.pop(future, None)

    def end(self) -> None:
        """Let nobody wait any more."""
        with self._guard:
            self._ended = True
            self._guard.notify()
        self._fail(closed(self._store.url))

    def join(self) -> None:
        """Wait for the thread."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        look = _LOOK_SECONDS[self._store.dialect]
        while self._wanted():
            try:
                self._tell(self._look(look))
            except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must hear it
                self._fail(error)

    def _look(self, seconds: float) -> int:
        """Wait for a change, but no longer than this."""
        return self._store.wait_for_change(self._position, seconds)

    def _wanted(self) -> bool:
        """Pause until somebody waits; False if nobody will any more."""
        with self._guard:
            self._guard.wait_for(lambda: self._waiting or self._ended)
            return not self._ended

    def _tell(self, position: int) -> None:
        with self._guard:
            self._position = position
            told = [future for future, since in self._waiting.items() if position > since]
            for future in told:
                del self._waiting[future]
        for future in told:
            if future.set_running_or_notify_cancel():
                future.set_result(position)

    def _fail(self, error: Exception) -> None:
        with self._guard:
            told, self._waiting = self._waiting, {}
        for future in told:
            if future.set_running_or_notify_cancel():
                future.set_exception(error)


class WorkWatch(Watch):
    """Likewise of what may be something to do for workers; see `Store.wait_for_work`.

    Attributes:
        told: See `Store.last_told`.
    """

    _NAME = "turnledger-work-watch"
    told = ""

    def _look(self, seconds: float) -> int:
        seen = self._store.wait_for_work(self._position, seconds)
        self.told = self._store.last_told()
        return seen

    def _wanted(self) -> bool:
        if not self._waiting:
            self._store.stop_waiting()
        return super()._wanted()
