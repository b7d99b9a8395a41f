"""With what the turns in hand are carried out, and which there are."""

import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from turnledger.domain import thread_queue
from turnledger.domain.errors import ClaimLost, StoreUnavailable
from turnledger.domain.inbox import MessageClaim, Rejected
from turnledger.domain.thread_queue import Claim
from turnledger.inbox import Inbox
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.clock import steady
from turnledger.queue import Queue
from turnledger.renewing import Renewer
from turnledger.turns.standing import Standing

_log = logging.getLogger("turnledger.turns")

PART_SECONDS = 0.5  # of a wait: then one looks whether it is to stop
_TRIES = 5
Result = TypeVar("Result")


class Hands:
    """What one worker works with.

    Attributes:
        queue: Carries out the commands.
        renewer: Keeps the claims.
        hears_of_work: Whoever is woken has something to do, likely; else by whatever changed.
    """

    def __init__(self, backend: Backend, queue: Queue, inbox: Inbox, renewer: Renewer) -> None:
        """Take what the ledger's services share, and the services."""
        self._backend = backend
        self.hears_of_work = backend.store.writer is None
        self.queue = queue
        self._inbox = inbox
        self.renewer = renewer
        self._held: weakref.WeakSet[Standing] = weakref.WeakSet()
        self._guard = threading.Condition(threading.RLock())

    def take(self, turn: Standing) -> None:
        """Count a turn in."""
        with self._guard:
            self._held.add(turn)

    def left(self, turn: Standing) -> None:
        """A turn has a result, or is lost."""
        with self._guard:
            self._held.discard(turn)
            self._guard.notify_all()

    def held(self) -> list[Standing]:
        """The turns that are in hand. One that nobody entered in time is no more."""
        with self._guard:
            now = steady()
            for turn in list(self._held):
                if not self.renewer.keeps(turn):
                    turn.not_renewed(now)
            return list(self._held)

    def wait_for_room(self) -> None:
        """Wait for a turn to be settled; not for long."""
        with self._guard:
            self._guard.wait(PART_SECONDS)

    def wait_for_work(self, seen: int, seconds: float = PART_SECONDS) -> int:
        """Wait for something to do; not for long. See `store.Store`."""
        return self._backend.store.wait_for_work(seen, min(seconds, PART_SECONDS))

    def claim_again(self, turn: Standing, failure: Any) -> Claim | None:
        """Fail a turn, retry it and claim its thread's head, all at once."""

        def work() -> Claim | None:
            self.queue.fail(turn.claim, failure)
            self.queue.retry(turn.thread_id, turn.queued_turn_id)
            return self.queue.claim_head(turn.thread_id, turn.owner, turn.lease_seconds)

        return self._together(work)

    def _together(self, work: Callable[[], Result]) -> Result:
        """Give several commands in one transaction, again if others were first."""
        tries = _TRIES
        while True:
            try:
                with self._backend.transaction():
                    return work()
            except StoreUnavailable:
                tries -= 1
                if not tries:
                    raise

    def last_thread(self) -> str:
        """The thread whose queue ended the last wait; empty if that isn't known."""
        return thread_of(self._backend.store.last_told())

    def stop_waiting(self) -> None:
        """Wait no more, for as long as a turn is in hand."""
        self._backend.store.stop_waiting()

    # --- messages for the running turn

    def next_message(self, turn: Standing) -> MessageClaim | None:
        """Claim the oldest message, if it is to steer the turn, and the turn's claim is live.

        Raises:
            ClaimLost: It isn't.
        """
        while self._may_steer(turn):
            answer = self._claimed(turn)
            if isinstance(answer, MessageClaim):
                return answer
            if not isinstance(answer, Rejected):
                return None
            _log.warning("message %s can't be delivered: %s", answer.message_id, answer.reason)
        return None

    def _may_steer(self, turn: Standing) -> bool:
        turn.check()
        messages = self._inbox.list(turn.thread_id)
        return bool(messages) and messages[0].delivery == "steer-current-turn"

    def _claimed(self, turn: Standing) -> object:
        """One transaction shows that the turn's claim is live, and claims the message."""

        def work() -> object:
            self.queue.renew(turn.claim, turn.lease_seconds)
            return self._inbox.claim_next(
                turn.thread_id,
                turn.owner,
                can_after_turn=False,
                can_steer_current_turn=True,
                lease=turn.lease_seconds,
            )

        try:
            return self._together(work)
        except ClaimLost as error:
            turn.lost(error.facts["reason"])
            raise

    def confirm(self, message: MessageClaim) -> None:
        """Say that a message was delivered; too late is no error of the turn's."""
        try:
            self._inbox.confirm(message)
        except ClaimLost as error:
            _log.warning("%s", error)


def thread_of(stream_id: str) -> str:
    """The thread whose queue a stream is; empty if it is another one."""
    category, _, thread_id = stream_id.partition(":")
    return thread_id if category == thread_queue.CATEGORY else ""
