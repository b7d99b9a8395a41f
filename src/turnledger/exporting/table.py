"""CSV (RFC 4180): a row for each event, safe to open in a spreadsheet."""

import csv
from pathlib import Path
from types import TracebackType
from typing import Self

from turnledger.exporting.event import ExportedEvent, category_and_id, iso

COLUMNS = (
    *("position", "recorded_at", "stream_id", "category", "id", "version", "type"),
    *("schema_version", "data", "metadata", "hash"),
)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # what a spreadsheet may take for one


class CsvFile:
    """A file of comma-separated values, with a header."""

    def __init__(self, path: Path) -> None:
        """Open it."""
        self._file = path.open("w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file)
        self._writer.writerow(COLUMNS)

    def write(self, page: list[ExportedEvent]) -> None:
        """Write some events."""
        self._writer.writerows([_row(event) for event in page])

    def __enter__(self) -> Self:
        """The file itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self._file.close()


def safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula: one that looks like it gets a `'` before."""
    return f"'{text}" if text.startswith(FORMULA) else text


def _row(event: ExportedEvent) -> tuple[object, ...]:
    position, stream_id, version, kind, schema_version, data, metadata, recorded_at, chained = event
    category, name = category_and_id(stream_id)
    texts = (safe(data or ""), safe(metadata or ""), chained.hex() if chained is not None else "")
    return (
        *(position, iso(recorded_at), safe(stream_id), safe(category), safe(name), version),
        *(safe(kind), schema_version, *texts),
    )
