"""Damage to a ledger's file, by chance: to its events, and to the rows made of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from turnledger.infrastructure.schema import TABLES, events, streams

Row = tuple[Any, ...]
EVENT = [column.name for column in events.columns if not column.primary_key]
# Head rows of an older form are made anew at their first use, so a lower number is no damage.
UNTOUCHED = {"streams": {"form"}}


class Expected(NamedTuple):
    """What has to be found: an event by its position, or a row by its table and key.

    Two events of different streams that changed places break no stream's chain: a checkpoint says
    so, and nothing else need.
    """

    what: str
    position: int | None = None
    table: str | None = None
    key: str | None = None
    by_checkpoint: bool = False


class Damaging:
    """Damages one file."""

    def __init__(self, path: Path, seed: int) -> None:
        self._path = path
        self._random = Random(seed)

    def once(self) -> Expected:
        """Do some damage; every kind comes up."""
        kinds: tuple[Callable[[sqlite3.Connection], Expected], ...] = (
            *(self._flip, self._flip, self._delete, self._insert, self._swap),
            *(self._change_row, self._delete_row, self._insert_row),
        )
        with closing(sqlite3.connect(self._path)) as connection:
            triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            for (name,) in connection.execute(triggers).fetchall():
                connection.execute(f'DROP TRIGGER "{name}"')
            while True:
                with suppress(sqlite3.IntegrityError), connection:  # the schema won't have that one
                    return self._random.choice(kinds)(connection)

    # --- events

    def _flip(self, db: sqlite3.Connection) -> Expected:
        position, column = self._position(db), self._random.choice(EVENT)
        ((value,),) = db.execute(f"SELECT {column} FROM events WHERE position = ?", (position,))
        self._set(db, "events", column, self._other(value), "position = ?", (position,))
        return Expected(f"{column} of event {position} changed", position)

    def _delete(self, db: sqlite3.Connection) -> Expected:
        position = self._position(db, short_of=1)
        db.execute("DELETE FROM events WHERE position = ?", (position,))
        return Expected(f"event {position} deleted", position + 1)

    def _insert(self, db: sqlite3.Connection) -> Expected:
        position, copied = self._position(db), self._position(db)
        row = self._event(db, copied)
        later = db.execute(
            "SELECT position FROM events WHERE position >= ? ORDER BY position DESC", (position,)
        )
        for (one,) in later.fetchall():
            db.execute("UPDATE events SET position = ? WHERE position = ?", (one + 1, one))
        ((most,),) = db.execute(
            "SELECT max(version) FROM events WHERE stream_id = ?", (row[0],)
        ).fetchall()
        stranger = (row[0], most + 1, *row[2:])
        db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (position, *stranger))
        return Expected(f"a copy of event {copied} inserted at {position}", position)

    def _swap(self, db: sqlite3.Connection) -> Expected:
        first = self._position(db, short_of=1)
        second = self._random.randrange(first + 1, self._count(db) + 1)
        streams_of = {self._event(db, position)[0] for position in (first, second)}
        for one, other in ((first, -1), (second, first), (-1, second)):
            db.execute("UPDATE events SET position = ? WHERE position = ?", (other, one))
        what = f"events {first} and {second} swapped"
        return Expected(what, first, by_checkpoint=len(streams_of) > 1)

    # --- rows

    def _change_row(self, db: sqlite3.Connection) -> Expected:
        table, row, names, keys = self._row(db)
        columns = [name for name in names if name not in UNTOUCHED.get(table, set()) | set(keys)]
        if not columns:
            return self._delete_row(db)
        column = self._random.choice(columns)
        other = self._other(row[names.index(column)])
        key, where, given = _key(row, names, keys)
        self._set(db, table, column, other, where, given)
        return Expected(f"{column} of {table} {key} changed", None, table, key)

    def _delete_row(self, db: sqlite3.Connection) -> Expected:
        table, row, names, keys = self._row(db)
        key, where, given = _key(row, names, keys)
        db.execute(f"DELETE FROM {table} WHERE {where}", given)
        return Expected(f"{table} {key} deleted", None, table, key)

    def _insert_row(self, db: sqlite3.Connection) -> Expected:
        table, row, names, keys = self._row(db)
        values = list(row)
        for name in keys:
            place = names.index(name)
            values[place] = values[place] + 1_000 if type(values[place]) is int else "stranger"
        marks = ", ".join("?" * len(values))
        for name in names:  # whatever is unique in it must not be what keeps it out
            place = names.index(name)
            if name not in keys and name in ("queue_order", "dispatch_id", "arrival", "turn_order"):
                values[place] = None if name == "dispatch_id" else 1_000_000
        db.execute(f"INSERT INTO {table} VALUES ({marks})", values)
        key, _, _ = _key(tuple(values), names, keys)
        return Expected(f"{table} {key} inserted", None, table, key)

    def _row(self, db: sqlite3.Connection) -> tuple[str, Row, list[str], list[str]]:
        """A row of any table; its columns; those of its key."""
        tables = [*TABLES, streams]
        self._random.shuffle(tables)
        for table in tables:
            order = ", ".join(column.name for column in table.primary_key.columns)
            rows = db.execute(f"SELECT * FROM {table.name} ORDER BY {order}").fetchall()
            if rows:
                names = [column.name for column in table.columns]
                keys = [column.name for column in table.primary_key.columns]
                return table.name, self._random.choice(rows), names, keys
        message = "there is no row to damage"
        raise AssertionError(message)

    def _set(  # noqa: PLR0913, PLR0917 - a cell, and what comes into it
        self, db: sqlite3.Connection, table: str, column: str, to: Any, where: str, key: Row
    ) -> None:
        """Change a cell, also to text that isn't UTF-8."""
        broken = isinstance(to, str) and not to.isprintable()
        given, mark = (
            (to.encode(errors="surrogateescape"), "CAST(? AS TEXT)") if broken else (to, "?")
        )
        db.execute(f"UPDATE {table} SET {column} = {mark} WHERE {where}", (given, *key))

    # --- chance

    def _count(self, db: sqlite3.Connection) -> int:
        return int(db.execute("SELECT count(*) FROM events").fetchone()[0])

    def _position(self, db: sqlite3.Connection, short_of: int = 0) -> int:
        return self._random.randrange(1, self._count(db) + 1 - short_of)

    def _event(self, db: sqlite3.Connection, position: int) -> Row:
        columns = ", ".join(EVENT)
        found = db.execute(f"SELECT {columns} FROM events WHERE position = ?", (position,))
        return tuple(found.fetchone())

    def _other(self, value: Any) -> Any:
        """A value with one bit flipped, or another number; something where there was nothing."""
        if value is None:
            return self._random.choice([0, "x"])
        if isinstance(value, int):
            return value + self._random.choice([-1, 1]) * 2 ** self._random.randrange(20)
        data = bytearray(value if isinstance(value, bytes) else value.encode())
        if not data:
            return "x"
        data[self._random.randrange(len(data))] ^= 1 << self._random.randrange(8)
        return bytes(data) if isinstance(value, bytes) else data.decode(errors="surrogateescape")


def _key(row: Row, names: list[str], keys: list[str]) -> tuple[str, str, Row]:
    """A row's key as findings name it; and what selects the row, with its values."""
    values = tuple(row[names.index(name)] for name in keys)
    return ", ".join(map(str, values)), " AND ".join(f"{name} = ?" for name in keys), values
