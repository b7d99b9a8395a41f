"""After fork(): parent and child each use connections of their own."""

import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

import turnledger

Program = Callable[..., "subprocess.Popen[str]"]

WORK_ON_BOTH_SIDES = """
import os, sys, turnledger
with turnledger.open(sys.argv[1]) as ledger:
    ledger.queue.append("thread", {"of": "the parent"})
    before = ledger._backend.store.held().driver
    child = os.fork()
    if child == 0:
        mine = ledger._backend.store.held().driver
        assert mine is not before
        for n in range(20):
            ledger.queue.append("thread", {"of": "the child"})
        if sys.argv[2] == "exits at once":
            os._exit(0)
        sys.exit(0)
    for n in range(20):
        ledger.queue.append("thread", {"of": "the parent"})
    assert os.waitpid(child, 0)[1] == 0
    for n in range(20):
        ledger.queue.append("thread", {"of": "the parent"})
    assert ledger._backend.store.held().driver is before
"""
FORK_INSIDE_A_TRANSACTION = """
import os, sys, turnledger
with turnledger.open(sys.argv[1]) as ledger:
    with ledger._backend.store.writing():
        child = os.fork()
        if child == 0:
            try:
                assert ledger.queue.list("thread") == []
            except BaseException:
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    ledger.queue.append("thread", {"of": "the parent"})
"""


@pytest.mark.parametrize("end", ["exits at once", "exits in good order"])
def test_parent_and_child_both_go_on_writing(made: Path, program: Program, end: str) -> None:
    parent = program(WORK_ON_BOTH_SIDES, made, end)
    parent.communicate()

    assert parent.returncode == 0
    with turnledger.open(made) as ledger:
        found = [(turn.submission or {})["of"] for turn in ledger.queue.list("thread")]
    assert (found.count("the parent"), found.count("the child")) == (41, 20)
    with closing(sqlite3.connect(made)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_child_that_is_forked_inside_a_transaction_is_not_inside_it(
    made: Path, program: Program
) -> None:
    parent = program(FORK_INSIDE_A_TRANSACTION, made)
    parent.communicate()

    assert parent.returncode == 0
    with turnledger.open(made) as ledger:
        assert len(ledger.queue.list("thread")) == 1
