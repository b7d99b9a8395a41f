"""An encrypted ledger on each store, and all bytes that are left of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql

import turnledger
from turnledger import Ledger

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock

Traces = Callable[[str], bytes]


@pytest.fixture
def new_url(kind: str, fresh_store: Callable[[str], str], tmp_path: Path) -> Callable[[str], str]:
    """Gives a place where no ledger is yet."""

    def placed(name: str) -> str:
        return f"sqlite:///{tmp_path / name}" if kind == "sqlite" else fresh_store(name)

    return placed


@pytest.fixture
def url(new_url: Callable[[str], str]) -> str:
    """Where the test's ledger lies."""
    return new_url("secret.db")


@pytest.fixture
def opening(url: str, clock: Clock, tmp_path: Path) -> Iterator[Callable[..., Ledger]]:
    """Opens the test's ledger; the first time, it makes an encrypted one."""
    opened: list[Ledger] = []

    def open_it(**options: Any) -> Ledger:
        given = {"encrypt": not opened, "attachments": tmp_path / "files", **options}
        opened.append(turnledger.open(url, clock=clock, **given))
        return opened[-1]

    yield open_it
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(opening: Callable[..., Ledger]) -> Ledger:
    """An encrypted ledger."""
    return opening()


@pytest.fixture
def traces(kind: str, url: str, tmp_path: Path) -> Traces:
    """Gives all bytes that are stored: of `ledger`, or of its `keys`."""

    def of_files(what: str) -> bytes:
        paths = [path for path in tmp_path.rglob("*") if path.is_file()]
        wanted = [path for path in paths if (".keys" in path.name) == (what == "keys")]
        assert wanted
        return b"\n".join(path.read_bytes() for path in wanted)

    def of_tables(what: str) -> bytes:
        files = of_files("ledger") if what == "ledger" and any(tmp_path.rglob("files/*")) else b""
        schema = "public_keys" if what == "keys" else "public"
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
            query = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
            names = [name for (name,) in connection.execute(query, (schema,))]
            assert names
            found = [files]
            for name in names:
                table = sql.Identifier(schema, name)
                with connection.cursor().copy(sql.SQL("COPY {} TO STDOUT").format(table)) as copy:
                    found += map(bytes, copy)
        return b"\n".join(found)

    return of_files if kind == "sqlite" else of_tables
