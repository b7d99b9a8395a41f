"""Cuts the power at random under a ledger that works: what was acknowledged must stay.

    python tests/power/cut.py                   20,000 images of each setting
    python tests/power/cut.py --images 500

The controls must lose: the setting that may lose the last commits; and a log that was switched to
in the wrong order, which a file system of the second kind (images.py) doesn't forgive.
"""

import argparse
import json
import sys
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.power.images import Outcome, images
from tests.power.recording import (
    DELETE_EXTRA,
    WAL_FULL,
    WAL_LATE,
    WAL_NORMAL,
    Setting,
    recorded,
)

_EACH = 250  # images of one recording


def cut(setting: Setting, count: int, seed: int) -> Outcome:
    """So many images, half of them on each kind of file system."""
    total = Outcome()
    with TemporaryDirectory(prefix="turnledger-power-") as folder:
        number = 0
        while total.images < count:
            each = min(_EACH, (count + 1) // 2, count - total.images)
            at_once = number % 2 == 0
            if at_once:
                recording = recorded(Path(folder), setting, seed + number)
            random = Random(f"{seed} {number}")
            done = images(recording, each, random, Path(folder), names_at_once=at_once)
            total = Outcome(*(a + b for a, b in zip(total, done, strict=True)))
            number += 1
    return total


def main() -> int:
    """Cut, and tell; the exit status is 1 if something was lost, or the control lost nothing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    controls = (WAL_NORMAL, WAL_LATE)
    good = True
    for setting in (WAL_FULL, DELETE_EXTRA, *controls):
        count = given.images // 10 if setting in controls else given.images
        done = cut(setting, count, given.seed)
        safe = not done.lost and not done.corrupt
        good &= safe is (setting not in controls)
        print(json.dumps({"setting": setting.name, **done._asdict()}), flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
