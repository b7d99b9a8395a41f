"""A worker whose function is awaited in tasks."""

import asyncio
import signal as signals
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from turnledger.asynchronous import AsyncLedger, AsyncTurnInHand, AsyncTurns
from turnledger.claiming import MINUTE, Seconds
from turnledger.domain.errors import ClaimLost, InvalidPayload, NoEffect
from turnledger.domain.identifier import check_count
from turnledger.domain.retry_policy import RetryPolicy
from turnledger.infrastructure.clock import steady
from turnledger.turns.working import GRACE
from turnledger.worker.book import RETRY, Book, Health, Report, outcome

AsyncFunction = Callable[[AsyncTurnInHand], Awaitable[Any]]


class AsyncWorker:
    """Awaits a function with each queued turn, in several tasks; else as `Worker`.

    A lost claim, and the end of the grace period, cancel the function.
    """

    def __init__(  # noqa: PLR0913 - as Worker's
        self,
        ledger: AsyncLedger,
        function: AsyncFunction,
        *,
        owner: str | None = None,
        concurrency: int = 1,
        lease: Seconds = MINUTE,
        retry: RetryPolicy = RETRY,
        dispatch: bool = True,
        report: Report | None = None,
    ) -> None:
        """See `Worker`; the function is given an `AsyncTurnInHand`, and what it returns awaited."""
        if not callable(function):
            raise InvalidPayload("function", f"must be callable, not {type(function).__name__}")
        self._ledger = ledger
        self._function = function
        self._given = {"owner": owner, "lease": lease}
        self._concurrency = check_count("concurrency", concurrency)
        self._dispatches = dispatch
        self._book = Book(report, retry)
        self._turns: AsyncTurns | None = None
        self._stopped = asyncio.Event()

    async def run(
        self, *, once: bool = False, stop_on: int | None = None, grace: Seconds = GRACE
    ) -> None:
        """See `Worker.run`. Cancelling it cancels the functions; each turn records what is known.

        When the grace period of a signal is over, it returns, too.
        """
        self._stopped.clear()
        number = None if stop_on is None else signals.Signals(stop_on)
        self._turns = turns = self._ledger.turns(
            limit=self._concurrency,
            once=once,
            stop_on=number,
            grace=grace,
            **self._given,  # type: ignore[arg-type]
        )
        try:
            async with turns, asyncio.TaskGroup() as tasks:
                async for turn in turns:
                    tasks.create_task(self._serve(turn))
                if not once:
                    self._stopped.set()  # pauses before another attempt end
        finally:
            self._stopped.set()
            self._turns = None
            turns.end_signal()

    def stop(self) -> None:
        """See `Worker.stop`."""
        self._stopped.set()
        if self._turns is not None:
            self._turns.stop()

    def health(self) -> Health:
        """See `Worker.health`."""
        turns = self._turns
        running = turns is not None and not self._stopped.is_set()
        owner, in_hand = (None, 0) if turns is None else (turns.owner, len(turns.in_hand))
        return self._book.health(owner, in_hand, is_running=running)

    async def _serve(self, turn: AsyncTurnInHand) -> None:
        again: tuple[AsyncTurnInHand, float] | None = (turn, 0.0)
        while again is not None:
            again = await self._done(*again)

    async def _done(
        self, turn: AsyncTurnInHand, pause: float
    ) -> tuple[AsyncTurnInHand, float] | None:
        """Do a turn; returns the same again, if it is to be tried once more."""
        since = steady()
        try:
            async with turn:
                if pause and await self._stops_within(pause):
                    await turn.release()
                else:
                    return await self._attempt(turn, since)
        except ClaimLost as error:
            self._book.say("lost", turn, since, error)
        except Exception as error:  # noqa: BLE001 - whatever the function raises
            self._book.broke(turn, since, error)
        return None

    async def _stops_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)
        return self._stopped.is_set()

    async def _attempt(
        self, turn: AsyncTurnInHand, since: float
    ) -> tuple[AsyncTurnInHand, float] | None:
        try:
            if self._dispatches:
                await turn.dispatch()
            self._book.say("begun", turn, since)
            await self._function(turn)
        except NoEffect as error:
            return await self._failed(turn, error, since)
        except ClaimLost:
            raise
        except Exception as error:
            if turn.dispatch_id is not None or turn.is_settled or turn.is_in_doubt:
                raise
            return await self._failed(turn, error, since)
        if turn.result is None:
            await (turn.release() if turn.dispatch_id is None else turn.ack())
        self._book.say(outcome(turn), turn, since)
        return None

    async def _failed(
        self, turn: AsyncTurnInHand, error: Exception, since: float
    ) -> tuple[AsyncTurnInHand, float] | None:
        """Nothing has happened: try again, or give up."""
        if not self._book.may_retry(turn):
            await turn.fail(self._book.poison(turn, error))
            self._book.say("gave_up", turn, since, error)
            return None
        again = await turn.again(self._book.failure(turn, error))
        pause = self._book.retrying(turn, error)
        return None if again is None else (again, pause)
