"""The tables of an OCEL 2.0 file, and the attributes that each type of event or object has."""

import re
import sqlite3
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple, get_args, get_origin

from turnledger.domain.event import Instant
from turnledger.exporting.event import iso
from turnledger.exporting.objects import CHANGES, FIRST
from turnledger.exporting.redaction import KEPT
from turnledger.infrastructure.application import REGISTRY

BEGINNING = "1970-01-01 00:00:00"  # the time of an object's first row, by the standard
COMMON = ("position", "stream_version", "command", "actor", "correlation_id")
_COMMON_TYPES = ("INTEGER", "INTEGER", "TEXT", "TEXT", "TEXT")
_OBJECTS = {  # fields that lead to objects
    *("queued_turn_id", "message_id", "owner", "dispatch_id", "thread_id", "work_item_id"),
    *("turn_id", "run_id", "attempt", "forked_from"),
}
_TYPES = {bool: "BOOLEAN", int: "INTEGER", float: "REAL", Instant: "TIMESTAMP", str: "TEXT"}
_TAKEN = {"map_type", "object"}  # event_map_type, event_object

_OF_OBJECTS = "TEXT NOT NULL REFERENCES object (ocel_id)"
_TYPE_MAP = "(ocel_type TEXT PRIMARY KEY, ocel_type_map TEXT NOT NULL)"
_KEY = "PRIMARY KEY ({}, ocel_qualifier)) WITHOUT ROWID"
TABLES = (
    f"CREATE TABLE event_map_type {_TYPE_MAP}",
    f"CREATE TABLE object_map_type {_TYPE_MAP}",
    """CREATE TABLE event (ocel_id TEXT PRIMARY KEY,
    ocel_type TEXT NOT NULL REFERENCES event_map_type (ocel_type))""",
    """CREATE TABLE object (ocel_id TEXT PRIMARY KEY,
    ocel_type TEXT NOT NULL REFERENCES object_map_type (ocel_type))""",
    f"""CREATE TABLE event_object (ocel_event_id TEXT NOT NULL REFERENCES event (ocel_id),
    ocel_object_id {_OF_OBJECTS}, ocel_qualifier TEXT NOT NULL,
    {_KEY.format("ocel_event_id, ocel_object_id")}""",
    f"""CREATE TABLE object_object (ocel_source_id {_OF_OBJECTS}, ocel_target_id {_OF_OBJECTS},
    ocel_qualifier TEXT NOT NULL, {_KEY.format("ocel_source_id, ocel_target_id")}""",
)


class Table(NamedTuple):
    """The table of a type of events.

    Attributes:
        insert: The statement that puts an event into it.
        attributes: Gives the values of those columns that not all types have.
    """

    insert: str
    attributes: Callable[[dict[str, Any]], list[Any]]


class EventTypes:
    """The types of events in a file; a new one gets its table."""

    def __init__(self, database: sqlite3.Connection) -> None:
        """Take the file."""
        self._database = database
        self._tables: dict[str, Table] = {}
        self._maps = set(_TAKEN)

    def table(self, kind: str) -> Table:
        """The table of a type."""
        if kind not in self._tables:
            self._tables[kind] = Table(self._make(kind), _reader(event_attributes(kind)))
        return self._tables[kind]

    def _make(self, kind: str) -> str:
        short = re.sub(r"[^A-Za-z0-9]", "_", kind).lower()
        while short in self._maps:
            short += "_"
        self._maps.add(short)
        table = name_in_sql(f"event_{short}")
        given = event_attributes(kind)
        columns = {**dict(zip(COMMON, _COMMON_TYPES, strict=True)), **given}
        listed = "".join(f", {name} {of}" for name, of in columns.items())
        self._database.execute("INSERT INTO event_map_type VALUES (?, ?)", (kind, short))
        self._database.execute(
            f"CREATE TABLE {table} (ocel_id TEXT PRIMARY KEY REFERENCES event (ocel_id), "
            f"ocel_time TIMESTAMP NOT NULL{listed})"
        )
        marks = ", ?" * len(columns)
        return f"INSERT INTO {table} VALUES (?, ?{marks})"  # noqa: S608 - our own names


def _reader(given: dict[str, str]) -> Callable[[dict[str, Any]], list[Any]]:
    """Reads these attributes from an event's fields, in their order."""
    wanted = [(name, _moment if of == "TIMESTAMP" else scalar) for name, of in given.items()]
    return lambda said: [fit(said.get(name)) for name, fit in wanted]


@cache
def event_attributes(kind: str) -> dict[str, str]:
    """The names of an event type's own attributes with their SQL types; no contents."""
    known = [one for one in REGISTRY.writable if kind == one.TOPIC]
    fields = known[0].model_fields if known else {}
    found = {
        name: _sql_type(field.annotation)
        for name, field in fields.items()
        if name in KEPT and name not in _OBJECTS
    }
    return {name: of for name, of in found.items() if of}


@cache
def object_attributes(kind: str) -> tuple[str, ...]:
    """The names of an object type's attributes: fixed ones, and those that change."""
    fixed = [name for of, names in FIRST.values() for name in names if of == kind]
    changes = (change for several in CHANGES.values() for change in several)
    changing = {change.field: None for change in changes if change.kind == kind}
    return (*fixed, *changing)


def name_in_sql(name: str) -> str:
    """A table's name, quoted."""
    return '"' + name.replace('"', '""') + '"'


def timestamp(microseconds: int) -> str:
    """A stored time, as text that all readers take for one: in UTC, without a zone."""
    text = iso(microseconds)
    return f"{text[:10]} {text[11:-1]}"


def scalar(value: Any) -> str | int | float | None:
    """A value that fits into a column; None for another one."""
    return value if isinstance(value, str | int | float) else None


def _moment(value: Any) -> str | None:
    return value.replace("T", " ").removesuffix("Z") if isinstance(value, str) else None


def _sql_type(annotation: Any) -> str | None:
    """The SQL type of a field; None for what is no single value."""
    if get_origin(annotation) in {dict, list, tuple}:
        return None
    if get_origin(annotation) is Literal:
        return "TEXT"
    for one in get_args(annotation) or (annotation,):
        if one in _TYPES:
            return _TYPES[one]
    return None
