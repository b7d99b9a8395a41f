"""What all steps of the demonstration work with, and how they show it."""

import time
from collections.abc import Callable, Collection, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import turnledger
from turnledger import BegunTurn, Ledger
from turnledger.demo.coordinator.provider_process import ProviderProcess
from turnledger.demo.coordinator.records import Records
from turnledger.demo.screen import Screen
from turnledger.demo.submission import Submission, recorded, said
from turnledger.demo.worker_process import WorkerProcess

SHORT_LEASE_SECONDS = 3.0  # of the claims that are waited for; a busy machine gets on within it
LONG_LEASE_SECONDS = 60.0
WORKERS = 2  # at the same time

_LEDGER = "ledger.db"
_PATIENCE_SECONDS = 20.0
_GLANCE_SECONDS = 0.02
_WORK_WIDTHS = (9, 24, 15)
_MODULE = "turnledger.demo.coordinator.worker"
_WORDS = {
    "claimed": "claims",
    "prepared": "stores the request",
    "dispatching": "records the dispatch",
    "sent": "sends the request",
    "answered": "gets the answer",
    "refused": "gets 429, records that",
    "cut-off": "is cut off, unanswered",
    "responded": "stores the answer",
    "acked": "completes the turn",
    "released": "gives the turn back",
    "left": "leaves it: a decision?",
    "too-late": "answers too late",
    "taken": "finds it taken",
    "idle": "finds no work",
}


@dataclass(frozen=True, slots=True)
class Stage:
    """What all steps work with.

    Attributes:
        records: What the provider writes down.
        folder: Where all files are.
        closing: What has to be closed at the end.
        messages: What is to be answered, in order: a turn each.
        workers: The worker processes, in the order of their appearance.
    """

    screen: Screen
    ledger: Ledger
    records: Records
    provider: ProviderProcess
    folder: Path
    closing: ExitStack
    messages: list[Submission] = field(default_factory=recorded)
    workers: list[WorkerProcess] = field(default_factory=list[WorkerProcess])

    def turn(self, number: int) -> str:
        """The id of the turn for a message, counted from 1."""
        return self.messages[number - 1].queued_turn_id

    def start_worker(self, lease_seconds: float = SHORT_LEASE_SECONDS) -> None:
        """Start one more worker process; it waits to be let go."""
        owner = f"worker-{len(self.workers) + 1}"
        worker = WorkerProcess(owner, self.folder / _LEDGER, lease_seconds, _MODULE)
        self.workers.append(self.closing.enter_context(worker))

    def watch(
        self,
        worker: WorkerProcess,
        last: str,
        turn_id: str = "",
        shown: Collection[str] = frozenset(_WORDS),
    ) -> None:
        """Let a worker go on until it says a word, and show what it does.

        Args:
            worker: Who works.
            last: The word.
            turn_id: The turn that it is to take up; default what it finds.
            shown: The words that are shown; default all.
        """
        for word, about in worker.until(last, turn_id):
            if word in shown:
                self.show(worker, _WORDS[word], about)

    def show_next(self, worker: WorkerProcess) -> None:
        """What a worker says that was let go before."""
        word, about = worker.listen()
        self.show(worker, _WORDS[word], about)

    def show(self, worker: WorkerProcess, what: str, turn_id: str = "") -> None:
        """What a worker does, or what happens to it."""
        texts = {one.queued_turn_id: said(one.parameters) for one in self.messages}
        row = (worker.owner, what, turn_id, texts.get(turn_id, ""))
        self.screen.row(row, _WORK_WIDTHS)

    def kill(self, worker: WorkerProcess, lease_seconds: float = SHORT_LEASE_SECONDS) -> None:
        """Kill a worker, show it, and start another one in its place."""
        if worker.kill():
            self.show(worker, "killed")
        else:
            self.screen.wrong(f"{worker.owner} had ended before")
        self.start_worker(lease_seconds)

    def show_turns(self) -> None:
        """How every turn stands, and its latest attempt."""
        self.screen.rows(
            [
                (turn.turn_id, turn.status, attempt_of(turn))
                for turn in self.ledger.coordinator.list()
            ]
        )

    def wait_until(self, has_come: Callable[[], bool], what: str) -> None:
        """Wait for something.

        Raises:
            TimeoutError: It doesn't come.
        """
        end = time.monotonic() + _PATIENCE_SECONDS
        while not has_come():
            if time.monotonic() > end:
                raise TimeoutError(f"this doesn't come: {what}")
            time.sleep(_GLANCE_SECONDS)

    def wait_for_record(self, word: str, turn_id: str) -> None:
        """Wait until the provider has written something down about a turn."""
        self.wait_until(lambda: bool(self.records.read(word, turn_id)), f"{turn_id} {word}")

    def wait_for_the_leases(self) -> None:
        """Wait until nobody's claim is live."""
        turns = self.ledger.coordinator.list(status="claimed")
        end = max((turn.expires_at for turn in turns if turn.expires_at), default=None)
        if end is not None:
            self.wait_until(lambda: datetime.now(UTC) >= end, "the end of the leases")


def attempt_of(turn: BegunTurn) -> str:
    """The latest attempt of a turn, in words."""
    if not turn.attempts:
        return "no attempt"
    return f"attempt {turn.attempts[-1].attempt} {turn.attempts[-1].status}"


@contextmanager
def opened(folder: Path, screen: Screen) -> Generator[Stage]:
    """Set the stage in a folder."""
    with ExitStack() as stack:
        ledger = stack.enter_context(turnledger.open(folder / _LEDGER))
        provider = stack.enter_context(ProviderProcess(folder))
        stage = Stage(screen, ledger, Records(folder), provider, folder, stack)
        for _ in range(WORKERS):
            stage.start_worker()
        yield stage
