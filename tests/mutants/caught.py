"""Puts each fault of mutants.py into a copy of the package, and lets the simulation look for it.

    python tests/mutants/caught.py                     all; the exit status is 1 if one isn't found
    python tests/mutants/caught.py --only epoch        those with this in their name
    python tests/mutants/caught.py --seconds 60        how long each is looked for

The control comes first: the package as it is, in which nothing may be found.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.mutants.mutants import MUTANTS, Mutant, put_in  # noqa: E402 - of a checkout only

SIMULATE = ROOT / "tests" / "simulation" / "simulate.py"


class Verdict(NamedTuple):
    """What became of a fault.

    Attributes:
        name: Which; likewise room.
        rule: The one that shows it; None if it wasn't found.
        seed: It repeats the history that shows it.
        histories: How many were clean before.
        steps: Of the shortest history that shows it.
        seconds: How long it took.
    """

    name: str
    room: str
    rule: str | None
    seed: int | None
    histories: int
    steps: int
    seconds: float


def looked_for(package: Path, seconds: float) -> dict[str, Any]:
    """Let the simulation run on a copy of the package."""
    arguments = ["--jobs", "1", "--json", "--seconds", str(seconds)]
    done = subprocess.run(
        [sys.executable, str(SIMULATE), *arguments],
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout:  # it didn't get as far as a history
        words = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "nothing is said"
        return {"histories": 0, "found": {"rule": words, "seed": 0, "steps": []}}
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def judged(mutant: Mutant | None, seconds: float) -> Verdict:
    """Look for a fault; None is the package as it is."""
    start = perf_counter()
    with TemporaryDirectory(prefix="turnledger-mutant-") as folder:
        package = Path(folder) / "turnledger"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src" / "turnledger", package, ignore=ignored)
        if mutant is not None:
            put_in(mutant, package)
        told = looked_for(package, seconds)
    found = told["found"] or {"rule": None, "seed": None, "steps": []}
    name, room = (mutant.name, mutant.room) if mutant else ("none: the control", "")
    counts = (told["histories"], len(found["steps"]))
    return Verdict(name, room, found["rule"], found["seed"], *counts, perf_counter() - start)


def verdicts(part: str, seconds: float) -> Iterator[Verdict]:
    """Of the control, and of each fault with such a name."""
    yield judged(None, seconds)
    for mutant in MUTANTS:
        if part in mutant.name:
            yield judged(mutant, seconds)


def main() -> int:
    """Look for all of them, and tell what finds each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORDS")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each")
    parser.add_argument("--json", action="store_true", help="for programs")
    given = parser.parse_args()
    missed = 0
    for verdict in verdicts(given.only, given.seconds):
        is_control = not verdict.room
        missed += (verdict.rule is None) is not is_control
        if given.json:
            print(json.dumps(verdict._asdict()), flush=True)
            continue
        said = verdict.rule or "nothing found"
        about = f"seed {verdict.seed}, {verdict.steps} steps, {verdict.seconds:.0f} s"
        print(f"{verdict.room:10} {verdict.name}: {said} ({about})", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
