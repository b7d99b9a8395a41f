"""Damage that only a file can have: text that isn't UTF-8, and values of other types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.verify.conftest import File

KEYS = {
    "queued_turns": "queued_turn_id",
    "dispatches": "dispatch_id",
    "inbox_messages": "message_id",
    "receipts": "idempotency_key",
    "streams": "stream_id",
}
STRANGE = ["CAST(x'ff41' AS TEXT)", "x'ff41'", "CAST(x'c3a9' AS TEXT)", "17"]


@pytest.mark.parametrize("table", sorted(KEYS))
@pytest.mark.parametrize("value", STRANGE)
def test_a_row_with_a_strange_key_is_replaced_by_the_one_that_ought_to_be_there(
    file: File, table: str, value: str
) -> None:
    before = file.rows(f"SELECT * FROM {table}")
    first = f"(SELECT min({KEYS[table]}) FROM {table})"
    file.damage(f"UPDATE {table} SET {KEYS[table]} = {value} WHERE {KEYS[table]} = {first}")
    with file.open() as ledger:
        [found] = ledger.rebuild(table).tables
    assert found.added == found.removed > 0
    assert file.rows(f"SELECT * FROM {table}") == before
    assert file.verify().ok


@pytest.mark.parametrize("value", [*STRANGE, "-1", "1.5"])
def test_a_row_with_a_strange_value_is_replaced(file: File, value: str) -> None:
    file.damage(f"UPDATE queued_turns SET queue_order = {value} WHERE queued_turn_id = 'busy 3'")
    with file.open() as ledger:
        [found] = ledger.rebuild("queued_turns").tables
    assert (found.added, found.removed, found.changed) == (0, 0, 1)
    assert file.verify().ok


@pytest.mark.parametrize("column", ["type", "data", "metadata", "recorded_at", "hash"])
def test_an_event_whose_columns_are_of_other_types_is_named_and_the_rest_put_right(
    file: File, column: str
) -> None:
    file.damage(f"UPDATE events SET {column} = 'x' || x'ff' WHERE position = 1")
    file.damage(f"UPDATE events SET {column} = CAST({column} AS BLOB) WHERE position = 1")
    if column == "hash":
        file.damage("UPDATE events SET hash = 'text' WHERE position = 1")
    stream = file.event(1)["stream_id"]
    file.damage("DELETE FROM queued_turns WHERE thread_id = 'paused'")
    with file.open() as ledger:
        found = ledger.rebuild()
    assert stream in found.unread
    assert found.mended == 2
