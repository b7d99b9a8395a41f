"""Damage to what is made of the events: verify names the row.

Each test damages every table at once, since a look at a ledger takes longer than the damage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger.infrastructure.schema import TABLES, streams

if TYPE_CHECKING:
    from sqlalchemy import Table

    from tests.verify.conftest import File, Row

MODELS = {table.name: table for table in (*TABLES, streams)}
COLUMNS = {name: [column.name for column in table.columns] for name, table in MODELS.items()}
MOST = max(map(len, COLUMNS.values()))


def key(table: Table) -> list[str]:
    return [column.name for column in table.primary_key.columns]


def named(name: str, row: Row) -> str:
    """How a finding names a row."""
    return ", ".join(str(row[part]) for part in key(MODELS[name]))


def some(file: File, name: str) -> Row:
    """A row in the middle of a table."""
    rows = file.rows(f"SELECT * FROM {name} ORDER BY {', '.join(key(MODELS[name]))}")
    return rows[len(rows) // 2]


def one(name: str, row: Row) -> tuple[str, list[Any]]:
    """The condition that a row meets."""
    parts = key(MODELS[name])
    return " AND ".join(f"{part} = ?" for part in parts), [row[part] for part in parts]


def change(file: File, name: str, column: str, value: Any) -> Row:
    """Change one cell of a row in the middle; returns the row as it was."""
    row = some(file, name)
    where, values = one(name, row)
    file.damage(f"UPDATE {name} SET {column} = ? WHERE {where}", value, *values)
    return row


def other(value: Any) -> Any:
    """Another value of the same type."""
    match value:
        case None:
            return 7
        case int():
            return value + 1
        case bytes():
            return value[::-1]
        case _:
            return f"{value} "


def said(file: File) -> dict[str, dict[str | None, str]]:
    """What is said of each row of each table; nothing is said of events."""
    found: dict[str, dict[str | None, str]] = {}
    for finding in file.findings():
        assert finding.position is None
        found.setdefault(finding.where, {})[finding.row] = finding.message
    return found


def rows(found: dict[str, dict[str | None, str]]) -> dict[str, set[str | None]]:
    return {name: set(messages) for name, messages in found.items()}


@pytest.mark.parametrize("number", range(MOST))
def test_a_changed_cell_is_found_and_named(file: File, number: int) -> None:
    expected: dict[str, set[str]] = {}
    cells = {name: columns[number] for name, columns in COLUMNS.items() if number < len(columns)}
    for name, column in cells.items():
        row = some(file, name)
        changed = {**row, column: other(row[column])}
        change(file, name, column, changed[column])
        expected[name] = {named(name, row), named(name, changed)}
    found = said(file)
    assert rows(found) == expected
    for name, column in cells.items():
        if column not in key(MODELS[name]):
            assert [column in message for message in found[name].values()] == [True]


def test_a_deleted_row_is_missing(file: File) -> None:
    expected: dict[str, set[str]] = {}
    for name in MODELS:
        row = some(file, name)
        where, values = one(name, row)
        file.damage(f"DELETE FROM {name} WHERE {where}", *values)
        expected[name] = {named(name, row)}
    assert rows(said(file)) == expected


def test_all_rows_of_tables_that_were_emptied_are_missing(file: File) -> None:
    expected: dict[str, set[str]] = {}
    for name in MODELS:
        expected[name] = {named(name, row) for row in file.rows(f"SELECT * FROM {name}")}
        file.damage(f"DELETE FROM {name}")
    assert rows(said(file)) == expected


@pytest.mark.parametrize("thread", ["", "nobody", "zzz", "\U0001f600"])
def test_a_row_that_no_event_accounts_for_is_found(file: File, thread: str) -> None:
    expected: dict[str, set[str]] = {}
    for name, table in MODELS.items():
        row = {**some(file, name), key(table)[0]: thread}
        file.insert(name, row)
        expected[name] = {named(name, row)}
    assert rows(said(file)) == expected


def test_a_second_row_of_the_same_thread_is_found(file: File) -> None:
    expected: dict[str, set[str]] = {}
    for name, table in MODELS.items():
        last = key(table)[-1]
        row = some(file, name)
        row[last] = other(row[last])
        if name == "visible_queue":
            row["queued_turn_id"] = "another"
        file.insert(name, row)
        expected[name] = {named(name, row)}
    assert rows(said(file)) == expected


CELLS: tuple[dict[str, str], ...] = (
    {
        "visible_queue": "submission",
        "in_flight_turns": "expires_at",
        "settled_turns": "queued_turn_id",
        "dispatches": "thread_id",
        "receipts": "content_hash",
        "streams": "state",
    },
    {"visible_queue": "queue_order", "receipts": "scope", "streams": "hash"},
    {"visible_queue": "created_at", "in_flight_turns": "thread_id", "streams": "stream_id"},
)


@pytest.mark.parametrize("value", [b"\xff\x00", "x", 1.5, b""], ids=repr)
@pytest.mark.parametrize("cells", CELLS, ids=lambda cells: ", ".join(cells.values()))
def test_a_value_of_another_type_is_found(file: File, cells: dict[str, str], value: Any) -> None:
    expected = {name: named(name, change(file, name, cells[name], value)) for name in cells}
    found = rows(said(file))
    assert {name: row for name, row in expected.items() if row not in found[name]} == {}


def test_text_that_is_no_utf8_any_more_is_found(file: File) -> None:
    texts = {"visible_queue": "submission", "receipts": "command", "streams": "state"}
    expected: dict[str, set[str]] = {}
    for name, column in texts.items():
        row = some(file, name)
        where, values = one(name, row)
        statement = f"UPDATE {name} SET {column} = CAST(? AS TEXT) WHERE {where}"
        file.damage(statement, b'{"n":"\xff"}', *values)
        expected[name] = {named(name, row)}
    assert rows(said(file)) == expected


def test_a_flag_that_is_neither_is_found(file: File) -> None:
    row = change(file, "visible_queue", "altered", 2)
    assert rows(said(file)) == {"visible_queue": {named("visible_queue", row)}}


def test_a_changed_event_whose_chain_was_made_good_shows_in_the_rows(file: File) -> None:
    """The forger knows the format of the chain, and forgets what was made of the event."""
    stream_id = "thread_queue:later"
    [row] = file.rows("SELECT * FROM events WHERE stream_id = ?", stream_id)
    forged = {**row, "data": str(row["data"]).replace('{"n":1}', '{"n":2}')}
    assert forged != row
    forged["hash"] = file.chained(bytes(32), forged)
    place = "WHERE position = ?"
    file.damage(f"UPDATE events SET data = ? {place}", forged["data"], row["position"])
    file.damage(f"UPDATE events SET hash = ? {place}", forged["hash"], row["position"])
    file.damage("UPDATE streams SET hash = ? WHERE stream_id = ?", forged["hash"], stream_id)
    assert rows(said(file)) == {"visible_queue": {"later, 0"}}
