"""The application's role may do its work, and nothing else."""

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

import turnledger
from tests.conformance.audit.conftest import Host
from tests.conformance.conftest import Clock
from tests.postgresql.lost_answers import COMMANDS, QUESTIONS, Case
from tests.postgresql.server import Database, Server
from turnledger import ClaimLost, Ledger, StoreReadOnly

OPERATIONS = Path(__file__).parents[2] / "docs" / "operations.md"
GRANTS = re.findall(r"^    (GRANT .*) TO app;$", OPERATIONS.read_text(), re.MULTILINE)
FORBIDDEN = [
    "UPDATE stored_events SET data = '{}'",
    "DELETE FROM stored_events",
    "TRUNCATE stored_events",
]


@pytest.fixture(scope="module")
def database(postgresql_server: Server) -> Iterator[Database]:
    """A ledger that its owner has made, with an event in it."""
    with postgresql_server.new_database() as made:
        with turnledger.open(made.url, encrypt=True) as ledger:
            ledger.queue.append("the owner's", {})
        yield made


@pytest.fixture(scope="module")
def role(database: Database) -> Iterator[str]:
    """The application's role."""
    name = f"application_{secrets.token_hex(4)}"
    with psycopg.connect(database.conninfo, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {name} LOGIN".encode())
        for grant in GRANTS:
            owner.execute(f"{grant} TO {name}".encode())
        yield name
        owner.execute(f"DROP OWNED BY {name}".encode())
        owner.execute(f"DROP ROLE {name}".encode())


@pytest.fixture(scope="module")
def ledger(database: Database, role: str) -> Iterator[Ledger]:
    """The ledger, as the application opens it."""
    url = make_url(database.url).set(username=role).render_as_string(hide_password=False)
    with turnledger.open(url) as opened:
        yield opened


@pytest.mark.parametrize("name", [*COMMANDS, *QUESTIONS])
def test_the_application_may_do_everything_that_there_is(ledger: Ledger, name: str) -> None:
    case: Case = (COMMANDS | QUESTIONS)[name]
    prepared = case.prepare(ledger, name)
    try:
        case.act(ledger, name, prepared)
    except ClaimLost:
        assert "lost" in name
    assert ledger.verify().findings == ()


def test_a_host_of_the_applications_does_all_kinds_of_things(database: Database, role: str) -> None:
    url = make_url(database.url).set(username=role).render_as_string(hide_password=False)
    clock = Clock()
    with turnledger.open(url, clock=clock, attachments=None) as ledger:
        host = Host(ledger, clock, 11)
        for _ in range(400):
            host.act()
        assert len({event.type for event in ledger.log.read(limit=100_000)}) > 40
        assert ledger.verify().ok
        assert ledger.purge(thread_id="t")


def test_the_application_takes_attachments_up(
    database: Database, role: str, tmp_path: Path
) -> None:
    url = make_url(database.url).set(username=role).render_as_string(hide_password=False)
    with turnledger.open(url, attachments=tmp_path / "files") as ledger:
        (name,) = ledger.coordinator.begin("item", "m", attachments=[b"file"]).attachments
        assert ledger.attachments.read(name) == b"file"


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_application_lacks_the_privilege_to_change_what_happened(
    database: Database, role: str, statement: str
) -> None:
    conninfo = database.conninfo.replace("user=postgres", f"user={role}")
    with (
        psycopg.connect(conninfo) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement.encode())


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_a_trigger_keeps_even_the_owner_from_changing_what_happened(
    database: Database, statement: str
) -> None:
    with (
        psycopg.connect(database.conninfo) as connection,
        pytest.raises(psycopg.errors.RaiseException, match="append-only"),
    ):
        connection.execute(statement.encode())


def test_an_application_without_privileges_is_told_that_it_cant_write(
    database: Database, role: str, ledger: Ledger
) -> None:
    with psycopg.connect(database.conninfo, autocommit=True) as owner:
        owner.execute(f"REVOKE INSERT ON stored_events FROM {role}".encode())
        with pytest.raises(StoreReadOnly, match="stored_events"):
            ledger.queue.append("thread", {})
        owner.execute(f"GRANT INSERT ON stored_events TO {role}".encode())
    ledger.queue.append("thread", {})
