"""JSON lines, CSV and Parquet: every event, a line or a row each."""

import csv
import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

from turnledger import Exported, Ledger, RecordedEvent

Written = Callable[..., tuple[Path, Exported]]
WRONG = ('=HYPERLINK("x")', "+1", "-1", "@a", "\tb", "\rc", "\nd", 'plain "quoted", text', "é\n")


def plain(event: RecordedEvent) -> dict[str, Any]:
    names = ("position", "stream_id", "version", "type", "schema_version", "data", "metadata")
    return {name: getattr(event, name) for name in (*names, "hash")}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_json_lines_are_the_events(
    busy: Ledger, events: list[RecordedEvent], written: Written
) -> None:
    path, done = written(busy, "jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [at(line.pop("recorded_at")) for line in lines] == [e.recorded_at for e in events]
    assert lines == [plain(event) for event in events]
    assert (done.events, done.position) == (len(events), events[-1].position)
    assert done.generation == busy.generation


def test_csv_has_the_same_rows(busy: Ledger, events: list[RecordedEvent], written: Written) -> None:
    path, _ = written(busy, "csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["position"]) for row in rows] == [event.position for event in events]
    assert [json.loads(row["data"]) for row in rows] == [event.data for event in events]
    assert [json.loads(row["metadata"]) for row in rows] == [event.metadata for event in events]
    assert [f"{row['category']}:{row['id']}" for row in rows] == [e.stream_id for e in events]
    assert [row["hash"] for row in rows] == [event.hash for event in events]


def test_no_cell_of_csv_is_a_formula(ledger: Ledger, written: Written) -> None:
    for name in WRONG:
        ledger.queue.append(name.strip(), {"text": name})
    path, _ = written(ledger, "csv")
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == len(WRONG) + 1
    assert not [cell for row in rows for cell in row if cell.startswith(tuple("=+-@\t\r\n"))]
    texts = [json.loads(row[8])["submission"]["text"] for row in rows[1:]]
    assert texts == list(WRONG)


def test_parquet_has_columns_of_real_types(
    busy: Ledger, events: list[RecordedEvent], written: Written
) -> None:
    path, _ = written(busy, "parquet")
    table = pq.read_table(path)
    types = {field.name: str(field.type) for field in table.schema}
    assert types["recorded_at"] == "timestamp[us, tz=UTC]"
    assert types["type"].startswith("dictionary<values=string")
    assert (types["position"], types["version"], types["hash"]) == (
        *("int64", "int64"),
        "fixed_size_binary[32]",
    )
    rows = table.to_pylist()
    assert [row["recorded_at"] for row in rows] == [event.recorded_at for event in events]
    assert [json.loads(row["data"]) for row in rows] == [event.data for event in events]
    assert [row["hash"].hex() for row in rows] == [event.hash for event in events]


def test_duckdb_counts_the_same_in_parquet_json_and_csv(
    busy: Ledger, events: list[RecordedEvent], written: Written
) -> None:
    expected = Counter(event.type for event in events)
    for name, reader in (("parquet", "parquet"), ("jsonl", "json_auto"), ("csv", "csv_auto")):
        path, _ = written(busy, name)
        query = f"SELECT type, count(*) FROM read_{reader}('{path}') GROUP BY type"
        assert dict(duckdb.sql(query).fetchall()) == expected, name
