"""Statements, written once in SQLAlchemy Core and compiled once for each store's driver."""

from typing import Any

from sqlalchemy import BigInteger
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from turnledger.domain.identifier import MOST
from turnledger.projections.plan import Compiled, compiled
from turnledger.projections.schema import Parameters

SQLITE, POSTGRESQL = "sqlite", "postgresql"

DIALECTS: dict[str, Dialect] = {
    SQLITE: sqlite.dialect(paramstyle="qmark"),
    POSTGRESQL: PGDialect_psycopg(paramstyle="format"),  # type: ignore[no-untyped-call]
}

Cursor = Any  # sqlite3's or psycopg's: both have execute, fetchone, fetchall and rowcount
Row = tuple[Any, ...]
EVERYTHING = MOST  # as a limit


class Statement(dict[str, Compiled]):
    """A statement for every store, by the dialect's name: compiled when it is first asked for.

    Attributes:
        core: The statement as SQLAlchemy has it.
    """

    def __init__(self, core: Any) -> None:
        """Take it as SQLAlchemy has it."""
        super().__init__()
        self.core = core

    def __missing__(self, dialect: str) -> Compiled:
        """Compile it; all of them at the start would take a process a tenth of a second."""
        ready = self[dialect] = compiled(self.core, DIALECTS[dialect])
        return ready


def statement(core: Any) -> Statement:
    """A statement for every store."""
    return Statement(core)


def run(cursor: Cursor, dialect: str, what: Statement, given: Parameters) -> Cursor:
    """Run a statement with its parameters by name."""
    ready = what[dialect]
    return cursor.execute(ready.sql, ready.arguments(given))


def guarded(sql: str) -> str:
    """A statement that does nothing unless the common table expression `head` has a row.

    It is one of several in one statement of PostgreSQL's; see the recorder there.
    """
    if not sql.startswith("INSERT"):
        return f"{sql} AND EXISTS (SELECT FROM head)"
    columns, _, values = sql.partition(" VALUES (")
    return " ".join([columns, "SELECT", values.removesuffix(")"), "FROM head"])


class ServerTime(FunctionElement[int]):
    """The server's clock in microseconds; null on SQLite, which has none of its own."""

    type = BigInteger()
    inherit_cache = True


@compiles(ServerTime, POSTGRESQL)
def _on_postgresql(_element: Any, _compiler: Any, **_options: Any) -> str:
    return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"


@compiles(ServerTime, SQLITE)
def _on_sqlite(_element: Any, _compiler: Any, **_options: Any) -> str:
    return "NULL"
