"""Many histories, in several processes, until one breaks a rule or the time is out."""

import logging
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from turnledger.infrastructure.clock import steady
from turnledger.proving.shrinking import shrunk
from turnledger.proving.simulation import STEPS, Failure, Simulation
from turnledger.proving.world import World

_TOGETHER = 50  # histories of one errand


class Found(NamedTuple):
    """What a history shows that breaks a rule.

    Attributes:
        seed: It repeats the history.
        rule: Which one, in words.
        message: With what is to be seen.
        steps: The shortest history that was found.
    """

    seed: int
    rule: str
    message: str
    steps: tuple[str, ...]


class Hunt(NamedTuple):
    """What came of many histories.

    Attributes:
        histories: How many there were; likewise calls in them, and calls that crashed.
        found: The first that breaks a rule, if one does.
        seconds: How long it took.
    """

    histories: int = 0
    calls: int = 0
    crashes: int = 0
    found: Found | None = None
    seconds: float = 0.0

    def with_(self, other: "Hunt") -> "Hunt":
        """Both together."""
        histories, calls, crashes = (
            one + two for one, two in zip(self[:3], other[:3], strict=True)
        )
        return Hunt(histories, calls, crashes, self.found or other.found)


def hunt(
    seeds: Iterable[int], folder: Path, *, jobs: int = 1, seconds: float = float("inf")
) -> Hunt:
    """Run a history for each seed.

    Args:
        seeds: One for each.
        folder: Where the databases lie for the time being.
        jobs: In so many processes; 1 is this one.
        seconds: No history is begun after that.
    """
    start = steady()
    total = Hunt()
    for part in _parts(iter(seeds), folder, jobs, start + seconds):
        total = total.with_(part)
        if total.found is not None:
            break
    return total._replace(seconds=steady() - start)


def _parts(seeds: Iterator[int], folder: Path, jobs: int, end: float) -> Iterator[Hunt]:
    errands = iter(lambda: list(islice(seeds, _TOGETHER)), [])
    if jobs == 1:
        yield from (run(errand, folder, end) for errand in errands if steady() < end)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        first = islice(errands, 2 * jobs)
        waiting = {pool.submit(run, errand, folder, end) for errand in first}
        while waiting:
            done = next(as_completed(waiting))
            waiting.remove(done)
            yield done.result()
            errand = next(errands, None) if steady() < end else None
            if errand:
                waiting.add(pool.submit(run, errand, folder, end))


def run(seeds: Iterable[int], folder: Path, end: float) -> Hunt:
    """Some histories in this process.

    Args:
        seeds: Of each.
        folder: Where the database lies for the time being.
        end: When to begin no more of them, by `steady`.
    """
    count, found = 0, None
    with quiet(), simulated(folder) as simulation:
        for seed in seeds:
            if steady() >= end:
                break
            try:
                simulation.history(seed)
            except Failure as failure:
                found = explained(failure, folder)
                break
            count += 1
        return Hunt(count, simulation.calls, simulation.points, found)


def explained(failure: Failure, folder: Path) -> Found:
    """A failure as short as it gets."""
    with simulated(folder) as simulation:
        short = shrunk(simulation, failure)
    return Found(failure.seed, short.rule, str(short.error), tuple(map(str, short.steps)))


@contextmanager
def simulated(folder: Path, steps: int = STEPS) -> Generator[Simulation]:
    """A simulation in a folder, of which nothing is left."""
    with TemporaryDirectory(prefix="turnledger-", dir=folder) as place:
        world = World(Path(place))
        try:
            yield Simulation(world, steps)
        finally:
            world.close()


@contextmanager
def quiet() -> Generator[None]:
    """Clocks that step are what it is about: let nobody be warned of them."""
    log = logging.getLogger("turnledger")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)
