"""The twin of `TurnInHand`: its commands are awaited, and a lost claim cancels its body."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from types import TracebackType
from typing import Any, NamedTuple, Self

from turnledger.asynchronous.crew import Crew
from turnledger.asynchronous.services import AsyncQueue
from turnledger.asynchronous.watch import Watch
from turnledger.domain.errors import ClaimLost, InvalidTransition, LedgerError, Refusal
from turnledger.domain.inbox import MessageClaim
from turnledger.domain.thread_queue import Claim
from turnledger.turns.hands import Hands
from turnledger.turns.standing import Standing, failure_of


class AsyncHands(NamedTuple):
    """With what the turns in hand of an `AsyncLedger` are carried out."""

    hands: Hands
    queue: AsyncQueue
    crew: Crew
    watch: Watch
    room: Callable[[], None]  # is called, in whatever thread, when a turn was settled


class AsyncTurnInHand(Standing):
    """A claimed turn. Enter it with `async with`; see `TurnInHand`.

    If its claim is lost, the body is cancelled, and `ClaimLost` comes out of the `async with`.
    """

    def __init__(self, hands: AsyncHands, claim: Claim, lease_seconds: float) -> None:
        """Take what it is carried out with; `ledger.turns` does."""
        super().__init__(claim, lease_seconds)
        self._with = hands
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._message: MessageClaim | None = None
        self._body: asyncio.Task[Any] | None = None
        self._cancellations = 0  # of the body's task, when it entered
        self._was_cancelled = False  # by us

    async def __aenter__(self) -> Self:
        """The turn itself, whose lease is renewed from now on.

        Raises:
            ClaimLost: The claim was lost before.
        """
        self.check()
        self._body = asyncio.current_task()
        self._cancellations = self._body.cancelling() if self._body is not None else 0
        self._with.hands.renewer.keep(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Record what is known, if it has no result yet. See `TurnInHand.__exit__`.

        Raises:
            ClaimLost: The claim is lost.
        """
        body, self._body = self._body, None
        self._with.hands.renewer.drop(self)
        if self.result is None and not self.has_reported:
            try:
                await self.leave(error)
            except LedgerError as failure:
                if error is None:
                    raise
                if not isinstance(error, ClaimLost) and not self.is_lost:
                    error.add_note(f"what became of the turn couldn't be recorded: {failure}")
        if not self._was_cancelled or body is None or not isinstance(error, asyncio.CancelledError):
            return False
        if body.uncancel() > self._cancellations:
            return False  # somebody else cancelled it as well
        if self.is_lost:
            raise ClaimLost(self.thread_id, self.owner, self.epoch, self._reason) from error
        return True

    async def leave(self, error: BaseException | None = None) -> None:
        """See `TurnInHand.leave`. It is done also if the task is cancelled meanwhile."""
        told = failure_of(error)
        if self.what_is_known() == "failed":
            await self._end("failed", partial(self._always, "fail", told, outcome_unknown=True))
            return
        try:
            await self._end("released", partial(self._always, "release"))
        except InvalidTransition:
            if not self.is_in_doubt:
                raise
            await self._end("failed", partial(self._always, "fail", told, outcome_unknown=True))

    async def dispatch(self, dispatch_id: str | None = None) -> str:
        """See `TurnInHand.dispatch`."""
        self.check()
        chosen = self.default_dispatch_id() if dispatch_id is None else dispatch_id
        self.dispatching()
        try:
            await self._with.queue.start_dispatch(self.claim, chosen)
        except Refusal as error:
            self.refused(error)
            raise
        self.dispatched(chosen)
        self._with.hands.renewer.keep(self)
        return chosen

    async def ack(self) -> None:
        """See `TurnInHand.ack`."""
        await self.confirm_message()
        await self._end("acked", partial(self._with.queue.ack, self.claim))

    async def fail(self, failure: Any, *, outcome_unknown: bool = False) -> None:
        """See `TurnInHand.fail`."""
        told = partial(self._with.queue.fail, self.claim, outcome_unknown=outcome_unknown)
        await self._end("failed", partial(told, failure))

    async def again(self, failure: Any) -> "AsyncTurnInHand | None":
        """See `TurnInHand.again`."""
        hands, claims = self._with.hands, list[Claim | None]()

        async def command() -> None:
            claims.append(await self._with.crew.run_always(hands.claim_again, self, failure))

        await self._end("failed", command)
        if claims[0] is None:
            return None
        turn = AsyncTurnInHand(self._with, claims[0], self.lease_seconds)
        hands.take(turn)
        return turn

    def keep(self) -> None:
        """See `TurnInHand.keep`."""
        self._with.hands.renewer.keep(self)

    async def release(self) -> None:
        """See `TurnInHand.release`."""
        await self._end("released", partial(self._with.queue.release, self.claim))

    async def steering(self, *, follow: bool = False) -> AsyncGenerator[MessageClaim]:
        """See `TurnInHand.steering`."""
        seen, hands, crew = -1, self._with.hands, self._with.crew
        while not self.is_settled:
            while (message := await crew.run(hands.next_message, self)) is not None:
                self._message = message
                yield message
                await self.confirm_message()
            if not follow:
                return
            seen = await self._change(seen)
        self.check()

    async def confirm_message(self) -> None:
        """Say that the last message was delivered."""
        message, self._message = self._message, None
        if message is not None:
            await self._with.crew.run(self._with.hands.confirm, message)

    def cancel_body(self) -> None:
        """Cancel the body, if it runs: its block ends, and records what is known."""
        if self._body is not None and not self._was_cancelled:
            self._was_cancelled = True
            self._body.cancel(f"turn {self.queued_turn_id} was taken from its worker")

    def lost(self, reason: str) -> None:
        """The claim is lost; from whatever thread. It cancels the body."""
        if not self.is_settled:
            super().lost(reason)
            self._left()
            self._in_loop(self._lose)

    def _lose(self) -> None:
        self._over.set()
        self.cancel_body()

    def _left(self) -> None:
        self._with.hands.left(self)
        self._with.room()

    def _in_loop(self, what: Callable[[], None]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(what)

    async def _end(self, result: str, command: Callable[[], Awaitable[None]]) -> None:
        try:
            await command()
        except ClaimLost as error:
            self._with.hands.renewer.drop(self)
            self._body = None  # it hears of it from this very command
            self.came_too_late(result, error)
            raise
        self._with.hands.renewer.drop(self)
        self.ended(result)
        self._over.set()
        self._left()

    async def _always(self, command: str, *args: Any, **kwargs: Any) -> None:
        method = getattr(self._with.hands.queue, command)
        await self._with.crew.run_always(method, self.claim, *args, **kwargs)

    async def _change(self, seen: int) -> int:
        """Wait until there may be a message, or the turn is settled."""
        change = asyncio.ensure_future(self._with.watch.change(seen))
        over = asyncio.ensure_future(self._over.wait())
        try:
            await asyncio.wait([change, over], return_when=asyncio.FIRST_COMPLETED)
            return change.result() if change.done() else seen
        finally:
            change.cancel()
            over.cancel()
