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

from turnledger.domain.event import EventRegistry, Unknown
from turnledger.domain.payload import decode
from turnledger.infrastructure.arrivals import Arrivals
from turnledger.infrastructure.keys import AT_ONCE, Key, as_it_is, values_of
from turnledger.infrastructure.statement import DIALECTS, SQLITE, Row
from turnledger.infrastructure.unread import UnreadStreams
from turnledger.projections.plan import TABLES, plan_for, receipt_in

_CACHE_KIBIBYTES = 65_536  # what is more goes to a file that only this connection sees


class Source(Protocol):
    """What is made anew.

    Attributes:
        position: Of the last event that was taken.
        seen: How many were taken.
        unread: The streams that can't be read, with the reason.
    """

    @property
    def position(self) -> int:
        """See above."""
        ...

    @property
    def seen(self) -> int:
        """See above."""
        ...

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

    def note(self, table: Table, keys: list[Key]) -> None:
        """Note rows that have to be looked at, as well."""
        ...

    def noted(self, table: Table) -> Iterator[list[Key]]:
        """The keys of the rows that were noted, each once, some at a time."""
        ...

    def lack(self, table: Table, keys: list[Key] | None) -> None:
        """Remember rows that the live table has to be given; None forgets them all."""
        ...

    def lacking(self, table: Table) -> Iterator[Row]:
        """Those rows."""
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
        self._log = Arrivals()
        self._registry = registry
        self._shapes: set[tuple[Any, ...]] = set()
        self._plan = plan_for(DIALECTS[SQLITE])
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute(f"PRAGMA cache_size = -{_CACHE_KIBIBYTES}")
        self._database.execute("PRAGMA synchronous = OFF")
        for table in TABLES:
            self._database.execute(str(CreateTable(table).compile(dialect=DIALECTS[SQLITE])))
            for index in table.indexes:
                if index.dialect_options[SQLITE]["where"] is None:  # the others are for queries
                    create = CreateIndex(index).compile(dialect=DIALECTS[SQLITE])
                    self._database.execute(str(create))
        self._execute = self._database.cursor().execute
        self._database.execute("BEGIN")  # once: a transaction for each statement takes its time

    @property
    def position(self) -> int:
        """See above."""
        return self._log.position

    @property
    def seen(self) -> int:
        """See above."""
        return self._log.seen

    def take(self, row: Row) -> None:
        """Take a whole row of the events table."""
        if not self._log.is_new(row):
            return
        flaw = self._log.flaw(row)
        if flaw is not None:
            self.unread.setdefault(str(row[1]), flaw)
        _, stream_id, version, topic, schema_version, data, metadata, recorded_at, _ = row
        if stream_id in self.unread:
            return
        execute, place = self._execute, (stream_id, version, recorded_at)
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
        values, given = values_of([key], "?")
        names = ", ".join(column.name for column in table.primary_key.columns)
        query = f"SELECT * FROM {table.name} WHERE ({names}) IN (VALUES {values})"  # noqa: S608
        row: Row | None = self._database.execute(query, given).fetchone()
        return row

    def watch(self, tables: list[Table]) -> None:
        """Note from now on which rows change."""
        for table in tables:
            keys = [column.name for column in table.primary_key.columns]
            names = ", ".join(keys)
            for what in ("noted", "lacking"):
                create = f"CREATE TEMP TABLE {what}_{table.name} ({names}, UNIQUE ({names}))"
                self._database.execute(create)
            for verb, version in (("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old")):
                values = ", ".join(f"{version}.{name}" for name in keys)
                note = f"INSERT OR IGNORE INTO noted_{table.name} VALUES ({values})"  # noqa: S608
                when = f"{verb}_{table.name} AFTER {verb} ON main.{table.name}"
                self._database.execute(f"CREATE TEMP TRIGGER {when} BEGIN {note}; END")

    def note(self, table: Table, keys: list[Key]) -> None:
        """Note rows that have to be looked at, as well."""
        self._add("noted", table, keys)

    def noted(self, table: Table) -> Iterator[list[Key]]:
        """The keys of the rows that were noted, each once, some at a time."""
        names = ", ".join(column.name for column in table.primary_key.columns)
        query = (
            f"SELECT rowid, {names} FROM noted_{table.name} "  # noqa: S608
            f"WHERE rowid > ? ORDER BY rowid LIMIT {AT_ONCE}"
        )
        last = 0
        while page := self._with_damage(query, (last,)):
            yield [tuple(key) for _, *key in page]
            last = page[-1][0]

    def lack(self, table: Table, keys: list[Key] | None) -> None:
        """Remember rows that the live table has to be given; None forgets them all."""
        if keys is None:
            self._database.execute(f"DELETE FROM lacking_{table.name}")  # noqa: S608
        else:
            self._add("lacking", table, keys)

    def lacking(self, table: Table) -> Iterator[Row]:
        """Those rows."""
        names = ", ".join(column.name for column in table.primary_key.columns)
        query = f"SELECT {table.name}.* FROM lacking_{table.name} JOIN {table.name} USING ({names})"  # noqa: S608
        yield from self._database.execute(query)

    def _add(self, what: str, table: Table, keys: list[Key]) -> None:
        if keys:
            values, given = values_of(keys, "?")
            statement = f"INSERT OR IGNORE INTO {what}_{table.name} VALUES {values}"  # noqa: S608
            self._database.execute(statement, given)

    def _with_damage(self, query: str, given: Row) -> list[Row]:
        """Ask for text that may not be UTF-8: a damaged key of a live row."""
        self._database.text_factory = as_it_is
        try:
            return self._database.execute(query, given).fetchall()
        finally:
            self._database.text_factory = str

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
        if type(said) is not dict:
            msg = "it isn't an object"
            raise ValueError(msg)
        shape = (topic, schema_version, *said, *map(type, said.values()))
        if shape not in self._shapes:  # what is alike in all this is alike in being readable
            event = self._registry.read(topic, schema_version, data)
            if isinstance(event, Unknown):
                raise ValueError(event.reason)
            self._shapes.add(shape)
        version, said = self._registry.upcast(topic, schema_version, said)
        return (topic, version), said
