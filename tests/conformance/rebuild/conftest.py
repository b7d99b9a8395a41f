"""What the tests of rebuild share: a ledger in which all has happened, to be damaged."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import turnledger
from tests.conformance.stores import marked
from tests.verify.conftest import Clock, work
from turnledger import Ledger, Rebuilt, Settings
from turnledger.infrastructure.schema import TABLES, streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.postgresql.server import Server

ALL = {table.name: table for table in (*TABLES, streams)}
Row = dict[str, Any]
AFTER_THE_WORK = 65.0  # seconds, so that no lease is left


class Live:
    """A ledger's tables, looked at and damaged beside turnledger."""

    def __init__(self, url: str) -> None:
        self.url, self.clock = url, Clock()
        self.clock.advance(AFTER_THE_WORK)

    def open(self, **settings: Any) -> Ledger:
        chosen = Settings(synchronous="NORMAL", **settings)
        return turnledger.open(self.url, clock=self.clock, settings=chosen)

    def rows(self, table: str) -> list[Row]:
        """A table's rows, in the order of its key."""
        key = ", ".join(column.name for column in ALL[table].primary_key.columns)
        names = [column.name for column in ALL[table].columns]
        found = self._run(f"SELECT {', '.join(names)} FROM {table} ORDER BY {key}")
        return [dict(zip(names, row, strict=True)) for row in found]

    def everything(self) -> dict[str, list[Row]]:
        """All rows of all tables."""
        return {name: self.rows(name) for name in ALL}

    def change(self, table: str, row: Row, **values: Any) -> None:
        """Change columns of a row."""
        changes = ", ".join(f"{name} = ?" for name in values)
        where, key = self._key(table, row)
        self._run(f"UPDATE {table} SET {changes} WHERE {where}", *values.values(), *key)

    def delete(self, table: str, row: Row) -> None:
        where, key = self._key(table, row)
        self._run(f"DELETE FROM {table} WHERE {where}", *key)

    def empty(self, table: str) -> None:
        self._run(f"DELETE FROM {table}")

    def insert(self, table: str, row: Row) -> None:
        marks = ", ".join("?" for _ in row)
        self._run(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", *row.values())

    def _key(self, table: str, row: Row) -> tuple[str, list[Any]]:
        names = [column.name for column in ALL[table].primary_key.columns]
        return " AND ".join(f"{name} = ?" for name in names), [row[name] for name in names]

    def _run(self, statement: str, *given: object) -> list[Any]:
        if self.url.startswith("sqlite"):
            path = self.url.removeprefix("sqlite:///")
            with closing(sqlite3.connect(path)) as database, database:
                return database.execute(statement, given).fetchall()
        conninfo = self.url.replace("postgresql+psycopg", "postgresql")
        with psycopg.connect(conninfo, autocommit=True) as connection:
            cursor = connection.execute(marked(statement), given)
            return cursor.fetchall() if cursor.description else []


def put_right(found: Rebuilt) -> dict[str, tuple[int, int, int]]:
    """The tables in which something was put right: rows added, removed and changed."""
    counts = {one.name: (one.added, one.removed, one.changed) for one in found.tables}
    return {name: numbers for name, numbers in counts.items() if any(numbers)}


def another(value: Any) -> Any:
    """A value of the same type that isn't the same."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case bytes():
            return b"another" + value[7:]
        case _:
            return "9"  # where text was, or nothing: a number fits both


@pytest.fixture(scope="session")
def worked_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The ledger's file, at rest."""
    path, clock = tmp_path_factory.mktemp("worked") / "ledger.db", Clock()
    with turnledger.open(path, clock=clock) as ledger:
        work(ledger, clock)
    return path.read_bytes()


@pytest.fixture(scope="session")
def worked_database(
    postgresql_server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The name of the ledger's database, to make others of."""
    clock, folder = Clock(), tmp_path_factory.mktemp("attachments")
    with postgresql_server.new_database() as database:
        with turnledger.open(database.url, clock=clock, attachments=folder) as ledger:
            work(ledger, clock)
        yield database.url.rpartition("/")[2]


@pytest.fixture
def live(kind: str, request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Live]:
    """The ledger, for this test alone, on each store."""
    with ExitStack() as stack:
        if kind == "sqlite":
            path = tmp_path / "worked.db"
            path.write_bytes(request.getfixturevalue("worked_file"))
            url = f"sqlite:///{path}"
        else:
            server: Server = request.getfixturevalue("postgresql_server")
            template = request.getfixturevalue("worked_database")
            url = stack.enter_context(server.new_database(template)).url
        yield Live(url)


@pytest.fixture
def ledger(live: Live) -> Iterator[Ledger]:
    """That ledger, open."""
    with live.open() as opened:
        yield opened


@pytest.fixture
def open_beside(live: Live) -> Iterator[Callable[[], Ledger]]:
    """Opens the ledger once more, as another process does."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(live.open())
