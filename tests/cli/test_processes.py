"""The command line as a process among others: streams, signals, terminals, a second process."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

Call = Any

COMMAND = (sys.executable, "-m", "turnledger")


def test_each_exit_status_is_the_one_of_the_process(run: Call, tmp_path: Path) -> None:
    calls = [
        ("queue", "append", "t", '{"a": 9007199254740993}', "--json"),
        ("queue", "ack", "t", "--owner", "w", "--epoch", 1),
        ("queue", "append", os.fsdecode(b"\xff"), "{}"),
        ("--db", tmp_path / "missing.db", "queue", "list", "t"),
    ]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda words: run(*words), calls))
    assert [answer.status for answer in answers] == [0, 1, 2, 3]
    assert answers[0].json["submission"] == {"a": 2**53 + 1}
    assert [answer.err.count("\n") for answer in answers] == [0, 1, 1, 1]
    assert not (tmp_path / "missing.db").exists()


def test_the_ledger_is_made_where_one_stands(run: Call, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TURNLEDGER_DB"}
    words = ("queue", "append", "--json", "--", "-t", "-")
    answer = run(*words, cwd=tmp_path, env=environment, input='{"text": "漢字"}'.encode())
    assert answer.json["submission"] == {"text": "漢字"}
    assert (tmp_path / "turnledger.db").is_file()


def test_two_processes_never_claim_the_same_turn(waiting: Call, run: Call) -> None:
    with ThreadPoolExecutor(2) as pool:
        owners = ("v", "w")
        answers = list(pool.map(lambda owner: run("queue", "claim", "t", "--owner", owner), owners))
    assert sorted(answer.status for answer in answers) == [0, 1]
    assert "in_flight" in "".join(answer.err for answer in answers)
    assert waiting("queue", "get", "t", "first", "--json").json["epoch"] == 1


@pytest.mark.parametrize("words", [("log", "--json"), ("queue", "list", "t")])
def test_a_closed_pipe_ends_it_quietly(
    full: Any, environment: dict[str, str], words: tuple[str, ...]
) -> None:
    full(1_000)
    with subprocess.Popen(
        (*COMMAND, *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_a_full_disk_under_standard_out_is_one_line(run: Call) -> None:
    with Path("/dev/full").open("wb") as full_disk:
        command = (*COMMAND, "thread", "list")
        done = subprocess.run(
            command, stdout=full_disk, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert done.stderr.startswith(b"turnledger: No space left")
    del run


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 128 + signal.SIGTERM)]
)
def test_log_follow_writes_each_event_as_it_comes_and_ends_quietly(
    waiting: Call, environment: dict[str, str], number: int, status: int
) -> None:
    command = (*COMMAND, "log", "--follow", "--json")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = process.stdout
        assert [json.loads(lines.readline())["position"] for _ in range(2)] == [1, 2]
        waiting("queue", "append", "t", "{}")
        assert json.loads(lines.readline())["position"] == 3
        process.send_signal(number)
        assert (lines.read(), process.stderr.read(), process.wait(60)) == (b"", b"", status)


@contextmanager
def terminal(width: int) -> Iterator[tuple[int, int]]:
    """Both ends of a terminal with so many columns and 24 rows."""
    outside, inside = pty.openpty()
    try:
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        yield outside, inside
    finally:
        os.close(outside)


def shown(width: int, environment: dict[str, str], *words: str) -> str:
    with terminal(width) as (outside, inside):
        variables = {**environment, "TERM": "xterm-256color"}
        variables.pop("COLUMNS", None)
        process = subprocess.Popen((*COMMAND, *words), stdout=inside, env=variables)
        os.close(inside)
        text = b"".join(chunks(outside))
        assert process.wait(60) == 0
    return text.decode().replace("\r\n", "\n")


def chunks(file: int) -> Iterator[bytes]:
    """What the terminal shows, until nobody writes to it any more."""
    while True:
        try:
            chunk = os.read(file, 65_536)
        except OSError:  # Linux's way to say that the other end is closed
            return
        if not chunk:
            return
        yield chunk


@pytest.mark.parametrize("width", [40, 200])
def test_a_real_terminal_gets_what_fits_in_it(
    waiting: Call, environment: dict[str, str], width: int
) -> None:
    waiting("queue", "append", "t", '{"text": "' + "long \\u001b[31m" * 100 + '"}')
    (*_, last) = waiting("queue", "list", "t", "--json").json
    text = shown(width, {**environment, "NO_COLOR": "1"}, "queue", "list", "t")
    for order in ("\x1b[0m", "\x1b[1m"):
        text = text.replace(order, "")
    assert "\x1b" not in text
    assert max(map(cell_len, text.splitlines())) <= width
    assert last["queued_turn_id"] in text
    assert "…" in text
