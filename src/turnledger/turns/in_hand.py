"""A turn that a worker has in hand: a context manager that records what became of it."""

from collections.abc import Callable, Iterator
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from turnledger.domain.errors import ClaimLost, InvalidTransition, LedgerError, Refusal
from turnledger.domain.inbox import MessageClaim
from turnledger.domain.thread_queue import Claim
from turnledger.turns.hands import Hands
from turnledger.turns.standing import Standing, failure_of

Result = TypeVar("Result")


class TurnInHand(Standing):
    """A claimed turn. Enter it with `with`; meanwhile its lease is renewed in the background.

    Left without a result, what is known is recorded: if no dispatch was started, it is released and
    waits in its old place; if one was, it is failed, its outcome unknown. An exception goes on
    after that. If the claim is lost, every command raises `ClaimLost`, also the one of leaving: the
    ledger takes nothing more from this worker but evidence.
    """

    def __init__(self, hands: Hands, claim: Claim, lease_seconds: float) -> None:
        """Take what it is carried out with; `ledger.turns` does."""
        super().__init__(claim, lease_seconds)
        self._hands = hands
        self._message: MessageClaim | None = None

    def __enter__(self) -> Self:
        """The turn itself, whose lease is renewed from now on."""
        self.keep()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Record what is known, if it has no result yet.

        Raises:
            ClaimLost: The claim is lost.
        """
        self._hands.renewer.drop(self)
        if self.result is not None or self.has_reported:
            return
        try:
            self.leave(error)
        except LedgerError as failure:
            if error is None:
                raise
            if not isinstance(error, ClaimLost):
                error.add_note(f"what became of the turn couldn't be recorded: {failure}")

    def keep(self) -> None:
        """Renew its lease in the background from now on, as entering it does."""
        self._hands.renewer.keep(self)

    def leave(self, error: BaseException | None = None) -> None:
        """Record what is known of a turn that somebody stops working on.

        Args:
            error: Why.

        Raises:
            ClaimLost: The claim is lost. If it was dispatched, the failure is kept as evidence.
        """
        if self.what_is_known() == "failed":
            self.fail(failure_of(error), outcome_unknown=True)
            return
        try:
            self.release()
        except InvalidTransition:
            if not self.is_in_doubt:
                raise
            self.fail(failure_of(error), outcome_unknown=True)

    def dispatch(self, dispatch_id: str | None = None) -> str:
        """Record that the hand-over is about to be made. Call this BEFORE making it.

        Args:
            dispatch_id: Used for one dispatch in a thread, ever; default one of turnledger's.

        Returns:
            The id.

        Raises:
            ClaimLost: The claim is lost: make no hand-over.
            InvalidTransition: Another dispatch has started, or the id was used before.
            ThreadArchived: The thread takes no work.
        """
        self.check()
        self._hands.stop_waiting()  # a while may pass until somebody reads what is announced
        chosen = self.default_dispatch_id() if dispatch_id is None else dispatch_id
        self.dispatching()
        try:
            self._hands.queue.start_dispatch(self.claim, chosen)
        except Refusal as error:
            self.refused(error)
            raise
        self.dispatched(chosen)
        self.keep()  # also if nobody entered it
        return chosen

    def ack(self) -> None:
        """Say that the dispatch took effect: the turn is done.

        Raises:
            ClaimLost: Somebody else has it now. The report is kept as evidence.
            InvalidTransition: No dispatch has started.
        """
        self.confirm_message()
        self._end("acked", partial(self._hands.queue.ack, self.claim))

    def fail(self, failure: Any, *, outcome_unknown: bool = False) -> None:
        """Say that the turn failed: it blocks the queue at its old place. See `queue.fail`.

        Raises:
            ClaimLost: Somebody else has it now. The failure is kept as evidence.
        """
        told = partial(self._hands.queue.fail, self.claim, outcome_unknown=outcome_unknown)
        self._end("failed", partial(told, failure))

    def again(self, failure: Any) -> "TurnInHand | None":
        """Fail it, of which nothing has happened, and have it in hand once more, undispatched.

        One transaction: nobody else gets it in between.

        Returns:
            The turn with `attempts` one more; None, if the queue gives out no claim: paused, say.

        Raises:
            ClaimLost: The claim is lost.
        """
        hands, seconds = self._hands, self.lease_seconds
        claims: list[Claim | None] = []
        self._end("failed", lambda: claims.append(hands.claim_again(self, failure)))
        if claims[0] is None:
            return None
        turn = TurnInHand(hands, claims[0], seconds)
        hands.take(turn)
        return turn

    def release(self) -> None:
        """Give it back undispatched: it waits in its old place.

        Raises:
            ClaimLost: The claim is lost.
            InvalidTransition: A dispatch has started.
        """
        self._end("released", partial(self._hands.queue.release, self.claim))

    def steering(self, *, follow: bool = False) -> Iterator[MessageClaim]:
        """The messages for the running turn, the oldest first: those that are to steer it.

        A message counts as delivered when the next one is asked for, or the turn is acked. If
        the worker dies before, it is listed by `ledger.inbox.undelivered`, and not delivered again.

        Args:
            follow: Wait for more, until the turn is settled; else end when there is none.

        Raises:
            ClaimLost: The claim is lost: it steers nothing any more.
        """
        seen = -1
        while not self.is_settled:
            while (message := self._hands.next_message(self)) is not None:
                self._message = message
                yield message
                self.confirm_message()
            if not follow:
                return
            seen = self._hands.wait_for_work(seen)
        self.check()

    def confirm_message(self) -> None:
        """Say that the last message was delivered."""
        message, self._message = self._message, None
        if message is not None:
            self._hands.confirm(message)

    def lost(self, reason: str) -> None:
        """The claim is lost: it is no more in hand."""
        super().lost(reason)
        self._hands.left(self)

    def _end(self, result: str, command: Callable[[], None]) -> None:
        try:
            command()
        except ClaimLost as error:
            self._hands.renewer.drop(self)
            self.came_too_late(result, error)
            raise
        self._hands.renewer.drop(self)
        self.ended(result)
        self._hands.left(self)
