"""CSV (RFC 4180): a row for each event, safe to open in a spreadsheet.

The rows are put together here: the standard library's writer looks at each character, which makes
it three times as slow as all the rest.
"""

from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from turnledger.exporting.event import REPEATED, Page, category_and_id, iso

COLUMNS = (
    *("position", "recorded_at", "stream_id", "category", "id", "version", "type"),
    *("schema_version", "data", "metadata", "hash"),
)
FORMULA = "=+-@\t\r\n"  # what a spreadsheet may take for one


class CsvFile:
    """A file of comma-separated values, with a header."""

    def __init__(self, path: Path) -> None:
        """Open it."""
        self._file = path.open("wb")
        self._file.write((",".join(COLUMNS) + "\r\n").encode())

    def write(self, page: Page) -> None:
        """Write some events."""
        self._file.write("".join(map(_row, *page)).encode())

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
    mark = "'" if text[0] in FORMULA else ""
    doubled = text.replace('"', '""')
    return f'"{mark}{doubled}"'


_name = lru_cache(maxsize=REPEATED)(cell)


@lru_cache(maxsize=REPEATED)
def _stream(stream_id: str) -> str:
    """The three cells that a stream's name fills."""
    return ",".join(map(cell, (stream_id, *category_and_id(stream_id))))


def _row(  # noqa: PLR0913, PLR0917 - the columns
    position: int,
    stream_id: str,
    version: int,
    kind: str,
    schema_version: int,
    data: str | None,
    metadata: str | None,
    recorded_at: int,
    chained: bytes | None,
) -> str:
    return (
        f"{position},{iso(recorded_at)},{_stream(stream_id)},{version},"
        f"{_name(kind)},{schema_version},{cell(data)},{cell(metadata)},"
        f"{'' if chained is None else chained.hex()}\r\n"
    )
