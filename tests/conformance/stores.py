"""The stores on which everything is run, read and damaged beside turnledger."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, Protocol

import psycopg
import pytest

import turnledger
from tests.postgresql.fixtures import postgresql_server, started
from tests.postgresql.server import Server

__all__ = ["postgresql_server", "started"]

KINDS = ("sqlite", "postgresql")
LET_GO_SECONDS = 60


class StoredEvent(NamedTuple):
    """A row of the events table, but for its hash."""

    position: int
    stream_id: str
    version: int
    type: str
    schema_version: int
    data: str
    metadata: str
    recorded_at: Any


class Store(Protocol):
    """A store as it lies there. Parameters of statements are question marks."""

    kind: str

    def rows(self, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
        """What a query gives."""
        ...

    def columns(self, table: str) -> set[str]:
        """The names of a table's columns."""
        ...

    def damage(self, statement: str, *arguments: object) -> None:
        """Change one stored row, which a ledger never does."""
        ...

    def events(self, after: int = 0) -> list[StoredEvent]:
        """Every event behind a position, in order."""
        ...

    def until_left(self) -> None:
        """Wait until no other connection works on it."""
        ...


class SqliteFile:
    """A ledger's file."""

    kind = "sqlite"

    def __init__(self, url: str) -> None:
        self._path = url.removeprefix("sqlite:///")

    def rows(self, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self._path)) as connection:
            return connection.execute(statement, arguments).fetchall()

    def columns(self, table: str) -> set[str]:
        return {name for (name,) in self.rows("SELECT name FROM pragma_table_info(?)", table)}

    def events(self, after: int = 0) -> list[StoredEvent]:
        statement = f"SELECT {', '.join(StoredEvent._fields)} FROM events"
        rows = self.rows(f"{statement} WHERE position > ? ORDER BY position", after)
        return [StoredEvent(*row) for row in rows]

    def damage(self, statement: str, *arguments: object) -> None:
        with closing(sqlite3.connect(self._path)) as connection, connection:
            triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            for (name,) in connection.execute(triggers).fetchall():
                connection.execute(f'DROP TRIGGER "{name}"')
            changed = connection.execute(statement, arguments).rowcount
        assert changed == 1

    def until_left(self) -> None:
        """A process that is gone does nothing more to a file."""


class PostgresqlDatabase:
    """A ledger's database on a server."""

    kind = "postgresql"

    def __init__(self, url: str) -> None:
        self._url = url
        self._conninfo = url.replace("postgresql+psycopg", "postgresql")

    def rows(self, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self._conninfo, autocommit=True) as connection:
            return connection.execute(marked(statement), arguments).fetchall()

    def columns(self, table: str) -> set[str]:
        query = "SELECT column_name FROM information_schema.columns WHERE table_name = ?"
        return {name for (name,) in self.rows(query, table)}

    def events(self, after: int = 0) -> list[StoredEvent]:
        with turnledger.open(self._url) as ledger:  # it gives positions to the last ones
            ledger.log.read(limit=1)
        statement = f"SELECT {', '.join(StoredEvent._fields)} FROM events"
        rows = self.rows(f"{statement} WHERE position > ? ORDER BY position", after)
        return [StoredEvent(*row) for row in rows]

    def damage(self, statement: str, *arguments: object) -> None:
        told = statement.replace("UPDATE events", "UPDATE stored_events").replace(
            "WHERE position =", "WHERE id = (SELECT event_id FROM positions WHERE position ="
        )
        told += ")" if told.count("(") > told.count(")") else ""
        with psycopg.connect(self._conninfo, autocommit=True) as connection:
            connection.execute("ALTER TABLE stored_events DISABLE TRIGGER USER")
            assert connection.execute(marked(told), arguments).rowcount == 1

    def until_left(self) -> None:
        others = (
            "SELECT 1 FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        end = monotonic() + LET_GO_SECONDS
        while self.rows(others):
            assert monotonic() < end, "a connection stays"


def marked(statement: str) -> bytes:
    """A statement with psycopg's marks for its parameters."""
    return statement.replace("%", "%%").replace("?", "%s").encode()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Which store it is."""
    return str(request.param)


@pytest.fixture(scope="session")
def empty_ledger(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An empty ledger's file, to begin with: copying one is faster than making it."""
    path = tmp_path_factory.mktemp("empty") / "ledger.db"
    turnledger.open(path).close()
    return path.read_bytes()


@pytest.fixture(scope="session")
def empty_database(postgresql_server: Server) -> Iterator[str]:
    """The name of a database with the schema and nothing in it, to make others of."""
    with postgresql_server.new_database() as database:
        turnledger.open(database.url).close()
        with psycopg.connect(database.conninfo, autocommit=True) as connection:
            connection.execute("DELETE FROM ledger")
        yield database.url.rpartition("/")[2]


@pytest.fixture
def fresh_store(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Callable[[str], str]]:
    """Makes an empty ledger under a name; the same name gives the same."""
    made: dict[str, str] = {}
    with ExitStack() as stack:

        def making(name: str) -> str:
            if name in made:
                return made[name]
            if kind == "sqlite":
                path = tmp_path / f"{name}.db"
                path.write_bytes(request.getfixturevalue("empty_ledger"))
                made[name] = f"sqlite:///{path}"
            else:
                server: Server = request.getfixturevalue("postgresql_server")
                template = request.getfixturevalue("empty_database")
                made[name] = stack.enter_context(server.lent_database(template)).url
            return made[name]

        yield making


def store_at(url: str) -> Store:
    """The store at a place, beside turnledger."""
    return SqliteFile(url) if url.startswith("sqlite") else PostgresqlDatabase(url)
