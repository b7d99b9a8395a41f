"""SQLite's WAL-reset bug: that it is there, and that the store's checkpoints can't meet it.

SQLite 3.7.0 to 3.51.2 (but for the backports 3.50.7 and 3.44.6) loses committed pages if a passive
checkpoint on one connection has read the log's header when a writer on another starts the log
anew: it then marks frames as copied that are yet to be written. Between the two lies the unmapping
of what the checkpointing connection has mapped, which takes the longer the more that is.

    python tests/wal_guard/wal_guard.py control             the bug, on a plain database
    python tests/wal_guard/wal_guard.py control --locked    the same, but under the write lock
    python tests/wal_guard/wal_guard.py store               turnledger's store

The control isn't part of the tests: it shows what the build of SQLite does, not what turnledger
does. On a build that isn't exposed it finds nothing.
"""

import argparse
import json
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import turnledger
from turnledger import Settings
from turnledger.infrastructure import write_ahead_log

BALLAST_MEBIBYTES = 100  # what the checkpointing connection maps
MAPPED_BYTES = 1 << 30
SETTINGS = Settings(max_visible_turns=100_000, synchronous="NORMAL")

Pipes = tuple[IO[str], IO[str]]


class Checkpoints(NamedTuple):
    """How the other process makes its checkpoints.

    Attributes:
        mapped_bytes: How much of the database it maps.
        locked: Whether a connection of it holds the write lock meanwhile.
    """

    mapped_bytes: int
    locked: bool


def main() -> None:
    """Read the arguments, run, print what was found as JSON."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    modes = parser.add_subparsers(dest="mode", required=True)
    control_mode = modes.add_parser("control", help="a plain database")
    control_mode.add_argument("--runs", type=int, default=6)
    control_mode.add_argument("--rounds", type=int, default=50, help="at most so many in a run")
    control_mode.add_argument("--no-mmap", action="store_true", help="the window is much shorter")
    control_mode.add_argument("--locked", action="store_true", help="as turnledger's store does it")
    store_mode = modes.add_parser("store", help="turnledger's store")
    store_mode.add_argument("--commits", type=int, default=2500, help="of each of two processes")
    for child in ("checkpointer", "writer"):
        started = modes.add_parser(child, help="(a process that the others start)")
        started.add_argument("rest", nargs="*")
    given = parser.parse_args()
    if given.mode == "control":
        mapped_bytes = 0 if given.no_mmap else MAPPED_BYTES
        report(control(given.runs, given.rounds, Checkpoints(mapped_bytes, given.locked)))
    elif given.mode == "store":
        report(store(given.commits))
    elif given.mode == "checkpointer":
        checkpointer(*given.rest)
    else:
        writer(*given.rest)


def report(found: dict[str, object]) -> None:
    """Print what was found, with the build on which it was."""
    print(json.dumps({"sqlite": sqlite3.sqlite_version, **found}))


@contextmanager
def child(mode: str, *arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """Another process of this program."""
    command = [sys.executable, __file__, mode, *map(str, arguments)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1) as started:
        try:
            yield started
        finally:
            started.kill()


# --- the control: a plain database, a writer, and a passive checkpoint of another process


def control(runs: int, rounds: int, how: Checkpoints) -> dict[str, object]:
    """Race a passive checkpoint against a writer, run after run, each until it is corrupt."""
    start, took, corrupt = time.monotonic(), 0, 0
    for seed in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "plain.db"
            done, fault = race(path, rounds, how, random.Random(seed))
        took += done
        corrupt += fault is not None
    seconds = round(time.monotonic() - start, 1)
    return {"runs": runs, "rounds": took, "corrupt_rounds": corrupt, "seconds": seconds}


def race(
    path: Path, rounds: int, how: Checkpoints, chance: random.Random
) -> tuple[int, str | None]:
    """Go on until the database is corrupt, or the rounds are over."""
    with closing(plain_database(path)) as database, child("checkpointer", path, *how) as it:
        if it.stdin is None or it.stdout is None:
            raise BrokenPipeError
        for number in range(1, rounds + 1):
            try:
                fault = one_round(database, (it.stdin, it.stdout), chance)
            except sqlite3.DatabaseError as error:
                fault = str(error)
            if fault is not None:
                return number, fault
    return rounds, None


def plain_database(path: Path) -> sqlite3.Connection:
    """A database in WAL mode with something to map."""
    database = sqlite3.connect(path, isolation_level=None, timeout=5)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=OFF")  # it is about processes, not about power cuts
    database.execute("PRAGMA wal_autocheckpoint=0")
    database.execute("CREATE TABLE ballast (data BLOB)")
    database.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, data TEXT)")
    database.execute("CREATE INDEX rows_data ON rows (data)")
    database.execute(
        "WITH RECURSIVE row(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM row WHERE n < ?) "
        "INSERT INTO ballast SELECT zeroblob(3500) FROM row",
        (BALLAST_MEBIBYTES * 280,),
    )
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return database


def one_round(database: sqlite3.Connection, pipes: Pipes, chance: random.Random) -> str | None:
    """A long log, wholly copied; then a commit that starts it anew, beside a checkpoint."""
    to_child, from_child = pipes
    from_child.readline()  # it has mapped the database
    commit(database, 100, chance)
    checkpoint(database)
    to_child.write("now\n")
    from_child.readline()  # it is about to begin its checkpoint
    commit(database, 3, chance)
    from_child.readline()  # it has ended
    for _ in range(60):
        commit(database, 3, chance)  # past the length that the log had before
    checkpoint(database)
    commit(database, 1, chance)  # starts the log anew: what wasn't copied is gone
    found = database.execute("PRAGMA integrity_check(rows)").fetchone()[0]
    return None if found == "ok" else str(found)


def commit(database: sqlite3.Connection, rows: int, chance: random.Random) -> None:
    """Write rows at random places, so that lost pages show."""
    database.execute("BEGIN IMMEDIATE")
    for _ in range(rows):
        text = chance.randbytes(chance.randint(100, 1000)).hex()
        row = (chance.randint(0, 5000), text)
        database.execute("INSERT OR REPLACE INTO rows VALUES (?, ?)", row)
    database.execute("COMMIT")


def checkpoint(database: sqlite3.Connection) -> None:
    """Copy of the log what can be copied without waiting."""
    database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


def checkpointer(path: str, mapped_bytes: str, locked: str) -> None:
    """Map the database, and make a passive checkpoint when told to."""
    database = sqlite3.connect(path, isolation_level=None, timeout=5)
    database.execute(f"PRAGMA mmap_size={mapped_bytes}").fetchone()
    lock = sqlite3.connect(path, isolation_level=None, timeout=5)
    while True:
        database.execute("SELECT max(data) FROM ballast").fetchone()
        print("mapped", flush=True)
        if not sys.stdin.readline():
            break
        if locked == "True":
            lock.execute("BEGIN IMMEDIATE")
        print("beginning", flush=True)
        checkpoint(database)
        if locked == "True":
            lock.execute("ROLLBACK")
        print("ended", flush=True)


# --- turnledger's store: two writers, each of which makes a checkpoint all the time


def store(commits: int) -> dict[str, object]:
    """Let two processes write, with a checkpoint every other commit; then look at the file."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        turnledger.open(path).close()
        with child("writer", path, commits, 1) as one, child("writer", path, commits, 2) as other:
            made = sum(int(each.communicate()[0]) for each in (one, other))
        with closing(sqlite3.connect(path)) as database:
            integrity = database.execute("PRAGMA integrity_check").fetchone()[0]
        with turnledger.open(path) as ledger:
            kept = sum(len(ledger.queue.list(f"thread-{number}")) for number in (1, 2))
            sound = ledger.verify().ok
    seconds = round(time.monotonic() - start, 1)
    found = {"commits": commits * 2, "kept": kept, "checkpoints": made, "integrity": integrity}
    return {**found, "verified": sound, "seconds": seconds}


def writer(path: str, commits: str, number: str) -> None:
    """Append turns; print how many checkpoints were made."""
    write_ahead_log.LOOK_COMMITS = 1
    write_ahead_log.CHECKPOINT_COMMITS = 2
    chance = random.Random(int(number))
    made = 0
    plain_checkpoint: Any = write_ahead_log.WriteAheadLog.checkpoint

    def counted(*arguments: object) -> None:
        nonlocal made
        plain_checkpoint(*arguments)
        made += 1

    vars(write_ahead_log)["WriteAheadLog"].checkpoint = counted
    with turnledger.open(path, settings=SETTINGS) as ledger:
        for _ in range(int(commits)):
            text = chance.randbytes(chance.randint(10, 2000)).hex()
            ledger.queue.append(f"thread-{number}", {"text": text})
    print(made)


if __name__ == "__main__":
    main()
