"""The iterator of a worker: it claims queued turns, and waits for them."""

import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple, Self

from turnledger.domain.errors import LedgerError, Refusal, StoreError, Unreadable
from turnledger.domain.thread_queue import Claim
from turnledger.infrastructure.clock import steady
from turnledger.turns.hands import PART_SECONDS, Hands
from turnledger.turns.in_hand import TurnInHand
from turnledger.turns.pace import Pace
from turnledger.turns.standing import Standing
from turnledger.turns.stopping import StopSignal


class Plan(NamedTuple):
    """What a worker's loop goes by.

    Attributes:
        limit: At most so many turns in hand.
        once: End when nothing is left to do.
    """

    hands: Hands
    pace: Pace
    owner: str
    lease_seconds: float
    limit: int
    once: bool


class Turns:
    """Claimed turns, one after the other, for ever; see `Ledger.turns`.

    Iterate over it, from one thread. A context manager, for those who go on after the loop: it
    gives back what was claimed and not given out, and the signal's former handler.

    Attributes:
        owner: Whose claims they are.
        plan: What it goes by.
    """

    def __init__(self, plan: Plan) -> None:
        """Take what it works with; `Ledger.turns` does."""
        self.plan = plan
        self.owner = plan.owner
        self._hands = plan.hands
        self._pace = plan.pace
        self._ahead: deque[TurnInHand] = deque()
        self._seen = -1
        self._is_woken = False  # for something to do, likely
        self._is_stopping = False
        self._signal: StopSignal | None = None

    def stop(self) -> None:
        """Claim nothing more: the iteration ends. From another thread, or a signal handler."""
        self._is_stopping = True

    @property
    def in_hand(self) -> Sequence[Standing]:
        """The turns that were given out and aren't settled."""
        return [turn for turn in self._hands.held() if turn not in self._ahead]

    def stop_on(self, number: int, grace_seconds: float) -> None:
        """Stop at a signal; see `Ledger.turns`.

        Raises:
            ValueError: This isn't the main thread.
        """
        self._signal = StopSignal(number, grace_seconds, self)
        self._signal.install()

    def close(self) -> None:
        """Stop, and give back what wasn't given out."""
        self.stop()
        while self._ahead:
            turn = self._ahead.popleft()
            with suppress(LedgerError):  # its lease ends by itself
                turn.release()
        if self._signal is not None:
            self._signal.restore()

    def __enter__(self) -> Self:
        """The iterator itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def __iter__(self) -> Self:
        """Itself."""
        return self

    def __next__(self) -> TurnInHand:
        """Wait for the next turn.

        Raises:
            StopIteration: It was stopped; or, with `once`, there is nothing left to do.
            StoreError: The database says no, and that won't pass by itself.
        """
        while not self._is_stopping:
            if self._ahead:
                turn = self._ahead.popleft()
                self._hands.renewer.drop(turn)  # kept again by whoever enters it
                return turn
            self._step()
        self.close()
        raise StopIteration

    def _step(self) -> None:
        """Claim, or wait for something to change."""
        held = len(self._hands.held())
        if held >= self.plan.limit:
            self._hands.stop_waiting()
            self._hands.wait_for_room()
            return
        try:
            if self._was_woken() and self._claimed(
                self.plan.limit - held, self._hands.last_thread()
            ):
                return
            found = self._pace.look()
            if found.is_ready and self._claimed(self.plan.limit - held):
                return
            if not self.plan.once:
                self._wait(found.seconds)
        except StoreError as error:
            self._sleep(self._pace.failed(error))
            return
        if self.plan.once and not held:
            self.stop()
        elif self.plan.once:
            self._hands.wait_for_room()

    def _claimed(self, most: int, thread_id: str = "") -> bool:
        claims = self._claims(most, thread_id)
        for claim in claims:
            self._take(claim)
        return bool(claims)

    def _claims(self, most: int, thread_id: str) -> list[Claim]:
        """The head of a thread, if one is named: that is sooner had than those of any."""
        queue, lease = self._hands.queue, self.plan.lease_seconds
        if thread_id:
            with suppress(Refusal, Unreadable):  # `claim_next` passes it over
                claim = queue.claim_head(thread_id, self.owner, lease)
                if claim is not None:
                    return [claim]
        return queue.claim_next(self.owner, limit=most, lease=lease)

    def _take(self, claim: Claim) -> None:
        turn = TurnInHand(self._hands, claim, self.plan.lease_seconds)
        self._hands.take(turn)
        self._hands.renewer.keep(turn)
        self._ahead.append(turn)

    def _wait(self, seconds: float) -> None:
        end = steady() + seconds
        while not self._is_stopping and (left := end - steady()) > 0:
            seen = self._hands.wait_for_work(self._seen, left)
            if seen > self._seen:
                self._is_woken = self._hands.hears_of_work and self._seen >= 0
                self._seen = seen
                return

    def _was_woken(self) -> bool:
        woken, self._is_woken = self._is_woken, False
        return woken

    def _sleep(self, seconds: float) -> None:
        end = steady() + seconds
        while not self._is_stopping and (left := end - steady()) > 0:
            time.sleep(min(left, PART_SECONDS))
