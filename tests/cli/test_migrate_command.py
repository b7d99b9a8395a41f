"""`turnledger migrate`: on a file, and by the owner of a database where others only work."""

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import turnledger
from tests.postgresql.fixtures import postgresql_database, postgresql_server

__all__ = ["postgresql_database", "postgresql_server"]

Call = Any

HEAD = "0001"


def test_it_says_what_it_did(call: Call, tmp_path: Path) -> None:
    new = ("--db", tmp_path / "new.db", "migrate")
    made = call(*new)
    assert (made.status, made.out.startswith(f"made schema {HEAD}: ledger ")) == (0, True)
    assert call(*new).out == f"schema {HEAD} is this release's: nothing was to be done\n"
    again = call(*new, "--json").json
    assert (again["before"], again["after"]) == (HEAD, HEAD)


def test_a_new_generation_voids_the_claims_of_before(claimed: Call) -> None:
    before = claimed("migrate", "--json").json
    answer = claimed("migrate", "--new-generation")
    assert answer.status == 0
    assert answer.lines[1].endswith(": claims and cursors of before are refused")
    after = claimed("migrate", "--json").json
    assert after["ledger_id"] == before["ledger_id"]
    assert after["generation"] == answer.lines[1].split()[1].rstrip(":") != before["generation"]


def test_what_is_no_ledger_is_refused(call: Call, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database, but a text of some length\n" * 100)
    answer = call("--db", tmp_path / "text", "migrate")
    assert (answer.status, answer.err.count("\n")) == (3, 1)


@pytest.fixture
def worker(postgresql_database: str) -> Iterator[str]:
    """The URL of a role that may work with tables, but make none."""
    role = f"worker_{secrets.token_hex(4)}"
    conninfo = postgresql_database.replace("+psycopg", "")
    rights = "SELECT, INSERT, UPDATE, DELETE"
    grants = [
        f"CREATE ROLE {role} LOGIN",
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT {rights} ON TABLES TO {role}",
    ]
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for statement in grants:
            connection.execute(statement.encode())
        yield postgresql_database.replace("postgres@", f"{role}@")
        connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}".encode())


def test_on_a_server_its_owner_does_it(call: Call, postgresql_database: str, worker: str) -> None:
    refused = call("--db", worker, "queue", "append", "t", "{}")
    assert (refused.status, refused.out) == (3, "")
    assert "run `turnledger migrate` as its owner" in refused.err
    assert call("--db", worker, "migrate").status == 3
    made = call("--db", postgresql_database, "migrate", "--json").json
    assert (made["before"], made["after"]) == (None, HEAD)
    assert call("--db", worker, "queue", "append", "t", "{}").status == 0
    worked = call("--db", worker, "migrate", "--json")
    assert worked.json == {**made, "before": HEAD}


def test_a_server_that_isnt_there_is_one_line(call: Call) -> None:
    answer = call("--db", "postgresql+psycopg://nobody@127.0.0.1:1/ledger", "migrate")
    assert (answer.status, answer.err.count("\n")) == (3, 1)


def test_on_a_server_it_begins_a_new_generation(call: Call, postgresql_database: str) -> None:
    with turnledger.open(postgresql_database) as ledger:
        ledger.queue.append("t", {})
        claim = ledger.queue.claim_head("t", "w", 60)
    assert claim is not None
    answer = call("--db", postgresql_database, "migrate", "--new-generation", "--json").json
    with turnledger.open(postgresql_database) as ledger:
        assert ledger.generation == answer["generation"] != claim.generation
        with pytest.raises(turnledger.ClaimLost):
            ledger.queue.ack(claim)
