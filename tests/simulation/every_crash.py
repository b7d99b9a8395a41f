"""Crashes before and after every statement of each command, and of each two in a row.

A random history leads to a state; in it a command is given, and another one after it. Each is given
again from the same state with a crash at each of its statements, before it and after it, so also
between the commit and the answer; then the caller asks again. Every time the answers and all rows
must be as if there had been no crash.

    python tests/simulation/every_crash.py                  all
    python tests/simulation/every_crash.py --part 40        one of forty pairs, for a look

The control is the same with a recorder that keeps no receipts: that must be noticed.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import NamedTuple

from turnledger.infrastructure import sqlite_recorder
from turnledger.proving.auditor import Auditor
from turnledger.proving.calls import Step
from turnledger.proving.hunting import hunt, quiet, simulated
from turnledger.proving.rules import Broken
from turnledger.proving.simulation import Taken, crashed
from turnledger.proving.wishes import CALLS, Wishes
from turnledger.proving.world import SETTINGS, Point, World

BEFORE = 25  # steps that lead to a state
_TRIES = 5  # states in which a command is given, at most, until one changes something


class Done(NamedTuple):
    """What came of it.

    Attributes:
        commands: Given alone; likewise pairs.
        effective: Of both, those that changed something.
        points: Where it crashed, altogether.
        broken: What was found, if anything.
    """

    commands: int = 0
    pairs: int = 0
    effective: int = 0
    points: int = 0
    broken: str = ""


class Prepared(NamedTuple):
    """A world that a history has led to a state, and what is known of it."""

    world: World
    auditor: Auditor
    wishes: Wishes

    def take(self, call: str) -> Taken:
        """Give a command as it makes sense."""
        return self.give(self.wishes.next(call))

    def give(self, step: Step) -> Taken:
        """Give a command."""
        answer = self.world.call(step) or ""
        statements = self.world.statements
        happened = self.world.events(self.auditor.position)
        self.auditor.hear(step, self.world.now(step), answer, happened)
        return Taken(step, answer, statements)


def prepared(world: World, seed: str) -> Prepared:
    """A state that a random history leads to."""
    world.put_back()
    auditor = Auditor(SETTINGS)
    wishes = Wishes(Random(seed), auditor)
    done = Prepared(world, auditor, wishes)
    for _ in range(BEFORE):
        done.give(wishes.next())
    return done


def every_point(taken: Taken) -> Iterator[Point]:
    """Before the first statement and after each: before the next one is the same instant."""
    if taken.statements:
        yield Point(1, "before")
    for statement in range(1, taken.statements + 1):
        yield Point(statement, "after")


def crash_everywhere(world: World, calls: tuple[str, ...], seed: str) -> tuple[int, bool]:
    """Give commands one after the other; the last one crashes at each of its statements.

    Returns:
        How many points there were, and whether the last one changed something.
    """
    state = prepared(world, seed)
    for call in calls[:-1]:
        state.take(call)
    before, position = world.snapshot(), world.last_committed()
    taken = state.take(calls[-1])
    effective, after = world.last_committed() > position, world.tables()
    points = list(every_point(taken))
    for point in points:
        crashed(world, taken, before, [point], after)
    return len(points), effective


def one(calls: tuple[str, ...], world: World) -> Done:
    """A command, or two, in some states until they change something."""
    points, effective = 0, False
    for number in range(_TRIES // len(calls)):
        try:
            count, effective = crash_everywhere(world, calls, f"{calls} {number}")
        except Broken as error:
            return Done(broken=f"{calls}: {error}")
        points += count
        if effective:
            break
    return Done(int(len(calls) == 1), int(len(calls) > 1), int(effective), points)


def several(cases: list[tuple[str, ...]], folder: Path) -> Done:
    """One after the other, in one world: each begins by putting it back."""
    total = Done()
    with quiet(), simulated(folder) as simulation:
        for calls in cases:
            total = added(total, one(calls, simulation.world))
    return total


def added(total: Done, done: Done) -> Done:
    """Both together."""
    counts = (a + b for a, b in zip(total[:-1], done[:-1], strict=True))
    return Done(*counts, total.broken or done.broken)


def control(folder: Path) -> str:
    """What is noticed if no receipts are kept."""
    kept = sqlite_recorder.SqliteRecorder._insert_event

    def without(self, cursor, event, last):  # noqa: ANN001, ANN202 - as the one that it stands for
        kept(self, cursor, event, last)
        cursor.execute("DELETE FROM receipts")

    sqlite_recorder.SqliteRecorder._insert_event = without
    try:
        found = hunt(range(200), folder).found
    finally:
        sqlite_recorder.SqliteRecorder._insert_event = kept
    return found.rule if found else ""


def main() -> int:
    """Crash everywhere; the exit status is 1 if a crash left a trace, or the control is blind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", type=int, default=1, help="one of so many pairs")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    given = parser.parse_args()
    pairs = [(first, second) for first in CALLS for second in CALLS][:: given.part]
    cases = [*((call,) for call in CALLS), *pairs]
    parts = [cases[place::64] for place in range(64)]
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        total = Done()
        for done in pool.map(several, parts, [given.folder] * len(parts)):
            total = added(total, done)
    noticed = control(given.folder)
    told = {**total._asdict(), "control": noticed or "nothing was noticed"}
    print(json.dumps(told))
    return 1 if total.broken or not noticed else 0


if __name__ == "__main__":
    sys.exit(main())
