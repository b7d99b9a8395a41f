"""The layout where standard out is no terminal: aligned, whole, without colours, a row a line."""

import sys
from collections.abc import Sequence

from rich.cells import cell_len

from turnledger.cli.plain_text import clean
from turnledger.cli.sheet import Cell, Column, Fields, Row, Table

_GAP = "  "
_LONGEST_ALIGNED = 120  # a megabyte of text in one row must not widen the others


class PipeLayout:
    """Writes plain text."""

    def line(self, text: str, style: str = "") -> None:  # noqa: ARG002 - a pipe has no colours
        """A sentence."""
        _write(clean(text))

    def copyable(self, text: str) -> None:
        """A line that somebody may want to copy."""
        _write(clean(text))

    def table(self, table: Table) -> None:
        """Rows under titles, each column as wide as its widest text."""
        titles = [Cell(column.title) for column in table.columns]
        texts = [[clean(cell.text) for cell in row] for row in (titles, *table.rows)]
        widths = [max(map(cell_len, column)) for column in zip(*texts, strict=True)]
        for place, column in enumerate(table.columns):
            if column.fit == "shortened":
                widths[place] = min(widths[place], _LONGEST_ALIGNED)
        for row in texts:
            _write(_aligned(table.columns, row, widths))

    def card(self, fields: Fields) -> None:
        """One thing, a field a line."""
        shown = [(label, clean(cell.text)) for label, cell in fields if cell.text]
        width = max((len(label) for label, _ in shown), default=0)
        for label, text in shown:
            _write(f"{label:<{width}}{_GAP}{text}")

    def entry(self, columns: Sequence[Column], row: Row) -> None:
        """A line of a log."""
        texts = [clean(cell.text) for cell in row]
        _write(_aligned(columns, texts, [column.least for column in columns]))


def _aligned(columns: Sequence[Column], texts: Sequence[str], widths: Sequence[int]) -> str:
    placed: list[str] = []
    for column, text, width in zip(columns, texts, widths, strict=True):
        blanks = " " * (width - cell_len(text))
        placed.append(blanks + text if column.right else text + blanks)
    return _GAP.join(placed).rstrip()


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")
