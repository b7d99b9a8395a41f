"""The read models made anew out of the events, beside the live ones, which go on meanwhile.

They stand in a private database of this process, which is gone with it: so whoever is killed in
the middle leaves nothing, and nobody ever sees a table that is half made. No event is made an
object where its JSON is enough, and no rule is looked at: that is what `verify` is for.
"""

import sqlite3
from collections.abc import Iterator
from typing import Any, Protocol

from sqlalchemy import Table
from sqlalchemy.schema import CreateIndex, CreateTable

from turnledger.domain.event import EventRegistry
from turnledger.domain.payload import decode
from turnledger.infrastructure.statement import DIALECTS, SQLITE, Row
from turnledger.infrastructure.unread import UnreadStreams
from turnledger.projections.plan import TABLES, plan_for, receipt_in

_CACHE_KIBIBYTES = 65_536  # what is more goes to a file that only this connection sees

Key = tuple[Any, ...]


class Source(Protocol):
    """What is made anew.

    Attributes:
        position: Of the last event that was taken.
        seen: How many were taken.
        unread: The streams that can't be read, with the reason.
    """

    position: int
    seen: int

    @property
    def unread(self) -> dict[str, str]:
        """See above."""
        ...

    def take(self, row: Row) -> None:
        """Take a whole row of the events table."""
        ...

    def rows(self, table: Table) -> Iterator[Row]:
        """A table's rows, in the order of its key."""
        ...

    def row(self, table: Table, key: Key) -> Row | None:
        """A row by its key, as it ought to be."""
        ...

    def watch(self, tables: list[Table]) -> None:
        """Note from now on which rows change."""
        ...

    def touched(self, table: Table) -> list[Key]:
        """The keys of the rows that changed since."""
        ...

    def is_unknown(self, table: Table, row: Row) -> bool:
        """Whether what a row ought to be isn't known."""
        ...

    def close(self) -> None:
        """Let it go."""
        ...


class Shadow(UnreadStreams):
    """Takes stored events, in the order of their positions.

    Attributes:
        position: Of the last event that was taken.
        seen: How many were taken.
    """

    def __init__(self, registry: EventRegistry) -> None:
        """Start with nothing."""
        super().__init__()
        self.position = self.seen = 0
        self._versions: dict[str, int] = {}
        self._registry = registry
        self._plan = plan_for(DIALECTS[SQLITE])
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute(f"PRAGMA cache_size = -{_CACHE_KIBIBYTES}")
        self._database.execute("PRAGMA synchronous = OFF")
        for table in TABLES:
            self._database.execute(str(CreateTable(table).compile(dialect=DIALECTS[SQLITE])))
            for index in table.indexes:
                self._database.execute(str(CreateIndex(index).compile(dialect=DIALECTS[SQLITE])))
        self._database.execute("BEGIN")  # once: a transaction for each statement takes its time

    def take(self, row: Row) -> None:
        """Take a whole row of the events table."""
        position, stream_id, version, topic, schema_version, data, metadata, recorded_at, _ = row
        self.position = position or self.position
        if version <= self._versions.get(stream_id, 0):
            return  # taken before it had a position, in a transaction that was done again
        self._versions[stream_id], self.seen = version, self.seen + 1
        if stream_id in self.unread:
            return
        execute, place = self._database.execute, (stream_id, version, recorded_at)
        try:
            kind, said = self._said(topic, schema_version, data)
            self._plan.run_stored(execute, kind, said, place)
            if '"receipt"' in metadata and (receipt := receipt_in(decode(metadata))) is not None:
                self._plan.keep(execute, receipt, stream_id, version, recorded_at)
        except (ValueError, TypeError, KeyError, AttributeError, sqlite3.Error) as error:
            self.unread[stream_id] = f"{topic} can't be taken: {error}"

    def rows(self, table: Table) -> Iterator[Row]:
        """A read model's rows, in the order of its key."""
        order = ", ".join(column.name for column in table.primary_key.columns)
        yield from self._database.execute(f"SELECT * FROM {table.name} ORDER BY {order}")  # noqa: S608

    def row(self, table: Table, key: Key) -> Row | None:
        """A row by its key, as it ought to be."""
        where = " AND ".join(f"{column.name} = ?" for column in table.primary_key.columns)
        found = self._database.execute(f"SELECT * FROM {table.name} WHERE {where}", key)  # noqa: S608
        row: Row | None = found.fetchone()
        return row

    def watch(self, tables: list[Table]) -> None:
        """Note from now on which rows change."""
        for table in tables:
            keys = [column.name for column in table.primary_key.columns]
            names = ", ".join(keys)
            create = f"CREATE TEMP TABLE touched_{table.name} ({names}, UNIQUE ({names}))"
            self._database.execute(create)
            for verb, version in (("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old")):
                values = ", ".join(f"{version}.{name}" for name in keys)
                note = f"INSERT OR IGNORE INTO touched_{table.name} VALUES ({values})"  # noqa: S608
                when = f"{verb}_{table.name} AFTER {verb} ON main.{table.name}"
                self._database.execute(f"CREATE TEMP TRIGGER {when} BEGIN {note}; END")

    def touched(self, table: Table) -> list[Key]:
        """The keys of the rows that changed since."""
        return self._database.execute(f"SELECT * FROM touched_{table.name}").fetchall()  # noqa: S608

    def is_unknown(self, table: Table, row: Row) -> bool:
        """Whether what a row ought to be isn't known."""
        return self.is_unread(table.name, row)

    def close(self) -> None:
        """Let it go."""
        self._database.close()

    def _said(
        self, topic: str, schema_version: int, data: str
    ) -> tuple[tuple[str, int], dict[str, Any]]:
        """An event's JSON in its latest form, and of which kind it is then.

        Raises:
            ValueError: It is of a newer release, or damaged.
        """
        said = decode(data)
        kind = (topic, schema_version)
        known = self._registry.fields(*kind)
        if known is None:
            version, said = self._registry.upcast(topic, schema_version, said)
            kind = (topic, version)
            known = self._registry.fields(*kind)
        if known is None:
            msg = f"this release doesn't know {topic} version {schema_version}"
            raise ValueError(msg)
        if type(said) is not dict or not said.keys() <= known:
            msg = "it has fields that this release doesn't know"
            raise ValueError(msg)
        return kind, said
