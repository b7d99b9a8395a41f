"""What is said when a ledger can't be opened or used: in turnledger's words, and no secrets."""

import secrets
import subprocess
import sys
import traceback
from collections.abc import Iterator

import psycopg
import pytest

import turnledger
from tests.postgresql.cluster import HOST, free_port
from tests.postgresql.server import Database, Server
from turnledger import StoreDamaged, StoreError, StoreTooNew, StoreUnavailable

SECRET = "hunter2-never-shown"
FORKING = """
import os, sys
import turnledger

with turnledger.open(sys.argv[1]) as ledger:
    ledger.queue.append("before", {})
    child = os.fork()
    thread = "child" if child == 0 else "parent"
    ids = [ledger.queue.append(thread, {}).queued_turn_id for _ in range(20)]
    claim = ledger.queue.claim_head(thread, thread)
    ledger.queue.start_dispatch(claim, "dispatch")
    ledger.queue.ack(claim)
    ledger.wait_for_change(0, 5)
    print(*ids, flush=True)
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    ledger.queue.append("parent", {})
    assert len(ledger.queue.list("child")) == 19 and len(ledger.queue.list("parent")) == 20
    assert ledger.verify().ok
"""


@pytest.fixture
def guarded(postgresql_server: Server) -> Iterator[str]:
    """The name of a role that needs a password."""
    name = f"guarded_{secrets.token_hex(4)}"
    rules = postgresql_server.folder / "data/pg_hba.conf"
    before = rules.read_text()
    with psycopg.connect(postgresql_server.database().conninfo, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'another'".encode())
        rules.write_text(f"host all {name} {HOST}/32 scram-sha-256\n{before}")
        admin.execute("SELECT pg_reload_conf()")
        yield name
        rules.write_text(before)
        admin.execute("SELECT pg_reload_conf()")
        admin.execute(f"DROP ROLE {name}".encode())


def told(error: BaseException) -> str:
    """All that an error shows, with what led to it."""
    return "".join(traceback.format_exception(error)) + repr(vars(error))


def refusal(url: str, kind: type[StoreError]) -> str:
    """What is said on opening a database that can't be opened."""
    with pytest.raises(StoreError) as caught:
        turnledger.open(url)
    assert type(caught.value) is kind
    assert SECRET not in told(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("place", ["user", "query"])
def test_a_wrong_password_is_refused_and_not_shown(
    database: Database, guarded: str, place: str
) -> None:
    url = database.url.replace("postgres@", f"{guarded}:{SECRET}@")
    if place == "query":
        url = database.url.replace("postgres@", f"{guarded}@") + f"?password={SECRET}"
    assert "password authentication failed" in refusal(url, StoreUnavailable)


def test_a_password_isnt_shown_by_a_ledger_that_is_open(database: Database) -> None:
    url = database.url.replace("postgres@", f"postgres:{SECRET}@") + f"?password={SECRET}"
    with turnledger.open(url) as ledger:
        pass
    with pytest.raises(StoreError) as caught:
        ledger.queue.append("thread", {})
    assert SECRET not in told(caught.value)


def test_a_database_that_isnt_there_is_named(postgresql_server: Server) -> None:
    said = refusal(postgresql_server.database("nowhere").url, StoreUnavailable)
    assert 'database "nowhere" does not exist' in said


def test_a_server_that_isnt_there_isnt_waited_for() -> None:
    url = f"postgresql+psycopg://somebody:{SECRET}@{HOST}:{free_port()}/ledger"
    assert "refused" in refusal(url, StoreUnavailable)


@pytest.mark.parametrize("table", ["events", "alembic_version"])
def test_a_database_of_something_else_is_left_alone(database: Database, table: str) -> None:
    with psycopg.connect(database.conninfo) as connection:
        connection.execute(f"CREATE TABLE {table} (version_num text)".encode())
    assert "something else" in refusal(database.url, StoreDamaged)


def test_a_newer_schema_is_left_alone(database: Database) -> None:
    turnledger.open(database.url).close()
    with psycopg.connect(database.conninfo) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    assert "9999" in refusal(database.url, StoreTooNew)


def test_a_closed_ledger_says_that_it_is_closed(database: Database) -> None:
    with turnledger.open(database.url) as ledger:
        ledger.queue.append("thread", {})
    for use in (
        lambda: ledger.queue.append("thread", {}),
        lambda: ledger.queue.claim_next("owner"),
        lambda: ledger.queue.list("thread"),
        lambda: ledger.queue.why_blocked("thread"),
        ledger.log.read,
        lambda: ledger.wait_for_change(0, 1),
        ledger.verify,
    ):
        with pytest.raises(StoreError, match="closed") as caught:
            use()
        assert type(caught.value) is StoreError


def test_a_forked_child_and_its_parent_both_go_on(database: Database) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING, database.url], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(set(done.stdout.split())) == 40
