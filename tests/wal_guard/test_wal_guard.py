"""The store's checkpoints beside writers of other processes; see wal_guard.py for the bug."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("wal_guard.py")


def found_by(*arguments: str) -> dict[str, object]:
    command = [sys.executable, str(PROGRAM), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_under_the_write_lock_the_checkpoint_that_corrupts_a_plain_database_does_not() -> None:
    found = found_by("control", "--locked", "--runs", "1", "--rounds", "15")

    assert (found["rounds"], found["corrupt_rounds"]) == (15, 0)


def test_frequent_checkpoints_beside_two_writing_processes_corrupt_nothing() -> None:
    found = found_by("store", "--commits", "400")

    assert (found["integrity"], found["verified"]) == ("ok", True)
    assert found["kept"] == found["commits"] == 800
    assert isinstance(found["checkpoints"], int)
    assert found["checkpoints"] > 100
