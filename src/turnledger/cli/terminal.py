"""The layout on a terminal, by rich: as wide as it is, in colour if it has any.

Where a table has no room for its whole columns, each row becomes a card: an id is never cut.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import cast

from rich import table as rich_table
from rich.console import Console, JustifyMethod
from rich.text import Text

from turnledger.cli.fitting import (
    GAP,
    LEAST_FOLDED,
    LEAST_TEXT,
    fitted,
    flowing,
    in_text,
    padded,
    shortened,
    widths_of,
)
from turnledger.cli.plain_text import clean
from turnledger.cli.sheet import Column, Fields, Row, Table

_LINES = 2  # of a text that may be shortened, where there is no room for a table


class TerminalLayout:
    """Writes to a rich console. Nothing that it is given is read as markup."""

    def __init__(self, console: Console | None = None) -> None:
        """Take a console; default standard out."""
        self._console = console or Console(highlight=False, markup=False, emoji=False)

    def line(self, text: str, style: str = "") -> None:
        """A sentence, folded at blanks."""
        self._console.print(Text(clean(text), style=style), overflow="fold")

    def copyable(self, text: str) -> None:
        """A line that somebody may want to copy: the terminal itself folds it."""
        self._console.print(Text(clean(text)), soft_wrap=True)

    def table(self, table: Table) -> None:
        """Rows under titles; the titles come again below a long table."""
        widths = widths_of(table, self._console.width)
        if not table.rows:
            self.line(table.empty)
        elif widths is None:
            self._cards(table)
        else:
            self._grid(table, widths)

    def _grid(self, table: Table, widths: Sequence[int]) -> None:
        grid = rich_table.Table(
            box=None,
            pad_edge=False,
            padding=(0, GAP, 0, 0),
            header_style="bold",
            footer_style="bold",
            show_footer=len(table.rows) >= self._console.height,
        )
        for column in table.columns:
            title, side = Text(column.title), "right" if column.right else "left"
            grid.add_column(title, title, justify=cast("JustifyMethod", side))
        for row in table.rows:
            texts = fitted(table.columns, row, widths)
            grid.add_row(*map(self._in_lines, texts, widths))
        self._console.print(grid, crop=False)

    def card(self, fields: Fields) -> None:
        """One thing, a field a line; a value that is too long goes below its label."""
        self._print(self._fields([(label, in_text(cell)) for label, cell in fields]))

    def entry(self, columns: Sequence[Column], row: Row) -> None:
        """A line of a log; several, if its whole cells don't fit on one."""
        room = self._console.width
        *whole, last = zip(columns, row, strict=True)
        cells = [padded(column, cell) for column, cell in whole]
        left = room - sum(cell.cell_len + GAP for cell in cells)
        if left >= min(in_text(last[1]).cell_len, LEAST_TEXT):
            self._print([Text(" " * GAP).join([*cells, shortened(last[1], left)])])
            return
        texts = flowing([*map(in_text, row[:-1]), shortened(last[1], room * _LINES)], room)
        indents = (0, *[GAP] * len(texts))
        self._print(chain.from_iterable(map(self._folded, texts, indents)))

    def _cards(self, table: Table) -> None:
        titles = [column.title for column in table.columns]
        longest = [self._console.width * _LINES] * len(titles)
        for number, row in enumerate(table.rows):
            if number:
                self._console.print()
            texts = fitted(table.columns, row, longest)
            self._print(self._fields(list(zip(titles, texts, strict=True))))

    def _fields(self, fields: Sequence[tuple[str, Text]]) -> Iterator[Text]:
        shown = [(label, text) for label, text in fields if text]
        width = max((len(label) for label, _ in shown), default=0) + GAP
        room = self._console.width - width
        for label, text in shown:
            name = Text.assemble((label.ljust(width), "bold"))
            if text.cell_len <= room:
                yield Text.assemble(name, text)
            elif room < LEAST_FOLDED:
                yield name
                yield from self._folded(text, GAP)
            else:
                first, *rest = self._folded(text, width)
                yield Text.assemble(name, first[width:])
                yield from rest

    def _in_lines(self, text: Text, width: int) -> Text:
        """The text of a cell with a line feed wherever its column ends."""
        if text.cell_len <= width:
            return text
        return Text("\n").join(text.wrap(self._console, width, overflow="fold"))

    def _folded(self, text: Text, indent: int) -> Iterator[Text]:
        room = max(self._console.width - indent, 1)
        for line in text.wrap(self._console, room, overflow="fold"):
            yield Text.assemble(" " * indent, line)

    def _print(self, lines: Iterable[Text]) -> None:
        """Print lines that are known to fit."""
        whole = list(lines)
        for line in whole:
            line.rstrip()
        self._console.print(Text("\n").join(whole), soft_wrap=True)
