"""Damage to the events: verify names the first bad position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.verify.conftest import File
    from turnledger import Ledger

TABLES = (
    *("queued_turns", "dispatches", "inbox_messages", "due_timers", "receipts"),
    *("coordinator_mailbox", "in_flight_provider_turns", "attachments"),
    *("runs", "operations"),
)
FLYING = ("in_flight_id", "dispatch_id", "owner", "expires_at", "in_flight_at")
COLUMNS = {
    "stream_id": "thread_queue:other",
    "version": 1_000,
    "type": "thread_queue.resumed",
    "schema_version": 2,
    "data": "{}",
    "metadata": "{}",
    "recorded_at": 2**50,
    "hash": bytes(32),
}


def test_an_untouched_ledger_is_ok(ledger: Ledger, file: File) -> None:
    seen: list[int] = []
    verification = ledger.verify(progress=seen.append)
    assert verification.ok
    assert (verification.findings, verification.notes) == ((), ())
    assert verification.events == file.last
    there = sum(file.rows(f"SELECT count(*) AS n FROM {name}")[0]["n"] for name in TABLES)
    heads = file.rows("SELECT count(*) AS n FROM streams")[0]["n"]
    streams = file.rows("SELECT count(DISTINCT stream_id) AS n FROM events")[0]["n"]
    assert (verification.streams, verification.rows) == (streams, there + heads)


def test_the_ledger_of_these_tests_has_rows_in_every_table(file: File) -> None:
    for name in (*TABLES, "streams", "events"):
        assert len(file.rows(f"SELECT * FROM {name}")) >= 3
    states = {row["state"] for row in file.rows("SELECT state FROM queued_turns")}
    assert states == {"pending", "failed", "acked", "deleted"}
    [flying] = file.rows("SELECT * FROM streams WHERE in_flight_id IS NOT NULL")
    assert None not in [flying[name] for name in FLYING]


def test_a_look_changes_nothing(ledger: Ledger, file: File) -> None:
    before = [file.rows("SELECT * FROM events"), file.rows("SELECT * FROM streams")]
    assert ledger.verify() == ledger.verify()
    assert [file.rows("SELECT * FROM events"), file.rows("SELECT * FROM streams")] == before


def flip(file: File, column: str, share: float, bit: int) -> int:
    """Flip a bit of a cell: the share says how far into the log, and how far into the cell."""
    position = 1 + round(share * (file.last - 1))
    stored = file.event(position)[column]
    flipped = bytearray(stored if isinstance(stored, bytes) else stored.encode())
    flipped[round(share * (len(flipped) - 1))] ^= bit
    kind = "BLOB" if column == "hash" else "TEXT"
    statement = f"UPDATE events SET {column} = CAST(? AS {kind}) WHERE position = ?"
    file.damage(statement, bytes(flipped), position)
    return position


@pytest.mark.parametrize("column", ["data", "metadata", "type", "stream_id", "hash"])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_flipped_bit_is_found_where_it_is(file: File, column: str, share: float) -> None:
    position = flip(file, column, share, 0x01)
    assert file.first_bad() == position


@pytest.mark.parametrize("column", ["data", "metadata", "type", "stream_id"])
def test_text_that_is_no_utf8_any_more_is_found_where_it_is(file: File, column: str) -> None:
    position = flip(file, column, 0.5, 0x80)
    assert file.first_bad() == position


@pytest.mark.parametrize("column", COLUMNS)
def test_each_column_of_every_seventh_event_is_covered(file: File, column: str) -> None:
    for position in range(1, file.last + 1, 7):
        was = file.event(position)[column]
        changed = f"UPDATE events SET {column} = ? WHERE position = ?"
        file.damage(changed, COLUMNS[column], position)
        assert file.first_bad() == position
        file.damage(changed, was, position)
    assert file.verify().ok


@pytest.mark.parametrize("value", [b"\xff\x00", "x", 1.5], ids=["blob", "text", "float"])
@pytest.mark.parametrize("column", COLUMNS)
def test_a_value_of_another_type_is_found(file: File, column: str, value: Any) -> None:
    file.damage(f"UPDATE events SET {column} = ? WHERE position = 5", value)
    assert file.first_bad() == 5


def test_a_deleted_event_is_found_at_the_next_one(file: File) -> None:
    for position in range(1, file.last, 4):
        row = file.event(position)
        file.damage("DELETE FROM events WHERE position = ?", position)
        assert file.first_bad() == position + 1
        file.insert("events", row)
    assert file.verify().ok


def test_many_deleted_events_are_found_at_the_next_one(file: File) -> None:
    file.damage("DELETE FROM events WHERE position BETWEEN 5 AND 9")
    assert file.first_bad() == 10


def test_an_end_that_was_cut_off_shows_in_the_head_row(file: File) -> None:
    stream_id = file.event(file.last)["stream_id"]
    file.damage("DELETE FROM events WHERE position = ?", file.last)
    assert ("streams", stream_id) in {(one.where, one.row) for one in file.findings()}


def test_a_log_that_is_gone_shows_in_every_head_row(file: File) -> None:
    file.damage("DELETE FROM events")
    streams = {row["stream_id"] for row in file.rows("SELECT stream_id FROM streams")}
    assert {one.row for one in file.findings() if one.where == "streams"} == streams


def test_an_event_put_between_others_is_found(file: File) -> None:
    for position in (1, 9, file.last):
        row = file.event(position)
        file.damage("UPDATE events SET position = -position - 1 WHERE position >= ?", position)
        file.damage("UPDATE events SET position = -position WHERE position < 0")
        file.insert("events", {**row, "version": 1_000})
        assert file.first_bad() == position
        file.damage("DELETE FROM events WHERE position = ?", position)
        file.damage("UPDATE events SET position = -position + 1 WHERE position > ?", position)
        file.damage("UPDATE events SET position = -position WHERE position < 0")
    assert file.verify().ok


def test_an_event_put_behind_the_others_is_found(file: File) -> None:
    row = {**file.event(file.last), "position": file.last + 1}
    file.insert("events", {**row, "version": row["version"] + 1})
    assert file.first_bad() == row["position"]


def test_an_event_at_a_position_further_on_is_found(file: File) -> None:
    position = file.forge(
        "thread_queue:later", "thread_queue.paused", {"reason": "x"}, position=999
    )
    assert file.first_bad() == position == 999


def swap(file: File, one: int, other: int) -> None:
    file.damage("UPDATE events SET position = 0 WHERE position = ?", one)
    file.damage("UPDATE events SET position = ? WHERE position = ?", one, other)
    file.damage("UPDATE events SET position = ? WHERE position = 0", other)


def test_swapped_events_of_a_stream_are_found_at_the_first_of_them(file: File) -> None:
    rows = file.rows("SELECT position FROM events WHERE stream_id = 'thread_queue:busy'")
    places = [row["position"] for row in rows]
    for one, other in ((0, 1), (2, 7), (0, len(places) - 1)):
        swap(file, places[one], places[other])
        assert file.first_bad() == places[one]
        swap(file, places[one], places[other])
    assert file.verify().ok


@pytest.mark.parametrize("column", ["data", "metadata", "recorded_at", "hash"])
def test_swapped_contents_are_found_at_the_first_of_them(file: File, column: str) -> None:
    statement = f"UPDATE events SET {column} = ? WHERE position = ?"
    early, late = file.event(3)[column], file.event(file.last)[column]
    assert early != late
    file.damage(statement, late, 3)
    file.damage(statement, early, file.last)
    assert file.first_bad() == 3


def test_the_first_of_many_is_named_first(file: File) -> None:
    for position in (21, 7, 14):
        file.damage("UPDATE events SET metadata = '{}' WHERE position = ?", position)
    file.damage("UPDATE queued_turns SET attempts = 9")
    places = [one.position for one in file.findings()]
    known = [place for place in places if place is not None]
    assert known[0] == 7
    assert known == sorted(known)
    assert {7, 14, 21} <= set(known)
    assert places[len(known) :] == [None] * (len(places) - len(known))


def test_an_earlier_time_than_before_is_found(file: File) -> None:
    kind, data = "thread_queue.paused", {"reason": "x"}
    position = file.forge("thread_queue:later", kind, data, recorded_at=1)
    assert file.first_bad() == position
