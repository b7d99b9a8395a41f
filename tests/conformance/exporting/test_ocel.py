"""OCEL 2.0: the relational form of the standard, and what is in it."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from turnledger import Exported, Ledger, RecordedEvent

Written = Callable[..., tuple[Path, Exported]]
TYPES = {"TEXT", "TIMESTAMP", "INTEGER", "REAL", "BOOLEAN"}
FIXED = {  # the tables that don't depend on types: their columns, and how many are the key
    "event_map_type": (("ocel_type", "ocel_type_map"), 1),
    "object_map_type": (("ocel_type", "ocel_type_map"), 1),
    "event": (("ocel_id", "ocel_type"), 1),
    "object": (("ocel_id", "ocel_type"), 1),
    "event_object": (("ocel_event_id", "ocel_object_id", "ocel_qualifier"), 3),
    "object_object": (("ocel_source_id", "ocel_target_id", "ocel_qualifier"), 3),
}
REFERENCES = {
    "event": {("ocel_type", "event_map_type", "ocel_type")},
    "object": {("ocel_type", "object_map_type", "ocel_type")},
    "event_object": {
        ("ocel_event_id", "event", "ocel_id"),
        ("ocel_object_id", "object", "ocel_id"),
    },
    "object_object": {
        ("ocel_source_id", "object", "ocel_id"),
        ("ocel_target_id", "object", "ocel_id"),
    },
}


class Log:
    """A second reader: plain SQL by the standard's text."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path)

    def rows(self, query: str, *given: object) -> list[tuple[Any, ...]]:
        return self._database.execute(query, given).fetchall()

    def tables(self) -> set[str]:
        return {name for (name,) in self.rows("SELECT name FROM sqlite_master WHERE type='table'")}

    def columns(self, table: str) -> dict[str, tuple[str, int]]:
        """A table's columns: the type, and the place in the key, or 0."""
        found = self.rows("SELECT name, type, pk FROM pragma_table_info(?)", table)
        return {name: (of, key) for name, of, key in found}

    def references(self, table: str) -> set[tuple[str, str, str]]:
        query = 'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)'
        return {(here, there, column) for here, there, column in self.rows(query, table)}

    def maps(self, what: str) -> dict[str, str]:
        return dict(self.rows(f"SELECT ocel_type, ocel_type_map FROM {what}_map_type"))

    def close(self) -> None:
        self._database.close()


@pytest.fixture
def log(busy: Ledger, written: Written) -> Iterator[Log]:
    with closing(Log(written(busy, "ocel")[0])) as opened:
        yield opened


def test_the_tables_that_dont_depend_on_types_are_those_of_the_standard(log: Log) -> None:
    for table, (columns, keys) in FIXED.items():
        found = log.columns(table)
        assert tuple(found) == columns
        assert sorted(key for _, key in found.values() if key) == list(range(1, keys + 1))
        assert log.references(table) == REFERENCES.get(table, set())


def test_there_is_one_table_for_each_type_and_no_other(log: Log) -> None:
    named = {f"{what}_{short}" for what in ("event", "object") for short in log.maps(what).values()}
    assert log.tables() == named | set(FIXED)
    assert len(named) == len(log.maps("event")) + len(log.maps("object"))


def test_each_table_of_a_type_has_an_id_a_time_and_typed_attributes(log: Log) -> None:
    for what in ("event", "object"):
        for short in log.maps(what).values():
            columns = log.columns(f"{what}_{short}")
            assert columns["ocel_id"] == ("TEXT", int(what == "event"))
            assert columns["ocel_time"][0] == "TIMESTAMP"
            assert ("ocel_changed_field" in columns) == (what == "object")
            assert {of for of, _ in columns.values()} <= TYPES
            assert log.references(f"{what}_{short}") == {("ocel_id", what, "ocel_id")}


def test_every_reference_leads_somewhere(log: Log) -> None:
    assert log.rows("PRAGMA foreign_key_check") == []
    assert log.rows("PRAGMA integrity_check") == [("ok",)]


def test_every_event_is_in_it_once_with_its_type_and_time(
    log: Log, events: list[RecordedEvent]
) -> None:
    counted = dict(log.rows("SELECT ocel_type, count(*) FROM event GROUP BY 1"))
    assert counted == Counter(event.type for event in events)
    for kind, short in log.maps("event").items():
        found = log.rows(f'SELECT position, ocel_time FROM "event_{short}" ORDER BY 1')
        expected = [(e.position, f"{e.recorded_at:%Y-%m-%d %H:%M:%S.%f}") for e in events]
        assert found == [one for one, e in zip(expected, events, strict=True) if e.type == kind]


def test_every_object_has_one_first_row_and_later_ones_that_name_what_changed(log: Log) -> None:
    for kind, short in log.maps("object").items():
        table = f'"object_{short}"'
        first = log.rows(f"SELECT ocel_id FROM {table} WHERE ocel_changed_field IS NULL ORDER BY 1")
        assert first == log.rows("SELECT ocel_id FROM object WHERE ocel_type = ? ORDER BY 1", kind)
        times = log.rows(f"SELECT DISTINCT ocel_time FROM {table} WHERE ocel_changed_field IS NULL")
        assert times == [("1970-01-01 00:00:00",)]
        changed = log.rows(f"SELECT DISTINCT ocel_changed_field FROM {table}")
        assert {name for (name,) in changed if name} <= set(log.columns(f"object_{short}"))


def test_a_turns_story_can_be_read(ledger: Ledger, written: Written) -> None:
    first = ledger.queue.append("a/b", {"text": "hi"}, queued_turn_id="c").queued_turn_id
    ledger.queue.append("a", {"text": "hi"}, queued_turn_id="b/c")
    claim = ledger.queue.claim_head("a/b", "w")
    assert claim is not None
    ledger.queue.start_dispatch(claim, "d")
    ledger.queue.ack(claim)
    with closing(Log(written(ledger, "ocel")[0])) as log:
        turn = f"turn:a%2Fb/{first}"
        query = "SELECT ocel_type FROM event JOIN event_object ON ocel_event_id = ocel_id "
        told = log.rows(f"{query} WHERE ocel_object_id = ? ORDER BY ocel_id", turn)
        assert [kind.partition(".")[2] for (kind,) in told] == [
            *("appended", "claimed", "dispatch_started", "acked"),
        ]
        states = log.rows(
            "SELECT state FROM object_turn WHERE ocel_id = ? AND ocel_changed_field = 'state' "
            "ORDER BY ocel_time, rowid",
            turn,
        )
        assert states == [("pending",), ("in_flight",), ("dispatched",), ("acked",)]
        assert log.rows("SELECT * FROM object_object ORDER BY 1") == [
            ("dispatch:a%2Fb/d", turn, "part of"),
            (turn, "thread:a/b", "part of"),
            ("turn:a/b/c", "thread:a", "part of"),
        ]
        assert len(log.rows("SELECT * FROM object WHERE ocel_type = 'turn'")) == 2
