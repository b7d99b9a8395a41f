"""A child that is forked beside transactions, or in one, has nothing to do with them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conformance.conftest import Host

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnledger import Ledger

START = """
import os, sys, threading, warnings
import turnledger
from turnledger.infrastructure import held
warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads: it is the point
held.PATIENCE_SECONDS = 600.0  # whoever waits for a thread that the child doesn't have is found out

def forked(do):
    child = os.fork()
    if child == 0:
        try:
            do()
        except turnledger.LedgerError as error:
            print("child:", error.code, flush=True)
        except BaseException as error:
            print("child:", repr(error), flush=True)
            os._exit(1)
        os._exit(0)
    return child

def ended(child):
    assert os.waitpid(child, 0)[1] == 0

def append(thread, text):
    ledger.queue.append(thread, {"text": text})
"""
COMMANDS_IN_THE_MIDDLE = f"""{START}
read, write = os.pipe()
looked, say = os.pipe()

def do():
    assert ledger.queue.list("thread") == []  # what the parent hasn't committed
    os.write(say, b"!")
    os.read(read, 1)
    append("child", "of the child")
    print("child: done", flush=True)

with turnledger.open(sys.argv[1]) as ledger:
    with ledger.transaction():
        append("thread", "of the parent")
        child = forked(do)
        os.read(looked, 1)
        append("thread", "of the parent")
    os.write(write, b"!")
    ended(child)
    append("thread", "of the parent")
    assert ledger.verify().ok
"""
END_OF_ITS_BLOCK = f"""{START}
def leave():
    try:
        block.__exit__(None, None, None)
    except Exception:
        pass  # whatever it is told of what never was its own

with turnledger.open(sys.argv[1]) as ledger:
    block = ledger.transaction()
    block.__enter__()
    append("thread", "of the parent")
    child = forked(leave)
    ended(child)
    append("thread", "of the parent")
    block.__exit__(None, None, None)
    append("thread", "of the parent")
    assert ledger.verify().ok
"""
BESIDE_AN_IDLE_THREAD = f"""{START}
def work():
    append("thread", "of the parent")
    idle.set()
    assert forking.wait(60)
    with ledger.transaction():
        append("thread", "of the parent")
    append("thread", "of the parent")

idle, forking = threading.Event(), threading.Event()
with turnledger.open(sys.argv[1]) as ledger:
    thread = threading.Thread(target=work)
    thread.start()
    assert idle.wait(60)
    ended(forked(lambda: append("child", "of the child")))
    forking.set()
    thread.join()
    assert ledger.verify().ok
"""
BESIDE_A_WORKING_THREAD = f"""{START}
def work():
    with ledger.transaction():
        append("thread", "of the parent")
        working.set()
        assert forking.wait(60)
        append("thread", "of the parent")
    append("thread", "of the parent")

read, write = os.pipe()

def do():
    os.read(read, 1)
    append("child", "of the child")

working, forking = threading.Event(), threading.Event()
with turnledger.open(sys.argv[1]) as ledger:
    thread = threading.Thread(target=work)
    thread.start()
    assert working.wait(60)
    child = forked(do)
    forking.set()
    thread.join()
    os.write(write, b"!")
    ended(child)
    assert ledger.verify().ok
"""


@pytest.fixture
def run(store_url: str, ledger: Ledger) -> Callable[[str], str]:
    """Runs a program, which ends well; returns what it says."""
    ledger.close()

    def running(code: str) -> str:
        command = [sys.executable, "-W", "error", "-c", code, store_url]
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
        )
        try:
            said, _ = child.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # the group that began with it, and no other
            child.communicate()
            pytest.fail("parent or child waits for what never comes")
        assert child.returncode == 0, said
        return said

    return running


@pytest.fixture
def host_after(open_ledger: Callable[..., Ledger]) -> Callable[[], Host]:
    """Gives a host of the ledger, opened anew."""
    return lambda: Host(open_ledger())


PARENTS = ["of the parent"] * 3


def test_what_a_child_is_told_of_a_command_that_it_gives_in_its_parents_block_is_true(
    run: Callable[[str], str], host_after: Callable[[], Host]
) -> None:
    said = run(COMMANDS_IN_THE_MIDDLE)
    host = host_after()
    assert host.texts() == PARENTS
    assert host.texts("child") == (["of the child"] if said == "child: done\n" else [])
    assert host.ledger.verify().findings == ()


def test_a_child_that_leaves_its_parents_block_neither_commits_nor_undoes_it(
    run: Callable[[str], str], host_after: Callable[[], Host]
) -> None:
    run(END_OF_ITS_BLOCK)
    assert host_after().texts() == PARENTS


@pytest.mark.parametrize(
    "code", [BESIDE_AN_IDLE_THREAD, BESIDE_A_WORKING_THREAD], ids=["idle", "working"]
)
def test_the_connections_of_the_parents_other_threads_are_none_of_a_childs_business(
    run: Callable[[str], str], host_after: Callable[[], Host], code: str, kind: str
) -> None:
    """On SQLite a child can't write that was forked while the lock was held: it is told so."""
    said = run(code)
    refused = kind == "sqlite" and code == BESIDE_A_WORKING_THREAD
    assert said == ("child: store_error\n" if refused else "")
    host = host_after()
    assert host.texts() == PARENTS
    assert host.texts("child") == ([] if refused else ["of the child"])
    assert host.ledger.verify().findings == ()
