"""A worker whose function is called in threads."""

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from turnledger.claiming import MINUTE, Seconds
from turnledger.domain.duration import check_duration
from turnledger.domain.errors import ClaimLost, InvalidPayload, LedgerError, NoEffect
from turnledger.domain.identifier import check_count
from turnledger.domain.retry_policy import RetryPolicy
from turnledger.infrastructure.clock import steady
from turnledger.ledger import Ledger
from turnledger.turns.in_hand import TurnInHand
from turnledger.turns.stopping import StopSignal
from turnledger.turns.working import GRACE
from turnledger.worker.book import RETRY, Book, Health, Report, outcome

if TYPE_CHECKING:
    from turnledger.turns.taking import Turns

Function = Callable[[TurnInHand], Any]
_PART_SECONDS = 0.5


class Job(NamedTuple):
    """A turn that is to be done, after a pause in seconds."""

    turn: TurnInHand
    pause: float


class WorkerStopped(Exception):
    """The grace period of a worker is over."""


class Worker:
    """Calls a function with each queued turn, in several threads.

    The dispatch is recorded before the call. If the function returns, the turn is acked, unless it
    was settled in it. If it raises `NoEffect`, nothing has happened: the turn is tried again, after
    a pause, and after too many attempts it stays failed. If it raises anything else, nobody can
    know: it is failed, its outcome unknown, and waits for a decision. Its lease is renewed
    meanwhile. Nothing that a function raises stops the worker.
    """

    def __init__(  # noqa: PLR0913 - all that can be said of a worker
        self,
        ledger: Ledger,
        function: Function,
        *,
        owner: str | None = None,
        concurrency: int = 1,
        lease: Seconds = MINUTE,
        retry: RetryPolicy = RETRY,
        dispatch: bool = True,
        report: Report | None = None,
    ) -> None:
        """Say what is to be done.

        Args:
            ledger: Whose turns.
            function: Is called with each; a `TurnInHand`.
            owner: Who works; default a name that is made up.
            concurrency: So many calls at a time, of as many threads of the ledger.
            lease: See `Ledger.turns`.
            retry: How often a turn is tried of which nothing has happened, and how soon again. It
                stays claimed in the pauses.
            dispatch: Record the dispatch before the call. Without it, the function calls
                `turn.dispatch` itself, and what it raises before that has had no effect.
            report: Is told of each `Happening`.
        """
        if not callable(function):
            raise InvalidPayload("function", f"must be callable, not {type(function).__name__}")
        self._ledger = ledger
        self._function = function
        self._given = {"owner": owner, "lease": lease}
        self._concurrency = check_count("concurrency", concurrency)
        self._dispatches = dispatch
        self._book = Book(report, retry)
        self._turns: Turns | None = None
        self._stopped = threading.Event()
        self._todo: queue.SimpleQueue[TurnInHand | None] = queue.SimpleQueue()
        self._busy: dict[int, TurnInHand] = {}

    def run(
        self, *, once: bool = False, stop_on: int | None = None, grace: Seconds = GRACE
    ) -> None:
        """Work until it is stopped; then wait for what is in hand, for as long as `grace` says.

        Args:
            once: End when nothing is left to do.
            stop_on: A signal that stops it; in the main thread only. A second one ends the grace.
            grace: After it, what is known of each turn in hand is recorded, and nothing that its
                function does later can write.

        Raises:
            SystemExit: The grace period of a signal is over.
            StoreError: The database says no, and that won't pass by itself.
        """
        self._grace = check_duration("grace", grace, self._ledger.settings.max_lease)
        self._stopped.clear()
        signal = None
        if stop_on is not None:
            signal = StopSignal(stop_on, self._grace.total_seconds(), self)
            signal.install()
        try:
            self._run(once=once)
        finally:
            self._stopped.set()
            self._turns = None
            if signal is not None:
                signal.restore()

    def stop(self) -> None:
        """Begin nothing new: `run` returns when what is in hand is done."""
        self._stopped.set()
        if (turns := self._turns) is not None:
            turns.stop()

    def health(self) -> Health:
        """How it is; from any thread."""
        owner = None if self._turns is None else self._turns.owner
        running = self._turns is not None and not self._stopped.is_set()
        return self._book.health(owner, len(self._busy), is_running=running)

    def _run(self, *, once: bool) -> None:
        self._turns = turns = self._ledger.turns(
            limit=self._concurrency,
            once=once,
            **self._given,  # type: ignore[arg-type]
        )
        threads = [
            threading.Thread(target=self._serve, name=f"turnledger-worker-{n}", daemon=True)
            for n in range(self._concurrency)
        ]
        for thread in threads:
            thread.start()
        try:
            with turns:
                for turn in turns:
                    turn.keep()  # also if it has to wait for a thread
                    self._todo.put(turn)
            self._wait_for(threads)
        except BaseException:
            self._leave_all()
            raise

    def _wait_for(self, threads: list[threading.Thread]) -> None:
        """Let the threads end, but for no longer than the grace period."""
        for _ in threads:
            self._todo.put(None)
        end = steady() + self._grace.total_seconds()
        for thread in threads:
            while thread.is_alive() and (steady() < end or not self._stopped.is_set()):
                thread.join(_PART_SECONDS)
        self._leave_all()

    def _leave_all(self) -> None:
        for turn in list(self._busy.values()):
            try:
                turn.leave(WorkerStopped("the worker's grace period was over"))
            except LedgerError as error:
                self._book.say("lost", turn, steady(), error)

    def _serve(self) -> None:
        while (turn := self._todo.get()) is not None:
            job: Job | None = Job(turn, 0.0)
            while job is not None:
                self._busy[threading.get_ident()] = job.turn
                try:
                    job = self._done(job)
                finally:
                    self._busy.pop(threading.get_ident(), None)

    def _done(self, job: Job) -> Job | None:
        """Do a turn; returns the same again, if it is to be tried once more."""
        turn, since = job.turn, steady()
        try:
            with turn:
                if job.pause and self._stopped.wait(job.pause):
                    turn.release()
                else:
                    return self._attempt(turn, since)
        except ClaimLost as error:
            self._book.say("lost", turn, since, error)
        except Exception as error:  # noqa: BLE001 - whatever the function raises
            self._book.broke(turn, since, error)
        return None

    def _attempt(self, turn: TurnInHand, since: float) -> Job | None:
        try:
            if self._dispatches:
                turn.dispatch()
            self._book.say("begun", turn, since)
            self._function(turn)
        except NoEffect as error:
            return self._failed(turn, error, since)
        except ClaimLost:
            raise
        except Exception as error:
            if turn.dispatch_id is not None or turn.is_settled or turn.is_in_doubt:
                raise
            return self._failed(turn, error, since)
        if turn.result is None:
            turn.release() if turn.dispatch_id is None else turn.ack()
        self._book.say(outcome(turn), turn, since)
        return None

    def _failed(self, turn: TurnInHand, error: Exception, since: float) -> Job | None:
        """Nothing has happened: try again, or give up."""
        if not self._book.may_retry(turn):
            turn.fail(self._book.poison(turn, error))
            self._book.say("gave_up", turn, since, error)
            return None
        again = turn.again(self._book.failure(turn, error))
        pause = self._book.retrying(turn, error)
        return None if again is None else Job(again, pause)
