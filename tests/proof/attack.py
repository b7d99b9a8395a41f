"""The attacks of ./prove that need a program of their own; each tells what it found as JSON.

python tests/proof/attack.py kills --rounds 1000        kill -9, on SQLite and on PostgreSQL
python tests/proof/attack.py races --histories 10000    likewise; a copy without fences must fail
python tests/proof/attack.py fences --rounds 200        stale claims, clocks that jump, SIGSTOP
python tests/proof/attack.py rebuilt --histories 200    rebuilt rows against live ones
python tests/proof/attack.py answers --points 5000      server processes ended in the middle
"""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from tempfile import gettempdir
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.postgresql.server import server
from tests.proof.answers import answers
from tests.proof.fences import fences
from tests.proof.rebuilt import rebuilt
from tests.proof.unfenced import unfenced
from turnledger.proving.kills import kill_rounds
from turnledger.proving.linear import Op, in_log_order
from turnledger.proving.races import races

Told = dict[str, Any]
ON_SERVER = 0.1  # this part of the rounds and histories


def kills(given: argparse.Namespace) -> Told:
    """Rounds on both stores."""
    on_server = round(given.rounds * ON_SERVER)
    on_file = kill_rounds(gettempdir(), given.rounds - on_server, seed=given.seed)
    with server() as running, running.new_database() as database:
        elsewhere = kill_rounds(database.url, on_server, seed=given.seed)
    total = {name: one + asdict(elsewhere)[name] for name, one in asdict(on_file).items()}
    return {**total, "on PostgreSQL": asdict(elsewhere), "good": total["acked"] > 0}


def race(given: argparse.Namespace) -> Told:
    """Histories on both stores; then the controls."""
    on_server = round(given.histories * ON_SERVER)
    on_file = races(gettempdir(), given.histories - on_server, seed=given.seed)
    with server() as running, running.new_database() as database:
        elsewhere = races(database.url, on_server, seed=given.seed)
    forged = on_file.corrupted + elsewhere.corrupted
    noticed = on_file.noticed + elsewhere.noticed
    without = unfenced()
    good = noticed == forged > 0 and without and swapped()
    return {
        **on_file._asdict(),
        "on PostgreSQL": elsewhere._asdict(),
        "control: successes forged, and noticed": [forged, noticed],
        "control: what a copy without fences shows": without,
        "control: a swapped pair in the log is noticed": swapped(),
        "good": bool(good),
    }


def swapped() -> bool:
    """Whether the witness notices two events in the wrong order."""
    history = [Op("claim", "a", 0, 1, 0.0, 1.0), Op("release", "a", 1, 1, 2.0, 3.0)]
    log = [("claim", 1), ("release", 1)]
    return in_log_order(history, log) and not in_log_order(history, log[::-1])


ATTACKS: dict[str, Callable[[argparse.Namespace], Told]] = {
    "kills": kills,
    "races": race,
    "fences": lambda given: fences(given.rounds),
    "rebuilt": lambda given: rebuilt(given.histories, given.seed),
    "answers": lambda given: answers(given.points, given.seed),
}


def main() -> int:
    """Attack; the exit status is 1 if something didn't hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("attack", choices=ATTACKS)
    for name in ("rounds", "histories", "points"):
        parser.add_argument(f"--{name}", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    told = ATTACKS[given.attack](given)
    print(json.dumps(told))
    return 0 if told["good"] else 1


if __name__ == "__main__":
    sys.exit(main())
