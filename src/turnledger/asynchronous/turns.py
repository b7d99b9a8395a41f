"""The twin of `Turns`: an asynchronous iterator, for as many tasks as there is room for."""

import asyncio
import signal
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import Self

from turnledger.asynchronous.crew import Crew
from turnledger.asynchronous.in_hand import AsyncHands, AsyncTurnInHand
from turnledger.asynchronous.services import AsyncQueue
from turnledger.asynchronous.watch import WorkWatch
from turnledger.domain.errors import LedgerError, Refusal, StoreError, Unreadable
from turnledger.domain.thread_queue import Claim
from turnledger.turns.hands import PART_SECONDS, thread_of
from turnledger.turns.taking import Plan


class AsyncTurns:
    """Claimed turns, as they come, for ever; see `Turns`.

    Attributes:
        owner: Whose claims they are.
    """

    def __init__(self, plan: Plan, queue: AsyncQueue, crew: Crew, watch: WorkWatch) -> None:
        """Take what it works with; `AsyncLedger.turns` does."""
        self.owner = plan.owner
        self._plan = plan
        self._crew = crew
        self._watch = watch
        self._loop = asyncio.get_running_loop()
        self._hands = AsyncHands(plan.hands, queue, crew, watch, self._said)
        self._ahead: deque[AsyncTurnInHand] = deque()
        self._claiming: asyncio.Task[None] | None = None
        self._seen = -1
        self._is_woken = False  # for something to do, likely
        self._is_stopping = False
        self._woken = asyncio.Event()
        self._signal: int | None = None
        self._grace: asyncio.TimerHandle | None = None

    @property
    def in_hand(self) -> Sequence[AsyncTurnInHand]:
        """See `Turns.in_hand`."""
        held = [turn for turn in self._plan.hands.held() if isinstance(turn, AsyncTurnInHand)]
        return [turn for turn in held if turn not in self._ahead]

    @property
    def is_stopping(self) -> bool:
        """Whether it claims nothing more."""
        return self._is_stopping

    def stop(self) -> None:
        """See `Turns.stop`."""
        self._is_stopping = True
        self._said()

    def stop_on(self, number: int, grace: timedelta) -> None:
        """Stop at a signal; see `AsyncLedger.turns`.

        Raises:
            ValueError: This isn't the main thread.
        """
        seconds = grace.total_seconds()
        try:
            self._loop.add_signal_handler(number, self._stopped, seconds)
        except RuntimeError as error:
            raise ValueError(str(error)) from error
        self._signal = signal.Signals(number)

    def _stopped(self, grace_seconds: float) -> None:
        if self._is_stopping:
            self._stopped_again()
            return
        self.stop()
        self._grace = self._loop.call_later(grace_seconds, self.cancel_bodies)

    def _stopped_again(self) -> None:
        """End the grace period; or, if nothing is in hand, let the signal do what it did before."""
        number = self._signal
        if self.in_hand or number is None:
            self.cancel_bodies()
        else:
            self.end_signal()
            signal.raise_signal(number)

    def cancel_bodies(self) -> None:
        """End the blocks of all turns in hand: each records what is known."""
        for turn in self.in_hand:
            turn.cancel_body()

    async def close(self) -> None:
        """See `Turns.close`. A grace period goes on to its end."""
        self.stop()
        if self._claiming is not None:
            await asyncio.wait([self._claiming])
        while self._ahead:
            with suppress(LedgerError):  # its lease ends by itself
                await self._ahead.popleft().release()
        if self._grace is None:
            self.end_signal()

    def end_signal(self) -> None:
        """Let the signal be handled as before, though a grace period isn't over."""
        if self._grace is not None:
            self._grace.cancel()
        if self._signal is not None:
            self._loop.remove_signal_handler(self._signal)
            self._signal = None

    async def __aenter__(self) -> Self:
        """The iterator itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        await self.close()

    def __aiter__(self) -> Self:
        """Itself."""
        return self

    async def __anext__(self) -> AsyncTurnInHand:
        """Wait for the next turn; see `Turns.__next__`."""
        while not self._is_stopping:
            if self._ahead:
                turn = self._ahead.popleft()
                self._plan.hands.renewer.drop(turn)  # kept again by whoever enters it
                return turn
            await self._step()
        await self.close()
        raise StopAsyncIteration

    async def _step(self) -> None:
        """Claim, or wait for something to change."""
        self._woken.clear()
        held = len(self._plan.hands.held())
        if held >= self._plan.limit:
            await self._wait_for_room()
            return
        try:
            if self._was_woken() and await self._claimed(
                self._plan.limit - held, thread_of(self._watch.told)
            ):
                return
            found = await self._crew.run(self._plan.pace.look)
            if found.is_ready and await self._claimed(self._plan.limit - held):
                return
            if not self._plan.once:
                await self._wait_for_work(found.seconds)
        except StoreError as error:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), self._plan.pace.failed(error))
            return
        if self._plan.once and not held:
            self.stop()
        elif self._plan.once:
            await self._wait_for_room()

    async def _claimed(self, most: int, thread_id: str = "") -> bool:
        """Claim; what was claimed when this is cancelled is given out, or given back, later."""
        if self._claiming is None:
            self._claiming = asyncio.create_task(self._claim(most, thread_id))
        try:
            await asyncio.shield(self._claiming)
        finally:
            if self._claiming.done():
                self._claiming = None
        return bool(self._ahead)

    async def _claim(self, most: int, thread_id: str) -> None:
        plan = self._plan
        for claim in await self._claims(most, thread_id):
            turn = AsyncTurnInHand(self._hands, claim, plan.lease_seconds)
            plan.hands.take(turn)
            plan.hands.renewer.keep(turn)
            self._ahead.append(turn)

    async def _claims(self, most: int, thread_id: str) -> list[Claim]:
        """The head of a thread, if one is named: that is sooner had than those of any."""
        queue, owner, lease = self._hands.queue, self._plan.owner, self._plan.lease_seconds
        if thread_id:
            with suppress(Refusal, Unreadable):  # `claim_next` passes it over
                claim = await queue.claim_head(thread_id, owner, lease)
                if claim is not None:
                    return [claim]
        return await queue.claim_next(owner, limit=most, lease=lease)

    async def _wait_for_room(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), PART_SECONDS)

    async def _wait_for_work(self, seconds: float) -> None:
        change = asyncio.ensure_future(self._watch.change(self._seen))
        woken = asyncio.ensure_future(self._woken.wait())
        try:
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait([change, woken], timeout=seconds, return_when=first)
            if change.done():
                self._is_woken = self._plan.hands.hears_of_work and self._seen >= 0
                self._seen = change.result()
        finally:
            change.cancel()
            woken.cancel()

    def _was_woken(self) -> bool:
        woken, self._is_woken = self._is_woken, False
        return woken

    def _said(self) -> None:
        """Something has changed here: a turn was settled, or it is to stop. From any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._woken.set)
