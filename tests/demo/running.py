"""Running demonstrations in processes of their own, and looking at what they leave."""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

COMMAND = [sys.executable, "-m", "turnledger", "demo"]
GENERATED_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")
TIME_OF_DAY = re.compile(r"\d\d:\d\d")


class Run(NamedTuple):
    """One run of the demonstration, in a process of its own."""

    status: int
    text: str
    errors: str
    seconds: float
    left: list[str]
    group_is_gone: bool


def surroundings(folder: Path) -> dict[str, str]:
    """The environment of a run in a pipe, whose temporary files go into a folder."""
    kept = {name: value for name, value in os.environ.items() if "COLOR" not in name}
    return {**kept, "TMPDIR": str(folder), "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}


def group_is_gone(process: subprocess.Popen[str]) -> bool:
    """Whether the process, which led a group, is gone with everything that it started."""
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return True
    return False


def begin(folder: Path, *options: str) -> subprocess.Popen[str]:
    """Start one; its temporary files go into a folder."""
    return subprocess.Popen(
        [*COMMAND, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=surroundings(folder),
        start_new_session=True,
    )


def run_in(folder: Path, *options: str) -> Run:
    """Run one to its end."""
    began = time.monotonic()
    with begin(folder, *options) as process:
        text, errors = process.communicate()
    seconds = time.monotonic() - began
    left = [path.name for path in folder.iterdir()]
    return Run(process.returncode, text, errors, seconds, left, group_is_gone(process))


def assert_alike_everywhere(text: str) -> None:
    """It shows nothing that would differ on another machine."""
    assert GENERATED_ID.search(text) is None
    assert TIME_OF_DAY.search(text) is None
    assert tempfile.gettempdir() not in text
    assert "turnledger-demo-" not in text


def assert_fits(text: str) -> None:
    """It fits into eighty columns, and leaves no blanks at the ends."""
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip()] == []
