"""Opening a ledger to read it only: beside a writer, at rest, and with a log left behind."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import turnledger
from turnledger import Ledger

Program = Callable[..., "subprocess.Popen[str]"]

WRITE_AND_WAIT = """
import sys, turnledger
with turnledger.open(sys.argv[1]) as ledger:
    for n in range(3):
        ledger.queue.append("thread", {"n": n})
    print("written", flush=True)
    sys.stdin.readline()
"""


def log(path: Path) -> Path:
    return Path(f"{path}-wal")


def submissions(ledger: Ledger) -> list[object]:
    return [turn.submission for turn in ledger.queue.list("thread")]


def written_by_another_process(program: Program, path: Path) -> "subprocess.Popen[str]":
    child = program(WRITE_AND_WAIT, path)
    assert child.stdout is not None
    assert child.stdout.readline() == "written\n"
    return child


def test_a_reader_sees_what_a_writer_commits_beside_it(made: Path) -> None:
    with turnledger.open(made) as writer, turnledger.open(made, read_only=True) as reader:
        for n in range(3):
            writer.queue.append("thread", {"n": n})
            assert submissions(reader) == [{"n": i} for i in range(n + 1)]


def test_a_reader_sees_what_another_process_commits(made: Path, program: Program) -> None:
    with turnledger.open(made, read_only=True) as reader:
        assert submissions(reader) == []
        written_by_another_process(program, made)
        assert submissions(reader) == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_a_reader_changes_nothing(made: Path) -> None:
    with turnledger.open(made, read_only=True) as reader:
        with pytest.raises(turnledger.StoreReadOnly, match="opened read-only") as caught:
            reader.queue.append("thread", {})
        with pytest.raises(turnledger.StoreReadOnly):
            reader.queue.claim_next("worker")
        assert not caught.value.retryable
        assert submissions(reader) == []


def test_a_ledger_at_rest_is_read_as_it_is(made: Path) -> None:
    with turnledger.open(made) as writer:
        writer.queue.append("thread", {"n": 0})
    before = made.read_bytes()
    assert not log(made).exists()

    with turnledger.open(made, read_only=True) as reader:
        assert submissions(reader) == [{"n": 0}]

    assert made.read_bytes() == before


def test_the_log_that_a_killed_process_left_behind_is_read_too(
    made: Path, program: Program
) -> None:
    child = written_by_another_process(program, made)
    child.kill()
    child.wait()
    before = log(made).read_bytes()
    assert before

    with turnledger.open(made, read_only=True) as reader:
        assert submissions(reader) == [{"n": 0}, {"n": 1}, {"n": 2}]

    assert log(made).read_bytes() == before


def test_on_a_medium_that_cannot_be_written_a_ledger_at_rest_is_read_without_a_trace(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with turnledger.open(made) as writer:
        writer.queue.append("thread", {"n": 0})

    def access(path: os.PathLike[str], mode: int) -> bool:
        assert (Path(path), mode) == (made.parent, os.W_OK)
        return False

    monkeypatch.setattr(os, "access", access)
    with turnledger.open(made, read_only=True) as reader:
        assert submissions(reader) == [{"n": 0}]
        assert [file.name for file in made.parent.iterdir()] == [made.name]


def test_a_ledger_that_is_not_there_is_not_made_by_a_reader(path: Path) -> None:
    with pytest.raises(turnledger.StoreUnavailable):
        turnledger.open(path, read_only=True)

    assert list(path.parent.iterdir()) == []
