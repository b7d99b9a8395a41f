"""`turnledger export` and `turnledger metrics`."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from turnledger.exporting import FORMATS

Call = Any


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_written_and_the_last_position_is_told(
    waiting: Call, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "exported"
    answer = waiting("export", name, "-o", path)
    assert (answer.status, answer.err) == (0, "")
    assert answer.lines[0] == f"2 events written to {path}"
    assert answer.lines[1].endswith("--after 2")
    assert path.exists()
    again = waiting("export", name, "-o", tmp_path / "rest", "--after", "2", "--json")
    assert (again.json["events"], again.json["position"]) == (0, 2)


def test_options_say_what_is_exported(waiting: Call, tmp_path: Path) -> None:
    path = tmp_path / "exported"
    options = ("--thread", "t", "--since", "2000-01-01T00:00:00Z", "--redact")
    assert waiting("export", "jsonl", "-o", path, *options).status == 0
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["data"]["submission"] for line in lines] == [{"$redacted": True}] * 2


def test_what_cant_be_done_is_said(waiting: Call, tmp_path: Path) -> None:
    path = tmp_path / "taken"
    path.write_text("mine")
    answer = waiting("export", "jsonl", "-o", path)
    assert (answer.status, "would overwrite" in answer.err) == (2, True)
    assert path.read_text() == "mine"
    assert waiting("export", "xml", "-o", tmp_path / "new").status == 2
    assert waiting("export", "jsonl").status == 2


@pytest.mark.parametrize(
    ("library", "command", "extra"),
    [
        ("pyarrow", "export parquet -o new", "analytics"),
        ("cloudevents", "export cloudevents -o new", "analytics"),
        ("prometheus_client", "metrics", "prometheus"),
    ],
)
def test_a_missing_extra_is_named(
    db: Path, tmp_path: Path, library: str, command: str, extra: str
) -> None:
    program = (
        f"import sys; sys.modules[{library!r}] = None; from turnledger.cli import main; main()"
    )
    words = [sys.executable, "-c", program, *command.split()]
    environment = {**os.environ, "TURNLEDGER_DB": str(db)}
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"pip install 'turnledger[{extra}]'" in done.stderr
    assert not (tmp_path / "new").exists()


def test_metrics_are_written(waiting: Call) -> None:
    answer = waiting("metrics")
    assert (answer.status, answer.err) == (0, "")
    assert 'turnledger_queue_turns{state="pending"} 2.0' in answer.lines
    assert waiting("metrics", "--json").json["turns"]["pending"] == 2


def test_scrapes_are_answered_until_the_program_is_ended(waiting: Call, db: Path) -> None:
    del waiting
    words = [sys.executable, "-m", "turnledger", "metrics", "--listen", "0"]
    environment = {**os.environ, "TURNLEDGER_DB": str(db)}
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=environment) as program:
        try:
            assert program.stderr is not None
            url = program.stderr.readline().strip()
            with urlopen(url, timeout=30) as answer:
                assert "turnledger_log_position 2.0" in answer.read().decode().splitlines()
        finally:
            program.send_signal(signal.SIGTERM)
        assert program.wait(30) == 128 + signal.SIGTERM
