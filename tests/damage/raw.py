"""The rows of a ledger as they lie in its store, to be damaged; nothing here asks turnledger."""

from __future__ import annotations

from random import Random
from typing import Any

Row = dict[str, Any]

EVENT = (
    *("stream_id", "version", "type", "schema_version"),
    *("data", "metadata", "recorded_at", "hash"),
)
_BITS = 62  # of a number; the next one is its sign


class Raw:
    """A transaction's cursor on SQLite. Text is given as bytes that needn't be UTF-8."""

    dialect = "sqlite"
    mark, text_mark = "?", "CAST(? AS TEXT)"

    def __init__(self, cursor: Any) -> None:
        self.cursor = cursor

    def run(self, statement: str, *values: object) -> Any:
        """Run a statement whose parameters are braces."""
        marks = [self.text_mark if isinstance(one, bytearray) else self.mark for one in values]
        given = [bytes(one) if isinstance(one, bytearray) else one for one in values]
        return self.cursor.execute(statement.format(*marks), given)

    def rows(self, statement: str, *values: object) -> list[Row]:
        """What a query gives."""
        found = self.run(statement, *values)
        names = [column[0] for column in self.cursor.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def last(self) -> int:
        """The last position."""
        [row] = self.rows("SELECT max(position) AS last FROM events")
        return int(row["last"])

    def event(self, position: int) -> Row:
        """The row at a position."""
        [row] = self.rows("SELECT * FROM events WHERE position = {}", position)
        return row

    def change(self, position: int, column: str, value: object) -> None:
        """Change a column of an event."""
        self.run(f"UPDATE events SET {column} = {{}} WHERE position = {{}}", value, position)

    def delete(self, position: int) -> None:
        """Take an event away."""
        self.run("DELETE FROM events WHERE position = {}", position)

    def move(self, position: int, to: int) -> None:
        """Give an event another position."""
        self.run("UPDATE events SET position = {} WHERE position = {}", to, position)

    def make_room(self, position: int) -> None:
        """Move all events from a position on one further."""
        table = "positions" if self.dialect == "postgresql" else "events"
        self.run(f"UPDATE {table} SET position = -position WHERE position >= {{}}", position)
        self.run(f"UPDATE {table} SET position = 1 - position WHERE position < 0")

    def put(self, position: int, row: Row) -> None:
        """Put an event at a free position."""
        names = ("position", *EVENT)
        values = ", ".join("{}" for _ in names)
        given = (position, *(row[name] for name in EVENT))
        self.run(f"INSERT INTO events ({', '.join(names)}) VALUES ({values})", *given)

    def flipped(self, random: Random, value: Any) -> Any:
        """A value with one of its bits changed; something, if it is nothing."""
        if value is None:
            return 7
        if isinstance(value, int):
            return value ^ (1 << random.randrange(_BITS))
        stored = value if isinstance(value, bytes) else value.encode(errors="surrogateescape")
        changed = _with_a_bit_changed(random, stored)
        return changed if isinstance(value, bytes) else bytearray(changed)

    def let(self) -> None:
        """Switch off what keeps events as they are."""
        for name in ("events_no_update", "events_no_delete"):
            self.run(f"DROP TRIGGER IF EXISTS {name}")


class RawOnPostgresql(Raw):
    """The same on PostgreSQL, where `events` is a view and text is UTF-8."""

    dialect = "postgresql"
    mark = text_mark = "%s"
    _AT = "WHERE id = (SELECT event_id FROM positions WHERE position = {})"

    def run(self, statement: str, *values: object) -> Any:
        texts = [one.decode() if isinstance(one, bytearray) else one for one in values]
        return super().run(statement, *texts)

    def change(self, position: int, column: str, value: object) -> None:
        self.run(f"UPDATE stored_events SET {column} = {{}} {self._AT}", value, position)

    def delete(self, position: int) -> None:
        self.run(f"DELETE FROM stored_events {self._AT}", position)
        self.run("DELETE FROM positions WHERE position = {}", position)

    def move(self, position: int, to: int) -> None:
        self.run("UPDATE positions SET position = {} WHERE position = {}", to, position)

    def put(self, position: int, row: Row) -> None:
        values = ", ".join("{}" for _ in EVENT)
        given = [row[name] for name in EVENT]
        insert = f"INSERT INTO stored_events ({', '.join(EVENT)}) VALUES ({values}) RETURNING id"
        [(event_id,)] = self.run(insert, *given).fetchall()
        self.run("INSERT INTO positions (position, event_id) VALUES ({}, {})", position, event_id)

    def flipped(self, random: Random, value: Any) -> Any:
        if isinstance(value, bool):
            return not value
        while True:  # until it is something that the server takes
            changed = super().flipped(random, value)
            if not isinstance(changed, bytearray):
                return changed
            if b"\0" not in changed and _is_text(changed):
                return changed

    def let(self) -> None:
        self.run("ALTER TABLE stored_events DISABLE TRIGGER USER")


def _with_a_bit_changed(random: Random, stored: bytes) -> bytes:
    if not stored:
        return b"x"
    changed = bytearray(stored)
    changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _is_text(stored: bytearray) -> bool:
    try:
        stored.decode()
    except UnicodeDecodeError:
        return False
    return True
