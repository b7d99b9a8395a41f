"""Parquet: a row for each event, in columns with real types."""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from turnledger.exporting.event import Page, category_and_id

_ROW_GROUP = 50_000  # rows
_ROW_GROUP_BYTES = 32 * 1024 * 1024

_WORD = pa.dictionary(pa.int32(), pa.string())
SCHEMA = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),
        pa.field("recorded_at", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("stream_id", pa.string(), nullable=False),
        pa.field("category", _WORD, nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("version", pa.int64(), nullable=False),
        pa.field("type", _WORD, nullable=False),
        pa.field("schema_version", pa.int32(), nullable=False),
        pa.field("data", pa.string()),
        pa.field("metadata", pa.string()),
        pa.field("hash", pa.binary(32)),
    ]
)
_REPEATED = ["stream_id", "category", "id", "type"]


class ParquetFile:
    """A Parquet file."""

    def __init__(self, path: Path) -> None:
        """Open it."""
        options: dict[str, Any] = {"compression": "zstd", "use_dictionary": _REPEATED}
        self._writer = pq.ParquetWriter(path, SCHEMA, **options)
        self._waiting: list[Any] = []
        self._rows = 0
        self._bytes = 0

    def write(self, page: Page) -> None:
        """Write some events."""
        batch = _batch(page)
        self._waiting.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _ROW_GROUP or self._bytes >= _ROW_GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting, SCHEMA).unify_dictionaries()
            self._writer.write_table(table, row_group_size=self._rows)
        self._waiting, self._rows, self._bytes = [], 0, 0

    def __enter__(self) -> Self:
        """The file itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write what waits, and the end of the file; close it."""
        if kind is None:
            self._flush()
        self._writer.close()


def _batch(page: Page) -> Any:
    categories, names = zip(*map(category_and_id, page.stream_ids), strict=True)
    columns = (
        *(page.positions, page.times, page.stream_ids, categories, names, page.versions),
        *(page.types, page.schema_versions, page.data, page.metadata, page.hashes),
    )
    made = []
    for values, field in zip(columns, SCHEMA, strict=True):
        if field.type == _WORD:
            made.append(pa.array(values, pa.string()).dictionary_encode())
        else:
            made.append(pa.array(values, field.type))
    return pa.record_batch(made, schema=SCHEMA)
