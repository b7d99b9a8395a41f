"""Every attack, one after the other, with its figures, seed, time and command; see ./prove."""

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_SHOWN = 400  # characters of what a program says


class Item(NamedTuple):
    """An attack.

    Attributes:
        number: In the table of docs/proof.md.
        claim: What is guaranteed.
        program: In the tree, with its arguments; {…} is a number.
        whole: That number.
        short: Likewise, for a look.
    """

    number: int
    claim: str
    program: str
    whole: int
    short: int

    def command(self, *, short: bool, seed: int) -> str:
        """What is typed."""
        count = self.short if short else self.whole
        return f"python {self.program.format(count=count, seed=seed)}"


class Result(NamedTuple):
    """What became of one.

    Attributes:
        held: Whether the guarantee held, and its control failed as it must.
        said: What its program said at last.
        seconds: How long it took.
    """

    number: int
    claim: str
    held: bool
    said: str
    seconds: float
    command: str


_ATTACK = "tests/proof/attack.py"
ITEMS = (
    Item(
        1,
        "a crash at any statement leaves no trace",
        "tests/simulation/every_crash.py --part {count}",
        1,
        200,
    ),
    Item(
        1,
        "a server's process that is ended in a command is no answer lost",
        f"{_ATTACK} answers --points {{count}} --seed {{seed}}",
        5_000,
        50,
    ),
    Item(
        2,
        "whatever owners, clocks and crashes do, what is documented holds",
        "tests/simulation/simulate.py --jobs 2 --json --from {seed} --histories {count}",
        30_000,
        300,
    ),
    Item(
        2,
        "the simulation isn't blind",
        "tests/mutants/caught.py --json --seconds {count} --only 'stays in the queue'",
        60,
        60,
    ),
    Item(
        3,
        "kill -9 loses nothing acknowledged, and no effect happens twice",
        f"{_ATTACK} kills --rounds {{count}} --seed {{seed}}",
        1_000,
        10,
    ),
    Item(
        4,
        "a power cut loses nothing acknowledged",
        "tests/power/cut.py --images {count} --seed {seed}",
        20_000,
        200,
    ),
    Item(
        5,
        "claims are as if given out one by one (5), in the order of the log (6)",
        f"{_ATTACK} races --histories {{count}} --seed {{seed}}",
        10_000,
        100,
    ),
    Item(
        7,
        "a follower sees every event once, in order",
        "benchmarks/follow_postgresql.py --events {count}",
        200_000,
        5_000,
    ),
    Item(
        8,
        "a fail-over loses nothing acknowledged",
        "benchmarks/fail_over_postgresql.py --times {count}",
        20,
        1,
    ),
    Item(
        10,
        "a lost claim changes nothing, whatever the clocks say",
        f"{_ATTACK} fences --rounds {{count}}",
        100,
        5,
    ),
    Item(
        11,
        "rebuilt rows are the live ones, byte for byte",
        f"{_ATTACK} rebuilt --histories {{count}} --seed {{seed}}",
        500,
        10,
    ),
    Item(
        12,
        "whatever is put in is taken, or refused in our own words",
        "tests/fuzz/fuzz.py --inputs {count} --seed {seed}",
        1_000_000,
        10_000,
    ),
    Item(
        15,
        "damage is found, and its place is named",
        "tests/damage/damage.py --places {count}",
        10_000,
        100,
    ),
)
MUTANTS = Item(
    13, "each fault is found", "tests/mutants/caught.py --json --seconds {count}", 60, 60
)


def attacked(item: Item, *, short: bool, seed: int) -> Result:
    """Run an attack's program."""
    command = item.command(short=short, seed=seed)
    program, start = shlex.split(command)[1:], perf_counter()
    done = subprocess.run(
        [sys.executable, *program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    held = done.returncode == 0
    said = done.stdout.strip() if held else f"{done.stdout}\n{done.stderr}".strip()
    return Result(item.number, item.claim, held, said, perf_counter() - start, command)


def shown(result: Result) -> str:
    """A result on one line, or with all that was said if it didn't hold."""
    word = "held  " if result.held else "BROKEN"
    said = " ".join(result.said.split())[:_SHOWN] if result.held else result.said
    head = f"{word} {result.number:2} {result.claim} ({result.seconds:.0f} s)"
    return f"{head}\n          {said}\n          {result.command}"


def chosen(given: argparse.Namespace) -> Iterator[Item]:
    """The attacks that are wanted."""
    if given.mutants:
        yield MUTANTS
        return
    yield from (item for item in ITEMS if given.only in (None, item.number))


def main() -> int:
    """Attack; print each, and in the end the table as JSON."""
    parser = argparse.ArgumentParser(prog="./prove", description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a hundredth of it")
    parser.add_argument("--only", type=int, metavar="NUMBER")
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table there as well")
    given = parser.parse_args()
    results: list[Result] = []
    for item in chosen(given):
        results.append(attacked(item, short=given.short, seed=given.seed))
        print(shown(results[-1]), flush=True)
    if given.json:
        rows = [result._asdict() for result in results]
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    held = sum(result.held for result in results)
    total = sum(result.seconds for result in results)
    print(f"{held} of {len(results)} held, {total / 60:.0f} minutes")
    return 0 if results and held == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
