"""What all steps of the demonstration work with, and how they show it."""

import time
from collections.abc import Collection, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import turnledger
from turnledger import Ledger, QueuedTurn
from turnledger.demo.model import Model
from turnledger.demo.screen import Screen
from turnledger.demo.submission import Submission, recorded, said
from turnledger.demo.worker_process import WorkerProcess

SHORT_LEASE_SECONDS = 2.0  # of the claims that are waited for; a busy machine gets on within it
LONG_LEASE_SECONDS = 60.0
LEDGER = "ledger.db"

_PATIENCE_SECONDS = 20.0
_GLANCE_SECONDS = 0.02
_WORK_WIDTHS = (8, 17, 15)
_WORDS = {
    "claimed": "claimed",
    "dispatching": "dispatch recorded",
    "sent": "sent to the model",
    "failed": "failed",
    "acked": "acked",
    "idle": "finds no work",
}
_IN_FLIGHT = frozenset(("claimed", "dispatching"))


@dataclass(frozen=True, slots=True)
class Stage:
    """What all steps work with.

    Attributes:
        folder: Where the files of the ledger and of the model are.
        closing: What has to be closed at the end.
        submissions: What clients submit, in order.
        workers: The worker processes, in the order of their appearance.
    """

    screen: Screen
    ledger: Ledger
    model: Model
    folder: Path
    closing: ExitStack
    submissions: list[Submission] = field(default_factory=recorded)
    workers: list[WorkerProcess] = field(default_factory=list[WorkerProcess])

    def start_worker(self, lease_seconds: float) -> None:
        """Start one more worker process; it waits to be let go."""
        owner = f"worker-{len(self.workers) + 1}"
        worker = WorkerProcess(owner, self.folder / LEDGER, lease_seconds)
        self.workers.append(self.closing.enter_context(worker))

    def of(self, thread_id: str) -> list[Submission]:
        """What clients submit to a thread."""
        return [one for one in self.submissions if one.thread_id == thread_id]

    def append(self, submission: Submission) -> QueuedTurn:
        """What a host does with a message that arrives."""
        return self.ledger.queue.append(
            submission.thread_id,
            submission.parameters,
            idempotency_key=submission.message_id,
            queued_turn_id=submission.queued_turn_id,
        )

    def queue(self, thread_id: str) -> list[QueuedTurn]:
        """Everything in a thread that isn't gone: what is in flight, then the visible queue."""
        ids = [one.queued_turn_id for one in self.of(thread_id)]
        turns = [self.ledger.queue.get(thread_id, turn_id) for turn_id in ids]
        in_flight = [turn for turn in turns if turn is not None and turn.state in _IN_FLIGHT]
        return in_flight + self.ledger.queue.list(thread_id)

    def show_queue(self, thread_id: str) -> None:
        """Everything in a thread that isn't gone, which ought to be in the order of submission."""
        turns = self.queue(thread_id)
        self.screen.rows(
            [(state(turn), turn.queued_turn_id, said(turn.submission)) for turn in turns]
        )
        there = {turn.queued_turn_id for turn in turns}
        submitted = [one.queued_turn_id for one in self.of(thread_id)]
        if [turn.queued_turn_id for turn in turns] != [one for one in submitted if one in there]:
            self.screen.wrong("the order isn't that in which they were submitted")

    def show_reason(self, thread_id: str, wanted: str | None) -> None:
        """Why a thread doesn't move."""
        reason = self.ledger.queue.why_blocked(thread_id)
        self.screen.fact(f"why_blocked {thread_id}", reason, wanted)

    def watch(
        self, worker: WorkerProcess, last: str, shown: Collection[str] = frozenset(_WORDS)
    ) -> None:
        """Let a worker go on until it says a word, and show what it does.

        Args:
            worker: Who works.
            last: The word.
            shown: The words that are shown; default all.
        """
        texts = {one.queued_turn_id: said(one.parameters) for one in self.submissions}
        for word, turn_id in worker.until(last):
            if word in shown:
                text = texts.get(turn_id, "")
                self.screen.row((worker.owner, _WORDS[word], turn_id, text), _WORK_WIDTHS)

    def kill(self, worker: WorkerProcess) -> None:
        """Kill a worker, and show it."""
        if worker.kill():
            self.screen.row((worker.owner, "killed", "by SIGKILL", ""), _WORK_WIDTHS)
        else:
            self.screen.wrong(f"{worker.owner} had ended before")

    def wait_for(self, thread_id: str, reason: str) -> None:
        """Wait until a thread is blocked for a reason.

        Raises:
            TimeoutError: It doesn't come to that.
        """
        end = time.monotonic() + _PATIENCE_SECONDS
        while (found := self.ledger.queue.why_blocked(thread_id)) != reason:
            if time.monotonic() > end:
                raise TimeoutError(f"why_blocked {thread_id} stays {found}, not {reason}")
            time.sleep(_GLANCE_SECONDS)


@contextmanager
def opened(folder: Path, screen: Screen) -> Generator[Stage]:
    """Set the stage in a folder."""
    with ExitStack() as stack:
        ledger = stack.enter_context(turnledger.open(folder / LEDGER))
        stage = Stage(screen, ledger, Model(folder), folder, stack)
        for _ in range(2):  # now, since a process takes a while to be ready
            stage.start_worker(SHORT_LEASE_SECONDS)
        yield stage


def state(turn: QueuedTurn) -> str:
    """A turn's state, in words."""
    unknown = turn.state == "failed" and turn.outcome_unknown
    return "failed, outcome unknown" if unknown else turn.state
