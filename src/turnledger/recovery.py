"""`ledger.recovery`: the scan for what nobody answers for any more.

It goes by owner and lease: what a live claim holds isn't touched, whoever's it is. So every process
may scan, at every time, also while others do.
"""

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from turnledger.claiming import Seconds
from turnledger.coordinator import Coordinator
from turnledger.domain.duration import check_duration
from turnledger.domain.errors import LedgerError, StoreError
from turnledger.domain.inbox import RecoveryMode
from turnledger.domain.thread_queue import QueuedTurn
from turnledger.inbox import Inbox
from turnledger.inbox.desk import check_mode
from turnledger.operations import Operations
from turnledger.queue import Queue

_DAY = timedelta(days=1)
_LONGEST_PAUSE = 60.0  # seconds, after errors

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """What a scan found that nobody answered for, by its kind.

    Attributes:
        attempts_unknown: Provider turns whose dispatch has an unknown outcome now.
        turns_pending: Coordinator turns that wait again.
        operations_orphaned: Operations that somebody must decide on.
        operations_never_claimed: Operations whose run ended before they began.
        queued_turns_pending: Queued turns that are back in their places.
        queued_turns_failed: Queued turns of unknown outcome, or given back too often.
        messages_pending: Messages that wait again.
        messages_expired: Messages that are undelivered.
    """

    attempts_unknown: int = 0
    turns_pending: int = 0
    operations_orphaned: int = 0
    operations_never_claimed: int = 0
    queued_turns_pending: int = 0
    queued_turns_failed: int = 0
    messages_pending: int = 0
    messages_expired: int = 0

    def __bool__(self) -> bool:
        """Whether anything was found."""
        return any(vars(self).values())


class Recovery:
    """The scans of `ledger.recovery`, one by one or again and again in a thread."""

    def __init__(
        self,
        url: str,
        coordinator: Coordinator,
        operations: Operations,
        queue: Queue,
        inbox: Inbox,
    ) -> None:
        """Take where the ledger lies, and the services whose claims may be over."""
        self._url = url
        self._is_closed = False
        self._coordinator = coordinator
        self._operations = operations
        self._queue = queue
        self._inbox = inbox
        self._guard = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def run_once(self, *, inbox_mode: RecoveryMode = "at_most_once") -> Recovered:
        """Recover what is over, of every kind: provider turns, mailbox, operations, queue, inbox.

        Args:
            inbox_mode: See `ledger.inbox.recover`.

        Raises:
            LedgerError: One kind couldn't be recovered; the others were, all the same.
        """
        scans = (
            lambda: vars(self._coordinator.recover()),
            lambda: vars(self._operations.recover()),
            lambda: _counts(self._queue.recover()),
            lambda: vars(self._inbox.recover(mode=inbox_mode)),
        )
        found: dict[str, int] = {}
        failures: list[LedgerError] = []
        for scan in scans:
            try:
                found |= scan()
            except LedgerError as error:
                failures.append(error)
        if failures:
            raise failures[0]
        return Recovered(**found)

    def start(self, every: Seconds = 2.0, *, inbox_mode: RecoveryMode = "at_most_once") -> None:
        """Scan at once and then again and again, in a thread, until `stop` or the ledger's close.

        After errors the pauses become longer, up to a minute. If it scans already, it goes on.

        Args:
            every: The pause between two scans, as seconds or a timedelta.
            inbox_mode: See `ledger.inbox.recover`.

        Raises:
            StoreError: The ledger was closed.
        """
        pace = Pace(every)
        check_mode("inbox_mode", inbox_mode)
        with self._guard:
            if self._is_closed:
                raise StoreError(self._url, "the ledger was closed")
            if self._thread is not None and self._thread.is_alive():
                return
            self._stopped = threading.Event()
            self._thread = threading.Thread(
                target=self._scan,
                args=(pace, inbox_mode, self._stopped),
                name="turnledger-recovery",
                daemon=True,
            )
            self._thread.start()

    def stop(self) -> None:
        """Scan no more; a scan under way is finished first."""
        with self._guard:
            thread, self._thread = self._thread, None
            self._stopped.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def end(self) -> None:
        """Scan no more, for ever."""
        with self._guard:
            self._is_closed = True
        self.stop()

    def _scan(self, pace: "Pace", inbox_mode: RecoveryMode, stopped: threading.Event) -> None:
        while not stopped.is_set():
            try:
                self.run_once(inbox_mode=inbox_mode)
            except Exception as error:  # noqa: BLE001 - whatever it is, the next scan may succeed
                pause = pace.failed(error)
            else:
                pause = pace.succeeded()
            stopped.wait(pause)


class Pace:
    """How long to wait between two scans: longer and longer after errors."""

    def __init__(self, every: Seconds) -> None:
        """Take the usual pause.

        Raises:
            InvalidDuration: It is none, or longer than a day.
        """
        self._usual = self._pause = check_duration("every", every, _DAY).total_seconds()

    def succeeded(self) -> float:
        """The pause after a scan."""
        self._pause = self._usual
        return self._usual

    def failed(self, error: Exception) -> float:
        """The pause after a scan that raised, in seconds."""
        self._pause = max(self._usual, min(self._pause * 2, _LONGEST_PAUSE))
        _log.warning("%s; scanning again in %.1f s", error, self._pause)
        return self._pause


def _counts(turns: Sequence[QueuedTurn]) -> dict[str, int]:
    """What became of queued turns, under the names of `Recovered`."""
    pending = sum(turn.state == "pending" for turn in turns)
    return {"queued_turns_pending": pending, "queued_turns_failed": len(turns) - pending}
