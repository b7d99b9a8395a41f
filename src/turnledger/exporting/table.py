"""CSV (RFC 4180): a row for each event, safe to open in a spreadsheet.

The rows are put together here: the standard library's writer looks at each character, which makes
it three times as slow as all the rest.
"""

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
        self._file.write(",".join(COLUMNS) + "\r\n")

    def write(self, page: list[ExportedEvent]) -> None:
        """Write some events."""
        self._file.writelines([_row(event) for event in page])

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


def cell(text: str | None) -> str:
    """A text in quotes, which no spreadsheet takes for a formula: such a one gets a `'` before."""
    if not text:
        return ""
    mark = "'" if text.startswith(FORMULA) else ""
    doubled = text.replace('"', '""')
    return f'"{mark}{doubled}"'


def _row(event: ExportedEvent) -> str:
    position, stream_id, version, kind, schema_version, data, metadata, recorded_at, chained = event
    category, name = category_and_id(stream_id)
    return (
        f"{position},{iso(recorded_at)},{cell(stream_id)},{cell(category)},{cell(name)},{version},"
        f"{cell(kind)},{schema_version},{cell(data)},{cell(metadata)},"
        f"{'' if chained is None else chained.hex()}\r\n"
    )
