"""turnledger beside its peers: one run, one machine, the same durability, all interleaved.

Each peer works in an environment of its own, made by pip, driven by a program of benchmarks/peers
that uses it as its documentation says. The rounds of all sides are interleaved, and the order
alternates. What counts are the ratios: turnledger's rate over the peer's, round by round.

    python benchmarks/peers.py                            all, some half an hour
    python benchmarks/peers.py --quick                    a few rounds, some minutes
    python benchmarks/peers.py --only dbos,procrastinate  some; turnledger is always there
    python benchmarks/peers.py --json FILE --chart FILE.svg
    python benchmarks/peers.py --environments FOLDER      keep the environments between runs
"""

import argparse
import json
import os
import platform
import signal
import sqlite3
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import cycle
import peers_report
from peers_environments import EVERYTHING, SIDES, Environments, PeerFailed, Program, Side
from rich.console import Console
from rich.progress import Progress

STORES = ("sqlite", "postgresql")
KEYS = (50, 1)
FIFO_CHECK = {"count": 40, "keys": 2, "nap": 0.005}


class Size(NamedTuple):
    """How much is measured.

    Attributes:
        rounds: Besides the first, which warms up.
        enqueue: Turns in a round.
        drain: Turns in a round, by the number of keys.
        latency: Turns in a round.
        latency_rounds: As `rounds`.
        idle: Seconds in which the worker's idle CPU is looked at, once.
    """

    rounds: int
    enqueue: int
    drain: dict[int, int]
    latency: int
    latency_rounds: int
    idle: float


LONG = Size(9, 300, {50: 400, 1: 150}, 15, 4, 10.0)
QUICK = Size(3, 100, {50: 150, 1: 40}, 6, 1, 5.0)


class Benchmark:
    """One run.

    Attributes:
        facts: Of each side: version, durability, workers, and why it isn't there.
        answers: By measure and side, what each round gave.
    """

    def __init__(
        self, environments: Environments, size: Size, measures: list[str], console: Console
    ) -> None:
        """Take where the peers are, and what and how much is wanted."""
        self._environments, self._size, self._measures = environments, size, measures
        self._console = console
        self.facts: dict[Side, dict[str, Any]] = {}
        self.answers: dict[str, dict[Side, list[dict[str, Any]]]] = {}

    def store(self, store: str, sides: list[Side], folder: Path) -> None:
        """Measure everything on a store."""
        with ExitStack() as stack:
            server = stack.enter_context(_server()) if store == "postgresql" else None
            for measure in self._measures:
                chosen = [side for side in sides if measure in side.measures]
                with ExitStack() as programs:
                    running = self._started(measure, chosen, folder, server, programs)
                    self._measure(measure, store, running)

    def _started(
        self, measure: str, sides: list[Side], folder: Path, server: Any, stack: ExitStack
    ) -> list[Program]:
        """The driver of each side, with a database of its own."""
        running = []
        for side in sides:
            facts = self.facts.setdefault(side, {})
            place = folder / f"{side.store} {measure} {side.title}".replace(" ", "_")
            place.mkdir()
            try:
                python, facts["version"] = self._environments.of(side)
                where = str(place)
                if server is not None:
                    database = stack.enter_context(server.new_database())
                    where = database.url.replace("+psycopg", "")
                program = Program(side, python, place)
                stack.callback(program.close)
                payload = {"submission": cycle.SUBMISSION}
                facts |= program.ask("prepare", store=side.store, where=where, payload=payload)
            except PeerFailed as failed:
                self._failed(side, measure, str(failed))
            else:
                running.append(program)
        return running

    def _measure(self, measure: str, store: str, running: list[Program]) -> None:
        """Interleave the rounds of all sides."""
        size = self._size
        orders: list[tuple[str, dict[str, Any]]] = []
        rounds = size.rounds
        if measure == "enqueue":
            orders.append(("enqueue", {"count": size.enqueue, "keys": KEYS[0]}))
        elif measure == "drain":
            orders += [(f"{keys}", {"count": size.drain[keys], "keys": keys}) for keys in KEYS]
            self._round("fifo", "drain", FIFO_CHECK, running)
        else:
            orders.append(("latency", {"count": size.latency}))
            rounds = size.latency_rounds
        with Progress(console=self._console, transient=True) as progress:
            for name, order in orders:
                task = progress.add_task(f"{store}, {measure} {name}", total=rounds + 1)
                for number in range(rounds + 1):
                    sides = running if number % 2 else running[::-1]
                    given = dict(order)
                    if measure == "latency":
                        given["idle"] = size.idle if number == rounds else 0
                    self._round(name if number else "", measure, given, sides)
                    progress.advance(task)

    def _round(self, name: str, do: str, order: dict[str, Any], running: list[Program]) -> None:
        """One round of all sides; without a name it only warms up."""
        for program in list(running):
            if do in self.facts[program.side].get("problems", {}):
                continue
            try:
                answer = program.ask(do, **order)
            except PeerFailed as failed:
                self._failed(program.side, do, str(failed))
                program.kill()
                continue
            if name:
                self.answers.setdefault(name, {}).setdefault(program.side, []).append(answer)

    def _failed(self, side: Side, measure: str, reason: str) -> None:
        self._console.print(f"[red]{side.title} on {side.store}, {measure}[/]: {reason}")
        self.facts[side].setdefault("problems", {})[measure] = reason


def _server() -> Any:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.postgresql.server import server  # noqa: PLC0415 - of a checkout only

    return server()


def machine() -> dict[str, Any]:
    """What it was measured on."""
    return {
        "cpus": os.cpu_count(),
        "load": os.getloadavg()[0],
        "system": platform.platform(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }


def arguments() -> argparse.Namespace:
    """Read them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few short rounds")
    parser.add_argument("--rounds", type=int, help="so many, for the rates")
    parser.add_argument("--only", metavar="NAME,...", help="of the peers, only these")
    parser.add_argument("--store", choices=STORES, help="only this one")
    parser.add_argument("--measure", choices=EVERYTHING, help="only this")
    parser.add_argument("--environments", type=Path, metavar="DIR", help="kept there")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--chart", type=Path, metavar="FILE.svg")
    given = parser.parse_args()
    known = {side.name for side in SIDES}
    only = set(given.only.split(",")) if given.only else known
    if unknown := only - known:
        parser.error(f"--only knows {', '.join(sorted(known))}, not {', '.join(unknown)}")
    given.only = only | {"turnledger"}
    given.measures = [each for each in EVERYTHING if given.measure in (None, each)]
    return given


def main() -> None:
    """Read the arguments, measure, print."""
    given = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # and so end what was started
    console = Console(stderr=True)
    size = QUICK if given.quick else LONG
    if given.rounds:
        size = size._replace(rounds=given.rounds)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="."))).absolute()
        environments = Environments((given.environments or folder / "environments").absolute())
        benchmark = Benchmark(environments, size, given.measures, console)
        for store in STORES:
            sides = [side for side in SIDES if side.store == store and side.name in given.only]
            if given.store in (None, store):
                benchmark.store(store, sides, folder)
    counts = {"enqueue": size.enqueue, **{str(keys): size.drain[keys] for keys in KEYS}}
    found = peers_report.figures(benchmark.facts, benchmark.answers, counts)
    found = {"machine": machine(), "size": size._asdict(), **found}
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    if given.chart:
        given.chart.write_text(peers_report.chart(found))
    peers_report.show(found, Console())


if __name__ == "__main__":
    main()
