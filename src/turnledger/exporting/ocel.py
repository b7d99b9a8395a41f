"""OCEL 2.0, the standard of object-centric event logs, in its relational form in SQLite.

What happened to which objects, for tools of process mining. No content is in it. The standard's
tables and columns are at https://www.ocel-standard.org; a table of each type comes with its first
event or object.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from turnledger.exporting.event import ExportedEvent, Page
from turnledger.exporting.objects import CHANGES, FIRST, PART_OF, Related, related
from turnledger.exporting.ocel_schema import (
    BEGINNING,
    TABLES,
    EventTypes,
    name_in_sql,
    object_attributes,
    scalar,
    timestamp,
)

_FAST = (  # nobody else sees the file before it is whole
    "PRAGMA page_size=16384",
    "PRAGMA locking_mode=EXCLUSIVE",
    "PRAGMA journal_mode=OFF",
    "PRAGMA synchronous=OFF",
    "PRAGMA cache_size=-32000",
)
_LINK = "INSERT OR IGNORE INTO {} VALUES (?, ?, ?)"


class OcelFile:
    """An object-centric event log."""

    def __init__(self, path: Path) -> None:
        """Make it, with the tables that don't depend on types."""
        self._database = sqlite3.connect(path, isolation_level=None)
        for statement in (*_FAST, *TABLES, "BEGIN"):
            self._database.execute(statement)
        self._types = EventTypes(self._database)
        self._kinds: set[str] = set()

    def write(self, page: Page) -> None:
        """Write some events, with what they are about."""
        heads, links, objects, parts = [], [], dict[str, str](), list[tuple[str, str, str]]()
        rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for event in page.events():
            said, own = event.fields(), f"event:{event.position}"
            about, at = related(event, said), timestamp(event.recorded_at)
            heads.append((own, event.type))
            insert, attributes = self._types.table(event.type)
            rows[insert].append((own, at, *_common(event), *attributes(said)))
            for kind, name, qualifier in about:
                links.append((own, name, qualifier))
                objects[name] = kind
            parts += _parts(about)
            for table, row in _object_rows(event.type, at, said, about):
                rows[table].append(row)
        self._add_kinds(set(objects.values()))
        run = self._database.executemany
        run("INSERT INTO event VALUES (?, ?)", heads)
        run("INSERT OR IGNORE INTO object VALUES (?, ?)", objects.items())
        run(_LINK.format("event_object"), links)
        run(_LINK.format("object_object"), dict.fromkeys(parts))
        for statement, several in rows.items():
            run(statement, several)

    def _add_kinds(self, kinds: set[str]) -> None:
        for kind in sorted(kinds - self._kinds):
            columns = "".join(f", {name} TEXT" for name in object_attributes(kind))
            self._database.execute("INSERT INTO object_map_type VALUES (?, ?)", (kind, kind))
            self._database.execute(
                f"CREATE TABLE {name_in_sql(f'object_{kind}')} (ocel_id TEXT NOT NULL REFERENCES "
                f"object (ocel_id), ocel_time TIMESTAMP NOT NULL, ocel_changed_field TEXT{columns})"
            )
        self._kinds |= kinds

    def __enter__(self) -> Self:
        """The file itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give each object its first row, and close the file."""
        try:
            if kind is None:
                self._finish()
        finally:
            self._database.close()

    def _finish(self) -> None:
        """Let objects whose beginning wasn't seen have a first row too, which says nothing."""
        for kind in sorted(self._kinds):
            table = name_in_sql(f"object_{kind}")
            self._database.execute(
                f"INSERT INTO {table} (ocel_id, ocel_time) SELECT ocel_id, ? FROM object "  # noqa: S608 - our own names
                f"WHERE ocel_type = ? AND ocel_id NOT IN (SELECT ocel_id FROM {table} "
                "WHERE ocel_changed_field IS NULL)",
                (BEGINNING, kind),
            )
        self._database.execute("COMMIT")


def _common(event: ExportedEvent) -> tuple[Any, ...]:
    """The attributes that all events have; see COMMON."""
    context = event.context()
    command = context.get("command")
    name = command.get("name") if isinstance(command, dict) else None
    said = (name, context.get("actor"), context.get("correlation_id"))
    return event.position, event.version, *map(scalar, said)


def _parts(about: list[Related]) -> list[tuple[str, str, str]]:
    """Which of an event's objects are part of which."""
    wholes: dict[str | None, str] = {}  # by kind; empty if there are several
    for kind, name, _ in about:
        wholes[kind] = "" if kind in wholes else name
    parts = [
        (name, whole, "part of")
        for kind, name, _ in about
        if (whole := wholes.get(PART_OF.get(kind)))
    ]
    if len(about) > 1 and about[1].qualifier == "forked from":
        parts.append((about[0].id, about[1].id, "forked from"))
    return parts


def _object_rows(
    event_type: str, at: str, said: dict[str, Any], about: list[Related]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The rows that an event leads to in the tables of object types, with their statements."""
    kind, names = FIRST.get(event_type, ("", ()))
    if kind:
        values = [None if said.get(name) is None else str(said[name]) for name in names]
        insert = _insert(kind, names)
        for one in about:
            if one.kind == kind:
                yield insert, (one.id, BEGINNING, None, *values)
    for of, field, value, taken_from in CHANGES.get(event_type, ()):
        new = scalar(said.get(taken_from)) if taken_from else value
        insert = _insert(of, (field,))
        for one in about:
            if one.kind == of:
                yield insert, (one.id, at, field, new)


@cache
def _insert(kind: str, fields: tuple[str, ...]) -> str:
    names, marks = ", ".join(fields), ", ?" * len(fields)
    table = name_in_sql(f"object_{kind}")
    return (
        f"INSERT INTO {table} (ocel_id, ocel_time, ocel_changed_field, {names}) "  # noqa: S608 - our own names
        f"VALUES (?, ?, ?{marks})"
    )
