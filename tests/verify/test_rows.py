"""Damage to what is made of the events: verify names the row.

Most tests damage every table at once, since a look at a ledger takes longer than the damage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger.infrastructure.schema import TABLES, streams

if TYPE_CHECKING:
    from sqlalchemy import Table

    from tests.verify.conftest import File, Row

Rows = dict[str, set[str | None]]

MODELS = {table.name: table for table in (*TABLES, streams)}
MENDED = "time_zone_data"  # opening a ledger computes timers anew whose row says other data
COLUMNS = {
    name: [column.name for column in table.columns if column.name != MENDED]
    for name, table in MODELS.items()
}
MOST = max(map(len, COLUMNS.values()))
FLYING = ("in_flight_id", "dispatch_id", "owner", "expires_at", "in_flight_at")
SAMPLES = {
    "waiting": ("queued_turns", "busy 3"),
    "failed": ("queued_turns", "busy 2"),
    "acked": ("queued_turns", "busy 0"),
    "deleted": ("queued_turns", "busy 1"),
    "in flight": ("queued_turns", "flying 0"),
    "dispatch": ("dispatches", "second"),
    "undelivered message": ("inbox_messages", "mail 0"),
    "confirmed message": ("inbox_messages", "mail 1"),
    "deleted message": ("inbox_messages", "mail 2"),
    "message in flight": ("inbox_messages", "mail 3"),
    "waiting message": ("inbox_messages", "mail 4"),
    "timer": ("due_timers", "timer 0"),
    "paused timer": ("due_timers", "timer 1"),
    "head of an inbox": ("streams", "inbox:mail"),
    "receipt": ("receipts", "2"),
    "coordinator turn": ("coordinator_mailbox", "coordinated 1"),
    "provider turn": ("in_flight_provider_turns", 2),
    "attachment": ("attachments", "coordinated 1"),
    "run": ("runs", "interrupted"),
    "operation": ("operations", "orphaned"),
    "head": ("streams", "thread_queue:busy"),
    "head in flight": ("streams", "thread_queue:flying"),
    "life": ("streams", "thread:archived"),
}


def key(table: Table) -> list[str]:
    return [column.name for column in table.primary_key.columns]


def named(name: str, row: Row) -> str:
    """How a finding names a row."""
    return ", ".join(str(row[part]) for part in key(MODELS[name]))


def some(file: File, name: str) -> Row:
    """A row in the middle of a table."""
    rows = file.rows(f"SELECT * FROM {name} ORDER BY {', '.join(key(MODELS[name]))}")
    return rows[len(rows) // 2]


def sampled(file: File, sample: str) -> Row:
    """The row of a sample."""
    name, known_by = SAMPLES[sample]
    [row] = file.rows(f"SELECT * FROM {name} WHERE {key(MODELS[name])[-1]} = ?", known_by)
    return row


def one(name: str, row: Row) -> tuple[str, list[Any]]:
    """The condition that a row meets."""
    parts = key(MODELS[name])
    return " AND ".join(f"{part} = ?" for part in parts), [row[part] for part in parts]


def change(file: File, sample: str, column: str, value: Any, *, mark: str = "?") -> Row:
    """Change one cell of a sample; returns the row as it was."""
    name, row = SAMPLES[sample][0], sampled(file, sample)
    where, values = one(name, row)
    file.damage(f"UPDATE {name} SET {column} = {mark} WHERE {where}", value, *values)
    return row


def changed(file: File, cells: dict[str, str], value: Any, *, mark: str = "?") -> Rows:
    """Change a cell of each of some samples; returns how the rows were named."""
    expected: Rows = {}
    for sample, column in cells.items():
        name, row = SAMPLES[sample][0], change(file, sample, column, value, mark=mark)
        expected.setdefault(name, set()).add(named(name, row))
    return expected


def other(value: Any) -> Any:
    """Another value of the same type, and no other row's place."""
    match value:
        case None:
            return 7
        case int():
            return value + 9
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


def rows(found: dict[str, dict[str | None, str]]) -> Rows:
    return {name: set(messages) for name, messages in found.items()}


@pytest.mark.parametrize("number", range(MOST))
def test_a_changed_cell_is_found_and_named(file: File, number: int) -> None:
    expected: Rows = {}
    cells = {name: columns[number] for name, columns in COLUMNS.items() if number < len(columns)}
    for sample, (name, _) in SAMPLES.items():
        if name in cells:
            row, column = sampled(file, sample), cells[name]
            forged = {**row, column: other(row[column])}
            change(file, sample, column, forged[column])
            expected.setdefault(name, set()).update((named(name, row), named(name, forged)))
    found = said(file)
    assert rows(found) == expected
    for name, column in cells.items():
        if column not in key(MODELS[name]):
            assert set(found[name].values()) == {f"{column} isn't what the events say"}


def test_a_deleted_row_is_missing(file: File) -> None:
    expected: Rows = {}
    for sample, (name, _) in SAMPLES.items():
        row = sampled(file, sample)
        where, values = one(name, row)
        file.damage(f"DELETE FROM {name} WHERE {where}", *values)
        expected.setdefault(name, set()).add(named(name, row))
    assert rows(said(file)) == expected


def test_all_rows_of_tables_that_were_emptied_are_missing(file: File) -> None:
    expected: Rows = {}
    for name in MODELS:
        expected[name] = {named(name, row) for row in file.rows(f"SELECT * FROM {name}")}
        file.damage(f"DELETE FROM {name}")
    assert rows(said(file)) == expected


@pytest.mark.parametrize("thread", ["", "nobody", "zzz", "\U0001f600"])
def test_a_row_that_no_event_accounts_for_is_found(file: File, thread: str) -> None:
    expected: Rows = {}
    for name, table in MODELS.items():
        row = {**some(file, name), key(table)[0]: thread}
        if name == "inbox_messages":
            row["message_id"] = "another"  # it is unique in the ledger
        file.insert(name, row)
        expected[name] = {named(name, row)}
    assert rows(said(file)) == expected


def test_a_second_row_of_the_same_thread_is_found(file: File) -> None:
    expected: Rows = {}
    for name, table in MODELS.items():
        last = key(table)[-1]
        row = some(file, name)
        row[last] = other(row[last])
        if name == "queued_turns":
            row["queue_order"] = 9
        file.insert(name, row)
        expected[name] = {named(name, row)}
    assert rows(said(file)) == expected


CELLS: tuple[dict[str, str], ...] = (
    {
        "waiting": "evidence",
        "in flight": "created_at",
        "acked": "queued_turn_id",
        "dispatch": "thread_id",
        "receipt": "content_hash",
        "head": "state",
        "head in flight": "expires_at",
        "undelivered message": "evidence",
        "message in flight": "expires_at",
        "waiting message": "message_id",
    },
    {
        "waiting": "queue_order",
        "in flight": "submission_version",
        "receipt": "scope",
        "life": "hash",
        "head of an inbox": "state",
        "waiting message": "posted_version",
        "message in flight": "thread_id",
        "head in flight": "in_flight_at",
    },
    {
        "waiting": "created_at",
        "in flight": "thread_id",
        "life": "stream_id",
        "head in flight": "in_flight_id",
    },
    {
        "failed": "state",
        "head in flight": "owner",
        "head": "in_flight_id",
        "waiting message": "state",
    },
    {"failed": "failure", "head in flight": "dispatch_id", "head": "ready_at"},
)


@pytest.mark.parametrize("value", [b"\xff\x00", "x", 1.5, b""], ids=repr)
@pytest.mark.parametrize("cells", CELLS, ids=lambda cells: ", ".join(cells.values()))
def test_a_value_of_another_type_is_found(file: File, cells: dict[str, str], value: Any) -> None:
    expected = changed(file, cells, value)
    found = rows(said(file))
    assert [row for name in expected for row in expected[name] - found[name]] == []


def test_text_that_is_no_utf8_any_more_is_found(file: File) -> None:
    texts = {"waiting": "evidence", "failed": "failure", "receipt": "command", "head": "state"}
    texts["head in flight"] = "owner"
    expected = changed(file, texts, b'{"n":"\xff"}', mark="CAST(? AS TEXT)")
    assert rows(said(file)) == expected


@pytest.mark.parametrize("flag", [1, 2])
@pytest.mark.parametrize("column", ["altered", "outcome_unknown"])
def test_a_flag_that_is_another_or_neither_is_found(file: File, column: str, flag: int) -> None:
    cells = dict.fromkeys(("waiting", "in flight", "acked", "deleted"), column)
    expected = changed(file, cells, flag)
    assert rows(said(file)) == expected


@pytest.mark.parametrize("column", FLYING)
def test_a_flight_that_was_taken_out_of_the_head_row_is_found(file: File, column: str) -> None:
    expected = changed(file, {"head in flight": column}, None)
    assert rows(said(file)) == expected


def test_a_flight_of_another_turn_is_found(file: File) -> None:
    expected = changed(file, {"head in flight": "in_flight_id"}, "flying 1")
    assert rows(said(file)) == expected


def test_a_flight_that_never_was_is_found(file: File) -> None:
    held = sampled(file, "head in flight")
    for column in FLYING:
        change(file, "head", column, held[column])
    found = said(file)
    assert rows(found) == {"streams": {"thread_queue:busy"}}
    assert found["streams"]["thread_queue:busy"].startswith(", ".join(FLYING))


LATER = "thread_queue:later"


def forge(file: File, was: str, new: str) -> Row:
    """Change the text of an event, and make the chain good; returns the event."""
    [row] = file.rows("SELECT * FROM events WHERE stream_id = ?", LATER)
    forged = {**row, "data": str(row["data"]).replace(was, new)}
    assert forged != row
    forged["hash"] = file.chained(bytes(32), forged)
    place = "WHERE position = ?"
    file.damage(f"UPDATE events SET data = ? {place}", forged["data"], row["position"])
    file.damage(f"UPDATE events SET hash = ? {place}", forged["hash"], row["position"])
    return forged


def test_a_changed_event_whose_chain_was_made_good_shows_in_the_rows(file: File) -> None:
    """The forger knows the format of the chain, and forgets what was made of the event."""
    forged = forge(
        file, '"created_at":"2026-01-05T09:01:04Z"', '"created_at":"2026-01-05T09:01:03Z"'
    )
    file.damage("UPDATE streams SET hash = ? WHERE stream_id = ?", forged["hash"], LATER)
    assert rows(said(file)) == {"queued_turns": {"later, later 0"}, "streams": {LATER}}


def test_a_changed_submission_whose_chain_was_made_good_shows_in_the_head_row(file: File) -> None:
    """A submission is in its event alone: the forger forgets where the chain ends."""
    forge(file, '{"n":1}', '{"n":2}')
    found = said(file)
    assert rows(found) == {"streams": {LATER}}
    assert found["streams"][LATER] == "hash isn't what the events say"
