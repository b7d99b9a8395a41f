"""What the documents tell a reader to type works, in the order in which they tell it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import turnledger
from turnledger.cli import main

if TYPE_CHECKING:
    from click import Command

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md"))
EXAMPLE_DATABASE = "postgresql+psycopg://app@db.example/agents"
LINK = re.compile(r"\]\((?!https?:)([^)#]+)\)")


def blocks(document: Path, language: str) -> list[str]:
    """The code blocks of a document in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", document.read_text(), re.DOTALL | re.MULTILINE)


def commands(document: Path) -> list[str]:
    """The lines of a document's shell blocks that call turnledger, each by its name alone."""
    lines = [line for block in blocks(document, "sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("turnledger ")]


def run(line: str, folder: Path, database: str = "") -> subprocess.CompletedProcess[str]:
    """Run a line as a reader would, in a folder of its own, or on a database."""
    words = [sys.executable, "-m", *shlex.split(line.replace(EXAMPLE_DATABASE, database))]
    environment = {**os.environ, "TURNLEDGER_DB": str(folder / "turnledger.db")}
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_programs_of_the_readme_do_what_they_say(tmp_path: Path) -> None:
    said = ["to the model: fix the flaky test\nempty True\n", "", "sent\n[]\n"]
    for program, expected in zip(blocks(ROOT / "README.md", "python"), said, strict=True):
        words = [sys.executable, "-c", program]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == (expected, "")


GUIDES = {
    "first-worker": [
        "to the model: good\nleft: no answer came\nfailed True ConnectionError: no answer came\n",
        "",
        "0\n",
        "[0, 1, 2] 1\n",
    ],
    "unknown-outcomes": ["failed_head\n"],
    "embed-in-an-agent-host": ["/threads/{thread_id}/events\n", "steer: in red\nacked\n"],
}


@pytest.mark.parametrize("guide", GUIDES)
def test_the_programs_of_a_guide_do_what_they_say(tmp_path: Path, guide: str) -> None:
    programs = blocks(ROOT / "docs" / "guides" / f"{guide}.md", "python")
    for program, expected in zip(programs, GUIDES[guide], strict=True):
        words = [sys.executable, "-c", program]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode) == (expected, 0), done.stderr


@pytest.mark.parametrize("guide", ["first-worker", "unknown-outcomes"])
def test_the_commands_of_a_guide_work_after_its_programs(tmp_path: Path, guide: str) -> None:
    document = ROOT / "docs" / "guides" / f"{guide}.md"
    (tmp_path / "agent.py").write_text("def answer(turn):\n    print(turn.submission)\n")
    for program in blocks(document, "python"):
        subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    lines = commands(document)
    assert lines
    for line in lines:
        done = run(line, tmp_path)
        assert (line, done.returncode, done.stderr) == (line, 0, "")


def test_the_commands_of_the_readme_work_one_after_the_other(tmp_path: Path) -> None:
    lines = commands(ROOT / "README.md")
    assert len(lines) > 5
    for line in lines:
        done = run(line, tmp_path)
        assert (line, done.returncode, done.stderr) == (line, 0, "")


def test_the_commands_and_the_program_on_replays_do_what_they_say(tmp_path: Path) -> None:
    lines = commands(ROOT / "docs" / "replay.md")
    assert len(lines) == 4
    for line in lines:
        done = run(line, tmp_path)
        assert (line, done.returncode, done.stderr) == (line, 0, "")
    [program] = blocks(ROOT / "docs" / "replay.md", "python")
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("True True ()\n", "")


def test_the_commands_on_backups_work_one_after_the_other(tmp_path: Path) -> None:
    with turnledger.open(tmp_path / "turnledger.db") as ledger:
        ledger.queue.append("thread-1", {"text": "kept"})
    for line in commands(ROOT / "docs" / "operations.md"):
        if EXAMPLE_DATABASE not in line:
            done = run(line, tmp_path)
            assert (line, done.returncode, done.stderr) == (line, 0, "")
    with turnledger.open(tmp_path / "turnledger.db") as ledger:
        assert [turn.submission for turn in ledger.queue.list("thread-1")] == [{"text": "kept"}]


def test_the_commands_on_evidence_work_one_after_the_other(tmp_path: Path) -> None:
    with turnledger.open(tmp_path / "turnledger.db") as ledger:
        ledger.queue.append("thread-1", {"text": "kept"})
    lines = commands(ROOT / "docs" / "evidence.md")
    assert len(lines) > 8
    for line in lines:
        done = run(line, tmp_path)
        assert (line, done.returncode, done.stderr) == (line, 0, "")


def test_the_commands_on_a_server_work_on_one(tmp_path: Path, postgresql_database: str) -> None:
    with turnledger.open(tmp_path / "turnledger.db") as ledger:
        ledger.queue.append("thread-1", {"text": "moved"})
    there = [c for c in commands(ROOT / "docs" / "operations.md") if EXAMPLE_DATABASE in c]
    assert there
    for line in there:
        done = run(line, tmp_path, postgresql_database)
        assert (line, done.returncode, done.stderr) == (line, 0, "")
    with turnledger.open(postgresql_database) as ledger:
        assert [turn.submission for turn in ledger.queue.list("thread-1")] == [{"text": "moved"}]


def test_the_commands_and_programs_on_the_past_work_one_after_the_other(tmp_path: Path) -> None:
    document = ROOT / "docs" / "audit.md"
    lines = commands(document)
    assert len(lines) > 10
    for line in lines:
        later = line.replace("2030-01-31T09:00:00Z", "9000-01-31T09:00:00Z")
        done = run(later, tmp_path)
        assert (line, done.returncode, done.stderr) == (line, 0, "")
    for program, said in zip(
        blocks(document, "python"), ["2 3\n", "3 in_flight\n['turn-1', 'turn-2']\n"], strict=True
    ):
        words = [sys.executable, "-c", program]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == (said, "")


def test_the_commands_and_programs_on_exports_work_one_after_the_other(tmp_path: Path) -> None:
    document = ROOT / "docs" / "export.md"
    lines = commands(document)
    assert len(lines) > 10
    for line in lines:
        done = run(line, tmp_path)
        assert (line, done.returncode, done.stderr) == (line, 0, "")
    for program, said in zip(blocks(document, "python"), ["4 0\n", ""], strict=True):
        words = [sys.executable, "-c", program]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == (said, "")
    words = [sys.executable, str(ROOT / "examples" / "analytics.py"), "events.parquet"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    for said in ("thread_queue.dispatch_started", "waited_p95", "chat-1"):
        assert said in done.stdout


def test_the_commands_and_the_program_on_figures_work_one_after_the_other(tmp_path: Path) -> None:
    document = ROOT / "docs" / "analytics.md"
    lines = commands(document)
    assert len(lines) == 12
    for line in lines:
        done = run(line, tmp_path)
        assert (line, done.returncode, done.stderr) == (line, 0, "")
    assert (tmp_path / "figures.svg").exists()
    [program] = blocks(document, "python")
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("2 1 {'acked': 1} 1\n", "")


def test_the_program_on_a_server_works_on_one(postgresql_database: str) -> None:
    [program] = blocks(ROOT / "docs" / "operations.md", "python")
    told = program.replace(EXAMPLE_DATABASE, postgresql_database)
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("example", ["worker.py", "async_worker.py"])
def test_the_example_of_a_worker_does_what_waits_and_goes_on_waiting(
    tmp_path: Path, example: str
) -> None:
    path = tmp_path / "agents.db"
    with turnledger.open(path) as ledger:
        turn = ledger.queue.append("thread-1", {"text": "hi"})
        command = [sys.executable, "-u", str(ROOT / "examples" / example), str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "to the model: {'text': 'hi'}\n"
            ledger.queue.append("thread-2", {"text": "again"})
            assert worker.stdout.readline() == "to the model: {'text': 'again'}\n"
            worker.kill()
        done = ledger.queue.get("thread-1", turn.queued_turn_id)
        assert done is not None
        assert done.state == "acked"


def test_the_first_command_of_the_readme_runs_the_demonstration() -> None:
    [first, *_] = blocks(ROOT / "README.md", "sh")
    assert first.strip().endswith(".venv/bin/turnledger demo")
    assert isinstance(known("demo"), object)


def known(*names: str) -> Command:
    """The command of that name."""
    found: Command = main
    for name in names:
        found = found.commands[name]  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_that_a_document_names_is_one(document: Path) -> None:
    for named in re.findall(r"`turnledger ([a-z][a-z -]*)", document.read_text()):
        words = named.split()
        group = known(words[0])
        if len(words) > 1 and hasattr(group, "commands"):
            known(*words[:2])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_of_a_document_leads_somewhere(document: Path) -> None:
    missing = [link for link in LINK.findall(document.read_text()) if not _there(document, link)]
    assert missing == []


def _there(document: Path, link: str) -> bool:
    return (document.parent / link).exists()


def test_the_glossary_has_a_word_once() -> None:
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    assert len(rows) == len(set(rows)) > 10
