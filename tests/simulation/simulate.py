"""Random histories of a whole ledger, audited and crashed; see turnledger.proving.simulation.

python tests/simulation/simulate.py                        30,000 histories
python tests/simulation/simulate.py --histories 500 --from 7
python tests/simulation/simulate.py --seed 12345           one, again, told step by step
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from turnledger.proving.hunting import Hunt, explained, hunt, simulated
from turnledger.proving.simulation import Failure


def repeat(seed: int, folder: Path) -> Hunt:
    """One history, told step by step."""
    with simulated(folder) as simulation:
        try:
            for step in simulation.history(seed):
                print(step)
        except Failure as failure:
            for step in failure.steps:
                print(step)
            return Hunt(0, simulation.calls, simulation.points, explained(failure, folder))
        return Hunt(1, simulation.calls, simulation.points)


def main() -> int:
    """Run what is asked for; the exit status is 1 if a rule was broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, help="repeat one history")
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="SEED")
    parser.add_argument("--histories", type=int, default=30_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--json", action="store_true", help="for programs")
    given = parser.parse_args()
    if given.seed is not None:
        done = repeat(given.seed, given.folder)
    else:
        seeds = range(given.first, given.first + given.histories)
        done = hunt(seeds, given.folder, jobs=given.jobs, seconds=given.seconds)
    if given.json:
        told = {**done._asdict(), "found": done.found and done.found._asdict()}
        print(json.dumps(told))
    else:
        counts = f"{done.histories:,} histories, {done.calls:,} calls, {done.crashes:,} crashed"
        print(f"{counts}, {done.seconds:.1f} s")
        if done.found is not None:
            print(f"seed {done.found.seed}: {done.found.message}", *done.found.steps, sep="\n  ")
    return done.found is not None


if __name__ == "__main__":
    sys.exit(main())
