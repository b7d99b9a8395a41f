"""Every command on a ledger that lies on a server."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_help import ALL
from tests.postgresql.fixtures import postgresql_database, postgresql_server

__all__ = ["postgresql_database", "postgresql_server"]

Call = Any

BY = "--owner w --epoch 1"
HASH_OF_ONE = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"
LIVES: dict[str, list[str]] = {
    "a turn that goes its way": [
        'queue append t \'{"text": "hi"}\' --id first --key k',
        'queue append-many t \'{"text": "there"}\'',
        "queue list t",
        "queue get t first",
        "queue edit t first '{}'",
        "queue claim t --owner w",
        f"queue renew t {BY}",
        f"queue dispatch t d {BY}",
        f"queue ack t {BY}",
        "queue claim-next --owner w",
        "queue release t --owner w --epoch 2",
        "work --call builtins:repr --once",
        "log",
        "log --follow --limit 3",
        "why t",
        "stats --by owner --depth",
        "flow --mermaid",
        "plot figures.svg",
        "verify",
        "doctor",
        "migrate",
        "migrate --new-generation",
    ],
    "turns that fail": [
        "queue append t {} --id first",
        "queue append t {} --id second",
        "queue append t {} --id third",
        "queue reorder t third second first",
        "queue claim t --owner w",
        f"queue fail t {BY} --failure no",
        "why t",
        "queue retry t third",
        "queue claim t --owner w",
        "queue dispatch t d --owner w --epoch 2",
        "queue fail-in-flight t --failure no",
        "queue resolve t third acked --by ann",
        "queue claim t --owner w",
        "queue dispatch t e --owner w --epoch 3",
        "queue ack-dispatch t e",
        "queue recover",
        "queue delete t first",
        "queue append t {}",
        "queue clear t",
        "verify",
    ],
    "messages that come in": [
        "inbox post t '\"hi\"' --source ci --id first",
        "inbox list t",
        "inbox get t first",
        "inbox claim t --owner w --can-after-turn",
        f"inbox release t {BY}",
        "inbox claim t --owner w --can-after-turn --lease 0.001",
        "inbox recover",
        "inbox undelivered t",
        "inbox requeue t first",
        "inbox claim t --owner w --can-steer-current-turn --can-after-turn",
        "inbox confirm t --owner w --epoch 3",
        "inbox post t {} --source ci --id second",
        "inbox delete t second",
        "thread fork t u",
        "verify",
    ],
    "timers": [
        "timer create t '\"hi\"' --delay 0 --id a",
        "timer create t '\"hi\"' --delay 9 --repeat --id b",
        "timer list t",
        "timer due",
        "timer fire --owner w",
        "timer history t a",
        "timer get t a",
        "timer update t b --content '\"new\"'",
        "timer pause t b",
        "timer resume t b",
        "timer delete t b",
        "timer create t '\"hi\"' --delay 0",
        "run-timers --owner w --once",
        "verify",
    ],
    "a coordinator's turns": [
        'turn begin i \'{"text": "hi"}\' --id first --key k',
        "turn list i",
        "turn get first",
        "turn receipt i k",
        "turn claim first --owner w",
        f"turn renew first {BY}",
        f"attempt prepare first 1 {BY}",
        f"attempt start-dispatch first 1 {BY}",
        f"attempt respond first 1 '[null]' --hash {HASH_OF_ONE} {BY}",
        f"attempt reject first 1 bad {BY}",
        f"attempt prepare first 1 {BY}",
        f"attempt start-dispatch first 2 {BY}",
        f"attempt refuse first 2 no --retryable --retry-at 2030-01-31T09:00:00Z {BY}",
        f"turn fail first why {BY}",
        "turn begin i 2 --id second --owner w",
        f"turn complete second done {BY} --expected-revision 1",
        "turn begin i 3 --id third",
        "turn claim-next i --owner w",
        f"turn ack third {BY}",
        "turn touch i",
        "turn sweep",
        "turn work-item i",
        "verify",
    ],
    "a turn whose outcome is unknown": [
        "turn begin i {} --id first",
        "turn resume first --owner w",
        f"attempt prepare first 1 {BY}",
        f"attempt start-dispatch first 1 {BY}",
        "attempt late-response first 1 late",
        f"turn release first {BY}",
        "turn recover",
        "turn recoverable",
        "attempt resolve first 1 adopt --by ann",
        "turn cancel first --reason no",
        "log",
        "verify",
    ],
    "a run and its operations": [
        "run start r --work-item i --action a --owner w",
        "run get r",
        f"run renew r {BY}",
        'operation create first \'{"to": "ann"}\' --type send --run r --work-item i --action a',
        f"operation claim first --run r {BY}",
        f"operation complete first applied --result 5 --run r {BY}",
        f"operation create-and-claim second 1 --type send --run r {BY}",
        "operation request-cancel second",
        f"operation complete second unknown --run r {BY}",
        "operation resolve second confirm_not_applied --by ann --evidence seen",
        "operation safe-to-proceed i",
        "operation list i",
        "operation get first",
        f"run finish r --outcome done {BY}",
        "run start s --work-item i --action a --owner w",
        "run interrupt s --reason why",
        "operation recover",
        "log",
        "verify",
    ],
    "an audit": [
        "queue append t {}",
        "queue claim t --owner w",
        "history t",
        "show t",
        "state t --at 1",
        "diff t 1 2",
        "replay",
        "rebuild",
        "checkpoint",
        "metrics",
        "verify",
    ],
    "a purge": [
        "migrate --encrypt",
        'queue append t \'{"text": "hi"}\'',
        "purge t",
        "purge --work-item item",
        "doctor",
        "verify",
    ],
    "a thread's life": [
        "queue append t {}",
        "queue pause t --reason later",
        "queue resume t",
        "thread list",
        "thread show t",
        "thread archive t",
        "thread unarchive t",
        "thread delete t",
        "verify",
    ],
}


@pytest.fixture
def on_server(
    call: Call, postgresql_database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Call:
    """Call the command line on a new database, to which TURNLEDGER_DB leads."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TURNLEDGER_DB", postgresql_database)
    return call


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize("life", LIVES)
def test_each_command_answers(on_server: Call, life: str, form: tuple[str, ...]) -> None:
    for line in LIVES[life]:
        answer = on_server(*shlex.split(line), *form)
        assert (line, answer.status, answer.err) == (line, 0, "")
        assert answer.out


def test_no_command_is_left_out() -> None:
    typed = [tuple(shlex.split(line)) for lines in LIVES.values() for line in lines]
    elsewhere = {("copy",), ("backup",), ("restore",), ("demo",), ("check",), ("bundle",)}
    elsewhere |= {("export",), ("selftest",)}
    assert {path for path in ALL if path not in elsewhere} == {
        path for path in ALL for line in typed if line[: len(path)] == path
    }


def test_backup_says_who_backs_it_up(on_server: Call, tmp_path: Path) -> None:
    answer = on_server("backup", tmp_path / "backup.db")
    assert (answer.status, answer.out, answer.err.count("\n")) == (3, "", 1)
    assert "pg_dump" in answer.err
    assert not (tmp_path / "backup.db").exists()


def test_restore_says_what_restores_it(
    on_server: Call, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNLEDGER_DB", "postgresql+psycopg://me:secret@host/ledger")
    answer = on_server("restore", db, "--json")
    assert (answer.status, answer.error["code"]) == (3, "store_error")
    assert "use pg_restore, and then `turnledger migrate --new-generation`" in answer.err
    assert "secret" not in answer.out + answer.err


def test_a_file_whose_name_begins_like_a_url_is_a_file(call: Call, tmp_path: Path) -> None:
    answer = call("--db", tmp_path / "postgres.db", "queue", "list", "t")
    assert (answer.status, "there is no such file" in answer.err) == (3, True)
    assert not (tmp_path / "postgres.db").exists()


def test_a_server_that_isnt_there_is_one_line(call: Call) -> None:
    url = "postgresql+psycopg://me:secret@127.0.0.1:1/ledger"
    for command in (("queue", "list", "t"), ("queue", "append", "t", "{}"), ("verify",)):
        answer = call("--db", url, *command, "--json")
        assert (answer.status, answer.error["code"]) == (3, "store_unavailable")
        assert answer.err.count("\n") == 1
        assert "secret" not in answer.out + answer.err


def test_copy_shows_no_password(call: Call, db: Path, postgresql_database: str) -> None:
    target = postgresql_database.replace("postgres@", "postgres:secret@")
    answer = call("copy", db, target)
    assert answer.status == 0
    assert "secret" not in answer.out + answer.err
