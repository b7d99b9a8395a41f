"""`turnledger work`: a worker for a function of one's own."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import turnledger
from tests.cli.conftest import Call

MODULE = """
import turnledger

def answer(turn):
    print("to the model:", turn.submission["text"])

async def answer_later(turn):
    answer(turn)

def refuse(turn):
    raise turnledger.NoEffect("busy")

class Agent:
    answer = staticmethod(answer)

NUMBER = 7
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger with a turn, in a folder with a module."""
    (tmp_path / "an_agent.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    with turnledger.open(tmp_path / "agents.db") as ledger:
        ledger.queue.append("t", {"text": "hi"}, queued_turn_id="first")
    return tmp_path / "agents.db"


@pytest.mark.parametrize("name", ["answer", "answer_later", "Agent.answer"])
def test_a_function_of_this_folder_does_the_turns(call: Call, path: Path, name: str) -> None:
    answer = call("--db", path, "work", "--call", f"an_agent:{name}", "--once")
    assert (answer.status, answer.err) == (0, "")
    assert answer.lines[0] == "to the model: hi"
    assert answer.lines[1].split() == ["acked", "t", "first"]


def test_what_happens_is_a_line_of_json_each(call: Call, path: Path) -> None:
    work = ("work", "--call", "an_agent:refuse", "--max-attempts", "1", "--once", "--json")
    answer = call("--db", path, *work)
    [line] = answer.lines
    happening = json.loads(line)
    assert (happening["kind"], happening["queued_turn_id"]) == ("gave_up", "first")
    assert "busy" in happening["error"]
    assert answer.status == 0


@pytest.mark.parametrize(
    "name", ["an_agent", "an_agent:nothing", "no_such_module:answer", "an_agent:NUMBER", ":"]
)
def test_a_function_that_isnt_there_is_wrong_usage(call: Call, path: Path, name: str) -> None:
    answer = call("--db", path, "work", "--call", name, "--once")
    assert answer.status == 2
    assert "answer" in answer.err or name in answer.err


def test_it_works_on_what_comes_and_stops_cleanly_on_sigterm(
    path: Path, environment: dict[str, str]
) -> None:
    words = ["--db", str(path), "work", "--call", "an_agent:answer", "--json"]
    command = [sys.executable, "-u", "-m", "turnledger", *words]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with (
        turnledger.open(path) as ledger,
        subprocess.Popen(command, cwd=path.parent, env=environment, **pipes) as process,
    ):
        assert process.stdout is not None
        assert process.stdout.readline() == "to the model: hi\n"
        assert json.loads(process.stdout.readline())["kind"] == "acked"
        ledger.queue.append("t", {"text": "again"})
        assert process.stdout.readline() == "to the model: again\n"
        assert json.loads(process.stdout.readline())["kind"] == "acked"
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (0, "", "")
