"""A bundle's file: a ledger of some streams, with what proves that they are part of a whole log.

A bundle comes from somebody else, so nothing in the file is believed. Before anything is read but
its schema, that is compared with the one which this release makes, to the letter: so no view,
trigger or default of other making is ever carried out. Then SQLite looks at its pages, and every
value has to be of its column's type. `verify` does the rest.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Column, Table, create_engine
from sqlalchemy.pool import StaticPool

from turnledger.domain.errors import InvalidPayload, StoreDamaged
from turnledger.infrastructure.bundle_mark import APPLICATION_ID, is_bundle
from turnledger.infrastructure.failures import translating
from turnledger.infrastructure.merkle import HASH_BYTES, Node
from turnledger.infrastructure.migration import upgrade
from turnledger.infrastructure.schema import metadata
from turnledger.infrastructure.sqlite import SqliteStore
from turnledger.infrastructure.store import Store
from turnledger.infrastructure.subject import Subject

_TABLES = (
    "CREATE TABLE bundle (kind TEXT NOT NULL, id TEXT NOT NULL, checkpoint TEXT NOT NULL)",
    """CREATE TABLE bundle_streams (
    stream_id TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL, position INTEGER NOT NULL
) WITHOUT ROWID""",
    """CREATE TABLE bundle_nodes (
    level INTEGER NOT NULL, place INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (level, place)
) WITHOUT ROWID""",
)
_COUNTS = {"bundle_streams": ("version", "position"), "bundle_nodes": ("level", "place")}
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
_LATEST = 253_402_300_799_999_999  # the end of the year 9999, in microseconds
_EARLIEST = -62_135_596_800_000_000  # the begin of the year 1

Ends = Mapping[str, tuple[int, int]]


class Contents(NamedTuple):
    """What a bundle holds beside a ledger's tables.

    Attributes:
        subject: What it is about.
        checkpoint: Of the whole log, as text.
        ends: Of each stream the version and the position of its last event.
        nodes: The hashes beside the ways of its events to the root.
    """

    subject: Subject
    checkpoint: str
    ends: Ends
    nodes: Mapping[Node, bytes]


def is_one(store: Store) -> bool:
    """Whether a store is a bundle."""
    if not isinstance(store, SqliteStore):
        return False
    with store.reading() as cursor:
        return is_bundle(cursor.connection)


def refuse(store: Store, reason: str) -> None:
    """Refuse to do with a bundle what only a whole ledger can do.

    Raises:
        InvalidPayload: The store is one.
    """
    if is_one(store):
        raise InvalidPayload("ledger", f"is a bundle, {store.url}: {reason}")


def complete(path: Path, contents: Contents) -> None:
    """Make a bundle of a ledger's file that nobody has open."""
    with (
        translating(f"sqlite:///{path}"),
        closing(sqlite3.connect(path, isolation_level=None)) as file,
    ):
        file.execute("PRAGMA journal_mode=DELETE")
        file.execute("BEGIN")
        for table in _TABLES:
            file.execute(table)
        said = (*contents.subject, contents.checkpoint)
        file.execute("INSERT INTO bundle VALUES (?, ?, ?)", said)
        ends = ((name, *end) for name, end in contents.ends.items())
        file.executemany("INSERT INTO bundle_streams VALUES (?, ?, ?)", ends)
        nodes = ((*node, hashed) for node, hashed in sorted(contents.nodes.items()))
        file.executemany("INSERT INTO bundle_nodes VALUES (?, ?, ?)", nodes)
        file.execute(f"PRAGMA application_id={APPLICATION_ID}")
        file.execute("COMMIT")


def read(store: Store) -> Contents | None:
    """What a bundle holds beside a ledger's tables; None if the store is no bundle.

    Raises:
        StoreDamaged: It doesn't say what it is about.
    """
    if not is_one(store):
        return None
    with store.reading(snapshot=True) as cursor:
        said = cursor.execute("SELECT kind, id, checkpoint FROM bundle LIMIT 2").fetchall()
        ends = cursor.execute("SELECT stream_id, version, position FROM bundle_streams").fetchall()
        nodes = cursor.execute("SELECT level, place, hash FROM bundle_nodes").fetchall()
    if len(said) != 1:
        raise StoreDamaged(store.url, "it is a bundle that doesn't say what it is about")
    [(kind, name, checkpoint)] = said
    return Contents(
        Subject(kind, name),
        checkpoint,
        {stream_id: (version, position) for stream_id, version, position in ends},
        {Node(level, place): hashed for level, place, hashed in nodes},
    )


def inspect(store: SqliteStore) -> None:
    """Look whether a bundle can be read without danger; a ledger is let be.

    Raises:
        StoreDamaged: It can't.
    """
    if not is_one(store):
        return
    with store.reading(snapshot=True, damaged=True) as cursor:
        if cursor.execute(_SCHEMA).fetchall() != _expected():
            raise _unsound(store, "its schema isn't what this release makes")
        cursor.execute("PRAGMA cell_size_check=ON")
        if cursor.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise _unsound(store, "its pages don't fit together")
        for table, conditions in _sound_values():
            sound = " AND ".join(conditions)
            strange = f"SELECT 1 FROM {table} WHERE NOT ({sound}) LIMIT 1"  # noqa: S608
            if cursor.execute(strange).fetchone() is not None:
                raise _unsound(store, f"a value in {table} isn't of its column's type")
        if len(cursor.execute("SELECT 1 FROM ledger LIMIT 2").fetchall()) != 1:
            raise _unsound(store, "it doesn't say which ledger it is of")


def _unsound(store: Store, reason: str) -> StoreDamaged:
    return StoreDamaged(store.url, f"it is a bundle that can't be read: {reason}")


@cache
def _expected() -> list[tuple[Any, ...]]:
    """The schema of a bundle as this release makes it."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as memory:
        engine = create_engine("sqlite://", creator=lambda: memory, poolclass=StaticPool)
        with engine.connect() as connection:
            upgrade(connection)
            connection.commit()
        for table in _TABLES:
            memory.execute(table)
        return memory.execute(_SCHEMA).fetchall()


def _sound_values() -> Iterator[tuple[str, list[str]]]:
    """Each table, and what has to hold of each of its columns."""
    for table in metadata.tables.values():
        yield table.name, [_sound(column) for column in _columns(table)]
    texts = {"bundle": ("kind", "id", "checkpoint"), "bundle_streams": ("stream_id",)}
    for name, columns in texts.items():
        yield name, [f"typeof({column}) = 'text'" for column in columns]
    for name, columns in _COUNTS.items():
        yield name, [_whole(column, 0) for column in columns]
    yield "bundle_nodes", [_hash("hash")]


def _columns(table: Table) -> Iterable[Column[Any]]:
    return table.columns


def _sound(column: Column[Any]) -> str:
    kind: type = column.type.python_type
    if kind is bytes:
        fine = _hash(column.name)
    elif kind is bool:
        fine = f"typeof({column.name}) = 'integer' AND {column.name} IN (0, 1)"
    elif kind is int:
        fine = _whole(column.name, _EARLIEST)
    else:
        fine = f"typeof({column.name}) = 'text'"
    return f"({column.name} IS NULL OR ({fine}))" if column.nullable else f"({fine})"


def _whole(name: str, least: int) -> str:
    return f"typeof({name}) = 'integer' AND {name} BETWEEN {least} AND {_LATEST}"


def _hash(name: str) -> str:
    return f"typeof({name}) = 'blob' AND length({name}) = {HASH_BYTES}"
