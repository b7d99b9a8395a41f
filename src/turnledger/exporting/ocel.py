"""OCEL 2.0, the standard of object-centric event logs, in its relational form in SQLite.

What happened to which objects, for tools of process mining. No content is in it. The standard's
tables and columns are at https://www.ocel-standard.org; a table of each type comes with its first
event or object.
"""

import sqlite3
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from turnledger.exporting.event import ExportedEvent
from turnledger.exporting.objects import CHANGES, FIRST, PART_OF, Related, related
from turnledger.exporting.ocel_schema import (
    BEGINNING,
    COMMON,
    TABLES,
    EventTypes,
    name_in_sql,
    object_attributes,
    scalar,
    timestamp,
)

_FAST = ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "PRAGMA cache_size=-32000")
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

    def write(self, page: list[ExportedEvent]) -> None:
        """Write some events, with what they are about."""
        heads, links, objects, parts = [], [], dict[str, str](), dict[tuple[str, ...], None]()
        rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        for event in page:
            said = event.fields()
            own, about = f"event:{event.position}", related(event, said)
            heads.append((own, event.type))
            rows[self._types.insert(event.type)].append(self._row(own, event, said))
            links += [(own, one.id, one.qualifier) for one in about]
            objects |= {one.id: one.kind for one in about}
            parts |= dict.fromkeys(_parts(about))
            for table, row in _object_rows(event, said, about):
                rows[table].append(row)
        self._add_kinds(set(objects.values()))
        run = self._database.executemany
        run("INSERT INTO event VALUES (?, ?)", heads)
        run("INSERT OR IGNORE INTO object VALUES (?, ?)", objects.items())
        run(_LINK.format("event_object"), links)
        run(_LINK.format("object_object"), parts)
        for statement, several in rows.items():
            run(statement, several)

    def _row(self, own: str, event: ExportedEvent, said: dict[str, Any]) -> tuple[Any, ...]:
        context = event.context()
        command = context.get("command")
        name = command.get("name") if isinstance(command, dict) else None
        common = (event.position, event.version, name, *(context.get(one) for one in COMMON[3:]))
        values = self._types.values(event.type, said)
        return (own, timestamp(event.recorded_at), *map(scalar, common), *values)

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


def _parts(about: list[Related]) -> list[tuple[str, str, str]]:
    """Which of an event's objects are part of which."""
    by_kind: dict[str, list[str]] = defaultdict(list)
    for one in about:
        by_kind[one.kind].append(one.id)
    parts = []
    for kind, whole in PART_OF.items():
        if len(by_kind.get(whole, ())) == 1:
            parts += [(part, by_kind[whole][0], "part of") for part in by_kind.get(kind, ())]
    if len(about) > 1 and about[1].qualifier == "forked from":
        parts.append((about[0].id, about[1].id, "forked from"))
    return parts


def _object_rows(
    event: ExportedEvent, said: dict[str, Any], about: list[Related]
) -> list[tuple[str, tuple[Any, ...]]]:
    """The rows that an event leads to in the tables of object types, with their statements."""
    rows: list[tuple[str, tuple[Any, ...]]] = []
    kind, names = FIRST.get(event.type, ("", ()))
    if kind:
        values = [None if said.get(name) is None else str(said[name]) for name in names]
        statement = _insert(kind, names)
        rows += [
            (statement, (one.id, BEGINNING, None, *values)) for one in about if one.kind == kind
        ]
    for change in CHANGES.get(event.type, ()):
        new = scalar(said.get(change.taken_from)) if change.taken_from else change.value
        row = (timestamp(event.recorded_at), change.field, new)
        statement = _insert(change.kind, (change.field,))
        rows += [(statement, (one.id, *row)) for one in about if one.kind == change.kind]
    return rows


@cache
def _insert(kind: str, fields: tuple[str, ...]) -> str:
    names, marks = ", ".join(fields), ", ?" * len(fields)
    table = name_in_sql(f"object_{kind}")
    return (
        f"INSERT INTO {table} (ocel_id, ocel_time, ocel_changed_field, {names}) "  # noqa: S608 - our own names
        f"VALUES (?, ?, ?{marks})"
    )
