"""TURNLEDGER_REDACT: what is typed on the command line is stored without secrets."""

from pathlib import Path
from typing import Any

import pytest

Call = Any
KEY = "gh" + "p_" + "a1B2c3D4e5" * 3 + "F6g7H8"  # put together here, so that no scanner finds it


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Where the ledger lies."""
    return str(tmp_path / "ledger.db")


def test_secrets_are_taken_out_where_it_is_asked_for(
    call: Call, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLEDGER_REDACT", "secrets")
    said = f'{{"text": "use {KEY} please"}}'
    assert call("queue", "append", "t", said, "--db", place).status == 0
    assert KEY not in call("log", "--json", "--db", place).out
    (turn,) = call("queue", "list", "t", "--db", place, "--json").json
    assert turn["submission"]["text"].startswith("use [redacted:")
    assert turn["submission"]["text"].endswith("] please")


def test_it_is_off_by_default(call: Call, place: str) -> None:
    assert call("queue", "append", "t", f'{{"text": "{KEY}"}}', "--db", place).status == 0
    assert KEY in call("log", "--json", "--db", place).out


def test_another_word_is_refused(call: Call, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLEDGER_REDACT", "all")
    answer = call("queue", "append", "t", "{}", "--db", place)
    assert (answer.status, answer.out) == (2, "")
    assert "TURNLEDGER_REDACT" in answer.err
    assert call("queue", "list", "t", "--db", place, "--json").json == []
