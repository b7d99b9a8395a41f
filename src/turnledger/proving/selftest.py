"""The attacks, on the disk or the server of whoever runs them, for some minutes."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import gettempdir

from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.opening import is_on_server, path_of
from turnledger.proving.hunting import hunt
from turnledger.proving.kills import kill_rounds
from turnledger.proving.races import races
from turnledger.proving.rules import Broken

_SHARES = (0.4, 0.35, 0.25)  # of the time
_WITHOUT_END = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """What an attack has shown.

    Attributes:
        name: Which one.
        claim: What is guaranteed.
        figures: What was done, in words.
        seed: It repeats the attack.
        seconds: How long it took.
        broken: The rule that doesn't hold, and what shows it; None if all held.
    """

    name: str
    claim: str
    figures: str
    seed: int
    seconds: float
    broken: str | None = None


def place_of(url_or_path: str) -> str:
    """Where to make ledgers beside one: its folder, or its server's database."""
    if is_on_server(url_or_path):
        return url_or_path
    return str(path_of(url_or_path).parent)


def run(place: str, minutes: float, seed: int = 0) -> Iterator[Attack]:
    """Attack ledgers that are made for it, and removed in the end.

    Args:
        place: A folder, or a server's URL: schemas of their own are made in its database.
        minutes: So long, about.
        seed: Where chance begins.
    """
    jobs = max(2, os.cpu_count() or 2)
    folder = Path(gettempdir() if is_on_server(place) else place)
    attacks: tuple[tuple[str, str, Callable[[float], str]], ...] = (
        (
            "simulation",
            "whatever owners, clocks and crashes do, what is documented holds",
            lambda seconds: _simulated(folder, jobs, seconds, seed),
        ),
        (
            "kill -9",
            "nothing acknowledged is lost, no effect happens twice, and order is kept",
            lambda seconds: _killed(place, seconds, seed),
        ),
        (
            "races",
            "claims of many processes are as if given out one by one",
            lambda seconds: _raced(place, seconds, seed),
        ),
    )
    for (name, claim, attack), share in zip(attacks, _SHARES, strict=True):
        start, broken, figures = steady(), None, ""
        try:
            figures = attack(minutes * 60 * share)
        except Broken as error:
            broken = str(error)
        yield Attack(
            name=name,
            claim=claim,
            figures=figures,
            seed=seed,
            seconds=steady() - start,
            broken=broken,
        )


def _simulated(folder: Path, jobs: int, seconds: float, seed: int) -> str:
    done = hunt(count(seed), folder, jobs=jobs, seconds=seconds)
    if done.found is not None:
        steps = "\n".join(done.found.steps)
        raise Broken(f"{done.found.message}\nseed {done.found.seed}:\n{steps}")
    return f"{done.histories:,} histories, {done.calls:,} calls, {done.crashes:,} of them crashed"


def _killed(place: str, seconds: float, seed: int) -> str:
    done = kill_rounds(place, _WITHOUT_END, seed=seed, seconds=seconds)
    told = f"{done.rounds:,} rounds, {done.killed:,} processes killed, {done.turns:,} turns"
    return f"{told} acknowledged, {done.doubtful:,} answers lost, {done.unknown:,} outcomes unknown"


def _raced(place: str, seconds: float, seed: int) -> str:
    done = races(place, _WITHOUT_END, seed=seed, seconds=seconds)
    if done.noticed < done.corrupted:
        raise Broken("a forged success is noticed")
    return f"{done.histories:,} histories, {done.calls:,} calls, {done.refused:,} late ones refused"
