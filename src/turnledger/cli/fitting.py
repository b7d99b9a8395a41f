"""Making texts fit: how wide each column of a table is, and what is done with a text in it."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from turnledger.cli.plain_text import clean
from turnledger.cli.sheet import Cell, Column, Row, Table, shared_out

GAP = 2
LEAST_TEXT = 12  # a column of shortened text below this width says nothing
LEAST_FOLDED = 38  # in less room an id, which has 36 characters, would be folded


def in_text(cell: Cell) -> Text:
    """A cell as rich takes it: clean, in its style, and no markup."""
    return Text(clean(cell.text), style=cell.style)


def shortened(cell: Cell, width: int) -> Text:
    """A cell within a width; what is left out is marked by an ellipsis."""
    text = in_text(cell)
    text.truncate(width, overflow="ellipsis")
    return text


def padded(column: Column, cell: Cell) -> Text:
    """A cell with the least width of its column."""
    text = in_text(cell)
    blanks = max(column.least - text.cell_len, 0)
    if column.right:
        text.pad_left(blanks)
    else:
        text.pad_right(blanks)
    return text


def fitted(columns: Sequence[Column], row: Row, widths: Sequence[int]) -> Iterator[Text]:
    """The cells of a row, those shortened that may be."""
    for column, cell, width in zip(columns, row, widths, strict=True):
        yield shortened(cell, width) if column.fit == "shortened" else in_text(cell)


def widths_of(table: Table, room: int) -> list[int] | None:
    """The width of each column, or None if there is no room for a table."""
    rows = ([Cell(column.title) for column in table.columns], *table.rows)
    natural = [max(in_text(cell).cell_len for cell in column) for column in zip(*rows, strict=True)]
    yielding = [n for n, column in enumerate(table.columns) if column.fit != "whole"]
    whole = sum(width for n, width in enumerate(natural) if n not in yielding)
    left = room - whole - GAP * (len(natural) - 1)
    wanted = [natural[n] for n in yielding]
    if left < sum(min(natural[n], _least(table.columns[n])) for n in yielding):
        return None
    for place, width in zip(yielding, shared_out(left, wanted), strict=True):
        natural[place] = width
    return natural


def _least(column: Column) -> int:
    return LEAST_FOLDED if column.fit == "folded" else LEAST_TEXT


def flowing(texts: Sequence[Text], room: int) -> list[Text]:
    """The texts on as few lines as they need."""
    lines: list[Text] = []
    for text in texts:
        indent = GAP if len(lines) > 1 else 0
        if lines and lines[-1].cell_len + GAP + text.cell_len <= room - indent:
            lines[-1] = Text.assemble(lines[-1], " " * GAP, text)
        elif text:
            lines.append(text)
    return lines
