"""How calls end: 0 fine, 1 a finding or refusal, 2 usage, 3 the store; never with a traceback."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import turnledger
from turnledger.cli import main

Call = Any

READING = [
    ("queue", "list", "t"),
    ("queue", "get", "t", "x"),
    ("inbox", "list", "t"),
    ("inbox", "get", "t", "x"),
    ("inbox", "undelivered", "t"),
    ("thread", "list"),
    ("thread", "show", "t"),
    ("why", "t"),
    ("log",),
    ("log", "--follow"),
    ("verify",),
    ("replay",),
    ("replay", "t"),
    ("doctor",),
    ("backup", "backup.db"),
]


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_reading_never_makes_a_file(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    answer = call("--db", "missing.db", *words)
    assert (answer.status, answer.out) == (3, "")
    assert "there is no such file" in answer.err
    assert answer.err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("kind", "code", "said"),
    [
        ("folder", "store_unavailable", "it is a folder"),
        ("text", "store_damaged", "not a database"),
        ("nowhere/ledger.db", "store_unavailable", "its folder doesn't exist"),
    ],
)
def test_a_store_that_can_not_be_opened_is_status_three(
    call: Call, tmp_path: Path, kind: str, code: str, said: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text").write_text("no database, but a text of some length\n" * 100)
    for words in (("queue", "list", "t"), ("queue", "append", "t", "{}")):
        answer = call("--db", tmp_path / kind, *words, "--json")
        assert (answer.status, answer.error["code"]) == (3, code)
        assert said in answer.err
        assert answer.err.count("\n") == 1
    assert (tmp_path / "text").read_text().startswith("no database")


def test_an_empty_file_is_no_ledger_until_something_is_written(call: Call, tmp_path: Path) -> None:
    new = tmp_path / "new.db"
    new.touch()
    answer = call("--db", new, "queue", "list", "t")
    assert (answer.status, "no ledger was made in it yet" in answer.err) == (3, True)
    assert call("--db", new, "queue", "append", "t", "{}").status == 0


def test_an_error_tells_programs_its_facts(waiting: Call) -> None:
    answer = waiting("queue", "claim", "t", "--owner", "w")
    lost = waiting("queue", "ack", "t", "--owner", "v", "--epoch", 1, "--json")
    assert answer.status == 0
    assert list(lost.error)[:2] == ["code", "message"]
    assert lost.error["message"] in lost.err
    assert {"thread_id": "t", "owner": "v", "epoch": 1}.items() <= lost.error.items()


def test_what_nobody_expected_is_one_line_and_a_hint(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        msg = "something\nodd \x1b[31m"
        raise RuntimeError(msg)

    monkeypatch.setattr(turnledger, "open", broken)
    answer = call("verify", "--json")
    assert (answer.status, answer.error["code"]) == (1, "internal_error")
    assert answer.err == (
        "turnledger: internal error: RuntimeError: something odd [31m "
        "(set TURNLEDGER_DEBUG=1 for the traceback)\n"
    )
    monkeypatch.setenv("TURNLEDGER_DEBUG", "1")
    assert "Traceback" in call("verify").err


def test_ctrl_c_ends_quietly(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(turnledger, "open", interrupted)
    assert call("verify") == type(call("verify"))(130, "", "")


def test_what_the_system_refuses_is_one_line(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", "ledger.db")

    monkeypatch.setattr(turnledger, "open", refused)
    answer = call("verify", "--json")
    assert (answer.status, answer.error["code"]) == (1, "system_error")
    assert answer.err == "turnledger: Permission denied: ledger.db\n"


def test_what_the_library_warns_of_is_said_without_orders_to_the_terminal(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = turnledger.open

    def warning(*given: Any, **more: Any) -> turnledger.Ledger:
        logging.getLogger("turnledger.queue").warning("passed over: %s", "a\x1b[31m\nb")
        return opened(*given, **more)

    monkeypatch.setattr(turnledger, "open", warning)
    answer = call("queue", "list", "t", "--json")
    assert (answer.json, answer.err) == ([], "turnledger: passed over: a[31m b\n")


def test_another_encoding_of_standard_out_breaks_nothing(waiting: Call) -> None:
    waiting("queue", "append", "t", '{"text": "漢字"}', "--id", "third")
    runner = CliRunner(charset="latin-1")
    words = ["queue", "get", "t", "third"]
    assert b"submission   ??\n" in runner.invoke(main, words).stdout_bytes
    in_json = json.loads(runner.invoke(main, [*words, "--json"]).stdout_bytes.decode())
    assert in_json["submission"] == {"text": "漢字"}
