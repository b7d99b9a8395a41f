"""`turnledger purge`, and how an encrypted ledger is made."""

from pathlib import Path
from typing import Any

import pytest

Call = Any
PURGED = {"$purged": True}


@pytest.fixture
def secret(tmp_path: Path, call: Call) -> str:
    """An encrypted ledger with a turn in it."""
    place = str(tmp_path / "secret.db")
    assert call("migrate", "--encrypt", "--db", place).status == 0
    assert call("queue", "append", "t", '{"text": "hi"}', "--db", place).status == 0
    return place


def test_contents_are_erased(call: Call, secret: str) -> None:
    answer = call("purge", "t", "--db", secret)
    assert (answer.status, answer.out) == (0, "erased: the contents of thread t\n")
    (turn,) = call("queue", "list", "t", "--db", secret, "--json").json
    assert turn["submission"] == PURGED
    again = call("purge", "t", "--db", secret, "--json")
    assert (again.status, again.json["purged"]) == (0, False)
    assert call("verify", "--db", secret).status == 0


def test_what_can_no_longer_be_done_says_why(call: Call, secret: str) -> None:
    call("purge", "t", "--db", secret)
    for command in (("append", "t", "{}"), ("claim", "t", "--owner", "w")):
        answer = call("queue", *command, "--db", secret)
        assert (answer.status, answer.out) == (1, "")
        assert "purged" in answer.err


def test_a_plain_ledger_is_refused(call: Call, tmp_path: Path) -> None:
    place = str(tmp_path / "plain.db")
    assert call("queue", "append", "t", "{}", "--db", place).status == 0
    for command in (("purge", "t"), ("migrate", "--encrypt")):
        answer = call(*command, "--db", place, "--json")
        assert (answer.status, answer.error["code"]) == (1, "not_encrypted")


@pytest.mark.parametrize("given", [(), ("t", "--work-item", "i")])
def test_one_thing_is_named(call: Call, secret: str, given: tuple[str, ...]) -> None:
    answer = call("purge", *given, "--db", secret)
    assert answer.status == 2
    assert "give a THREAD, or a --work-item" in answer.err


def test_doctor_says_where_the_keys_are(call: Call, secret: str) -> None:
    assert f"{secret}.keys" in call("doctor", "--db", secret).out
