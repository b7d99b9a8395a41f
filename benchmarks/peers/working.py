"""Worker processes of a driver of benchmarks/peers.py, and what they tell of a measurement."""

import multiprocessing
import resource
import time
import traceback
from abc import ABC, abstractmethod
from collections import defaultdict
from itertools import pairwise
from multiprocessing.connection import Connection
from threading import Event, Thread
from typing import Any, ClassVar, NamedTuple

Turn = dict[str, Any]  # the payload: what the benchmark gives, and the key and the number


class Handled(NamedTuple):
    """That a worker had a turn in its hands; times in nanoseconds of the machine's clock."""

    key: str
    number: int
    began: int
    ended: int


class Run:
    """What a worker does between the start and the end of one measurement."""

    def __init__(self, pipe: Connection, counter: Any, size: int) -> None:
        """Take the way to the driver, how many turns were handled by all, and the workers' size."""
        self.handled: list[Handled] = []
        self.failures: list[str] = []
        self.stop = Event()
        self.size = size
        self._pipe, self._counter, self._go = pipe, counter, Event()
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()

    def go(self) -> None:
        """Say that one is ready, and wait until all are told to begin."""
        self._pipe.send("ready")
        self._go.wait()

    def handle(self, turn: Turn, *, count: bool = True) -> None:
        """Be the no-op handler; it naps where the order of handling is looked at."""
        began = time.monotonic_ns()
        if turn["nap"]:
            time.sleep(turn["nap"])
        self.handled.append(Handled(turn["key"], turn["number"], began, time.monotonic_ns()))
        if count:
            self.count()

    def count(self) -> None:
        """A turn is handled, and acked by one's own call if the peer wants that."""
        with self._counter.get_lock():
            self._counter.value += 1

    def work(self, peer: "Peer") -> None:
        """Let the peer work, in this thread."""
        try:
            peer.work(self)
        except Exception as error:  # noqa: BLE001 - the driver says what went wrong
            traceback.print_exc()
            self.failures.append(f"a worker ended: {type(error).__name__}: {error}")

    def close(self) -> None:
        """Report, when the work is over."""
        self._listener.join()
        self._pipe.send((self.handled, self.failures))

    def _listen(self) -> None:
        while (order := self._pipe.recv()) != "stop":
            if order == "go":
                self._go.set()
            else:
                used = resource.getrusage(resource.RUSAGE_SELF)
                self._pipe.send(used.ru_utime + used.ru_stime)
        self.stop.set()


class Peer(ABC):
    """One library in use. What isn't abstract may be left as it is.

    Attributes:
        processes: How many worker processes for each store.
        threads: How many times `work` is called at once in each of them.
        workers: How that is called in the table, where it isn't plain.
        note: What else one must know.
        gap: Between two turns of the latency, seconds: about as long as the peer's polling.
    """

    processes: ClassVar[dict[str, int]] = {"sqlite": 1, "postgresql": 4}
    threads: ClassVar[dict[str, int]] = {"sqlite": 4, "postgresql": 1}
    workers: ClassVar[dict[str, str]] = {}
    note: ClassVar[str] = ""
    gap: ClassVar[float] = 0.3

    def __init__(self, store: str, where: str, size: int = 4) -> None:
        """Remember where the data is: a folder, or the URL of an empty database."""
        self.store, self.where, self.size = store, where, size

    @abstractmethod
    def prepare(self) -> str:
        """Make what is needed, once; give the durability that it really has."""

    def open(self) -> None:  # noqa: B027 - not every peer needs it
        """Connect, in a driver or a worker process."""

    @abstractmethod
    def put(self, turn: Turn) -> None:
        """Enqueue one."""

    def unfinished(self) -> int:
        """How many are not acked, once all were handled."""
        return 0

    def work(self, run: Run) -> None:  # noqa: ARG002 - those that are queues need it
        """Handle turns until told to stop, in a worker process; what is no queue can't."""
        msg = f"{type(self).__name__} hands nothing out"
        raise RuntimeError(msg)

    def begin(self) -> None:  # noqa: B027 - not every peer needs it
        """In the driver, when the workers begin."""

    def end(self) -> None:  # noqa: B027 - not every peer needs it
        """In the driver, before the workers stop."""

    def close(self) -> None:  # noqa: B027 - not every peer needs it
        """Disconnect."""


def worker(peer: Peer, threads: int, pipe: Connection, counter: Any) -> None:
    """A worker process."""
    peer.open()
    pipe.send("open")
    while pipe.recv() == "run":
        run = Run(pipe, counter, peer.size)
        others = [Thread(target=run.work, args=(peer,)) for _ in range(threads - 1)]
        for other in others:
            other.start()
        run.work(peer)
        for other in others:
            other.join()
        run.close()
    peer.close()


class Crowd:
    """Worker processes."""

    def __init__(self, kind: type[Peer], processes: int, threads: int, given: Any) -> None:
        """Start them."""
        context = multiprocessing.get_context("spawn")
        self._counter = context.Value("q", 0)
        self._threads, self._crowd = threads, []
        for _ in range(processes):
            mine, theirs = context.Pipe()
            arguments = (kind(*given), threads, theirs, self._counter)
            process = context.Process(target=worker, args=arguments, daemon=False)
            process.start()
            theirs.close()
            self._crowd.append((process, mine))
        for _, pipe in self._crowd:
            pipe.recv()

    @property
    def handled(self) -> int:
        """How many turns were handled since `ready`."""
        return int(self._counter.value)

    def ready(self) -> None:
        """Let them make ready."""
        self._counter.value = 0
        self._tell("run")
        for _, pipe in self._crowd:
            for _ in range(self._threads):
                pipe.recv()

    def go(self) -> None:
        """Let them begin."""
        self._tell("go")

    def stop(self) -> list[Handled]:
        """Let them stop; what they handled, by time.

        Raises:
            RuntimeError: One ended before.
        """
        self._tell("stop")
        reports = [pipe.recv() for _, pipe in self._crowd]
        for _, failures in reports:
            if failures:
                raise RuntimeError(failures[0])
        return sorted((one for handled, _ in reports for one in handled), key=lambda one: one.began)

    def cpu(self) -> float:
        """The seconds of CPU that the first of them used since its start."""
        pipe = self._crowd[0][1]
        pipe.send("cpu")
        return float(pipe.recv())

    def close(self) -> None:
        """End them."""
        self._tell("end")
        for process, _ in self._crowd:
            process.join(10)
            if process.is_alive():
                process.kill()

    def _tell(self, order: str) -> None:
        for _, pipe in self._crowd:
            pipe.send(order)


def in_order(handled: list[Handled]) -> bool:
    """Whether each key's turns were handled one behind the other, in the order they were put in."""
    keys: dict[str, list[Handled]] = defaultdict(list)
    for one in handled:
        keys[one.key].append(one)
    return all(
        later.number > one.number and later.began >= one.ended
        for each in keys.values()
        for one, later in pairwise(each)
    )
