"""A copy that was killed, wherever it was: nobody can use it, and the next call goes on there."""

import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

import turnledger
from tests.conformance.stores import store_at
from tests.copying.conftest import contents, reopened, url_of
from tests.verify.conftest import File

Places = Callable[[str], str]

PAGE = 4
PROGRAM = f"""
import os, signal, sys
import turnledger
from turnledger import copying
from turnledger.infrastructure.copy_target import CopyTarget

source, target, name, number = sys.argv[1:]
copying._PAGE = {PAGE}
calls = 0

def count(called):
    def counting(*given):
        global calls
        calls += called == name
        if calls == int(number):
            os.kill(os.getpid(), signal.SIGKILL)
        return methods[called](*given)
    return counting

methods = {{name: getattr(CopyTarget, name) for name in ("_project", "_insert", "_reserve")}}
for called in methods:
    setattr(CopyTarget, called, count(called))
methods["copied"] = methods["verified"] = lambda *_: None
turnledger.copy(source, target, lambda step, *_: count(step)())
"""

PLACES = [
    pytest.param("_reserve", 1, id="before the first batch"),
    pytest.param("_project", 2, id="in the first batch"),
    pytest.param("_project", 2 * PAGE + 2, id="in the third batch"),
    pytest.param("copied", 3, id="behind the third batch"),
    pytest.param("_insert", 1, id="before the head rows"),
    pytest.param("_insert", 2, id="behind the head rows"),
    pytest.param("verified", 1, id="before the end"),
]


def killed(source: str, target: str, name: str, number: int) -> None:
    """A process that copies is killed when it does something for the so-manieth time."""
    command = [sys.executable, "-c", PROGRAM, source, target, name, str(number)]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False, text=True)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")


@pytest.mark.parametrize(("name", "number"), PLACES)
def test_the_next_call_goes_on(file: File, place: str, name: str, number: int) -> None:
    killed(url_of(file), place, name, number)
    there = len(store_at(place).rows("SELECT position FROM events"))
    assert there % PAGE == 0 or there == file.last
    if there:
        for read_only in (True, False):
            with pytest.raises(turnledger.StoreError, match="a copy into it isn't finished"):
                turnledger.open(place, read_only=read_only)
    copied = turnledger.copy(file.path, place)
    assert (copied.events, copied.copied) == (file.last, file.last - there)
    assert contents(place) == contents(url_of(file))
    with reopened(place, file) as ledger:
        assert ledger.verify().ok


def test_killed_again_and_again_it_comes_to_its_end(file: File, place: str) -> None:
    pages = 3  # that each of them gets done
    while not store_at(place).rows(exists(place)) or events(place) < file.last - pages * PAGE:
        killed(url_of(file), place, "_reserve", pages + 1)
    assert turnledger.copy(file.path, place).copied <= pages * PAGE
    assert contents(place) == contents(url_of(file))


def exists(place: str) -> str:
    """A query that finds something if the schema is there."""
    if place.startswith("sqlite"):
        return "SELECT 1 FROM sqlite_master WHERE name = 'events'"
    return "SELECT 1 FROM pg_class WHERE relname = 'events'"


def events(place: str) -> int:
    return int(store_at(place).rows("SELECT count(*) FROM events")[0][0])


def test_a_copy_that_isnt_finished_is_no_source(file: File, place: str, new_place: Places) -> None:
    killed(url_of(file), place, "copied", 1)
    with pytest.raises(turnledger.StoreError, match="isn't finished"):
        turnledger.copy(place, new_place("sqlite"))


def test_a_finished_copy_is_looked_at_again(file: File, place: str) -> None:
    turnledger.copy(file.path, place)
    again = turnledger.copy(file.path, place)
    assert (again.events, again.copied, again.verification.ok) == (file.last, 0, True)


def test_two_copies_at_once_do_no_harm(file: File, place: str) -> None:
    program = PROGRAM.replace("calls == int(number)", "False")
    command = [sys.executable, "-c", program, url_of(file), place, "none", "0"]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(2)]
    said = [process.communicate(timeout=60)[1].decode() for process in both]
    assert 0 in [process.returncode for process in both], said
    turnledger.copy(file.path, place)
    assert contents(place) == contents(url_of(file))


def test_what_the_source_got_in_the_meantime_is_copied_by_the_next_call(
    file: File, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from turnledger.infrastructure.copy_target import CopyTarget  # noqa: PLC0415

    finish = CopyTarget.finish

    def written_to(*given: object) -> None:
        with file.open() as ledger:
            ledger.queue.append("busy", {"n": "late"})
        finish(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(CopyTarget, "finish", written_to)
        with pytest.raises(turnledger.StoreUnavailable, match="written to while it was copied"):
            turnledger.copy(file.path, place)
    with pytest.raises(turnledger.StoreError, match="isn't finished"):
        turnledger.open(place)
    assert turnledger.copy(file.path, place).copied == 1
    assert contents(place) == contents(url_of(file))
