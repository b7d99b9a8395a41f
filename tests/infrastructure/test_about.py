"""The events of many streams are found without going through those of all others."""

import sqlite3
from contextlib import closing
from pathlib import Path

import turnledger
from turnledger.infrastructure.about import positions_in, rows_at
from turnledger.infrastructure.statement import SQLITE

MANY = 70_000  # streams: more than a statement can have parameters


def test_there_may_be_more_streams_than_a_statement_has_parameters(tmp_path: Path) -> None:
    with turnledger.open(tmp_path / "ledger.db") as ledger:
        for number in range(5):
            ledger.queue.append(f"thread {number}", {})
    names = [f"thread_queue:thread {number}" for number in range(MANY, -1, -1)]
    bounds = {"after": 1, "until": 4, "limit": 2}
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        cursor = connection.cursor()
        assert positions_in(cursor, SQLITE, names, **bounds) == [2, 3]
        positions = range(1, MANY)
        assert [row[0] for row in rows_at(cursor, SQLITE, positions)] == [1, 2, 3, 4, 5]


def test_the_index_on_streams_is_searched_and_no_event_is_read(tmp_path: Path) -> None:
    with turnledger.open(tmp_path / "ledger.db") as ledger:
        ledger.queue.append("thread", {})
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        seen: list[str] = []
        connection.set_trace_callback(seen.append)
        positions_in(connection.cursor(), SQLITE, ["a"], after=0, until=9, limit=9)
        connection.set_trace_callback(None)
        plan = connection.execute(f"EXPLAIN QUERY PLAN {seen[0]}").fetchall()
    said = " | ".join(str(row[3]) for row in plan)
    assert "SEARCH event USING COVERING INDEX" in said
    assert "SCAN event" not in said
