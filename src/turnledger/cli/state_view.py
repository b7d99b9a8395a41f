"""States of two moments side by side: what was added, what is gone, what has changed."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from turnledger.cli import json_text

State = dict[str, Any]
_KEYS = {
    "queue": "queued_turn_id",
    "inbox": "message_id",
    "undelivered": "message_id",
    "timers": "timer_id",
    "turns": "turn_id",
    "operations": "key",
}
_SINGLE = ("summary", "work_item")


@dataclass(frozen=True, slots=True)
class Change:
    """What is different about one row.

    Attributes:
        table: Where it stands, a list of the state.
        id: Of the row.
        kind: What happened to it.
        fields: Each field that differs, with what it was and what it is; null where it wasn't.
    """

    table: str
    id: str
    kind: Literal["added", "gone", "changed"]
    fields: dict[str, tuple[Any, Any]]


def differences(was: State, is_: State) -> list[Change]:
    """What is different from one state to another, table by table."""
    tables = [table for table in was if table in (*_KEYS, *_SINGLE)]
    return [change for table in tables for change in _of(table, was, is_)]


def _of(table: str, was: State, is_: State) -> Iterator[Change]:
    before, after = _rows(table, was), _rows(table, is_)
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name, {}), after.get(name, {})
        names = [field for field in dict.fromkeys((*old, *new)) if old.get(field) != new.get(field)]
        fields = {field: (old.get(field), new.get(field)) for field in names}
        if name not in before:
            yield Change(table, name, "added", fields)
        elif name not in after:
            yield Change(table, name, "gone", fields)
        elif fields:
            yield Change(table, name, "changed", fields)


def _rows(table: str, state: State) -> dict[str, dict[str, Any]]:
    """The rows of a table as JSON, by their ids."""
    found = json.loads(json_text.written(state[table]))
    if table in _SINGLE:
        return {} if found is None else {table: found}
    return {row[_KEYS[table]]: row for row in found}
