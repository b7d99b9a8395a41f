"""What a command has to show, before it is known where: lines, cards and tables.

A `Layout` puts it on a terminal or into a pipe. Commands only say what a text is: a cell that must
stay whole (an id), one that may be folded, or one that may be shortened where room is scarce.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

Fit = Literal["whole", "folded", "shortened"]


class Cell(NamedTuple):
    """A text and how it looks on a terminal."""

    text: str
    style: str = ""


class Column(NamedTuple):
    """One column of a table, or one place in the lines of a log.

    Attributes:
        title: Its name.
        fit: What may be done with its texts on a narrow terminal; in a pipe nothing is done.
        right: Its texts are numbers, aligned at their ends.
        least: Its width in a log, whose later lines nobody knows yet.
    """

    title: str
    fit: Fit = "whole"
    right: bool = False
    least: int = 0


Row = Sequence[Cell]
Fields = Sequence[tuple[str, Cell]]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under titles.

    Attributes:
        columns: Their titles and what may be done with their texts.
        rows: A cell for each column.
        empty: What a person reads on a terminal if there is no row.
    """

    columns: tuple[Column, ...]
    rows: Sequence[Row]
    empty: str


class Layout(Protocol):
    """Puts things on standard out."""

    def line(self, text: str, style: str = "") -> None:
        """A sentence."""

    def copyable(self, text: str) -> None:
        """A line that somebody may want to copy: it isn't broken."""

    def table(self, table: Table) -> None:
        """Rows under titles."""

    def card(self, fields: Fields) -> None:
        """One thing, a field a line; a field without text is left out."""

    def entry(self, columns: Sequence[Column], row: Row) -> None:
        """A line of a log."""


def shared_out(room: int, wanted: Sequence[int]) -> list[int]:
    """Share room out: those that want little get it, the others the same each."""
    given = [0] * len(wanted)
    by_size = sorted(range(len(wanted)), key=wanted.__getitem__)
    for served, place in enumerate(by_size):
        given[place] = min(wanted[place], room // (len(wanted) - served))
        room -= given[place]
    return given
