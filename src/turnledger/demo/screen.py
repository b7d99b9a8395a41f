"""How the demonstration looks: short heads, sentences and rows, on whatever console there is.

Every text that comes along is plain text: nothing in it is markup, or an order to the terminal.
"""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

_INDENT = 2
_GAP = " " * 2
_LEAST_RULE = 4  # a shorter one beside a head isn't worth drawing
_LEAST_TEXT = 12  # a text that has less room beside the other cells isn't put there
_STYLES = {
    "acked": "green",
    "claimed": "yellow",
    "dispatch recorded": "cyan",
    "dispatching": "cyan",
    "failed": "red",
    "killed": "bold red",
    "sent to the model": "cyan",
}

Widths = Sequence[int]


def clean(text: str) -> str:
    """The text on one line, without what can't be seen: controls, and what turns text around."""
    blanked = "".join(" " if char.isspace() else char for char in text)
    return "".join(filter(str.isprintable, blanked))


class Screen:
    """Writes on a console.

    Attributes:
        wrongs: How many things weren't as they ought to be.
    """

    def __init__(self, console: Console) -> None:
        """Take the console."""
        self._console = console
        self.wrongs = 0

    def head(self, text: str) -> None:
        """Begin a step."""
        self._console.print()
        title = Text(text, style="bold")
        if title.cell_len + _LEAST_RULE > self._console.width:
            self._folded(title, Text())
        else:
            self._console.rule(title, align="left", style="dim")

    def say(self, text: str, style: str = "") -> None:
        """A sentence."""
        self._folded(Text(clean(text), style=style), Text())

    def command(self, text: str) -> None:
        """A line that somebody may want to copy: it isn't broken, the terminal itself folds it."""
        self._console.print(Text(" " * _INDENT + clean(text)), soft_wrap=True)

    def rows(self, rows: Sequence[Sequence[str]]) -> None:
        """Rows whose cells stand below each other; the last cells are free text."""
        places = zip(*rows, strict=True)
        widths = [max(Text(clean(cell)).cell_len for cell in cells) for cells in places]
        for row in rows:
            self.row(row, widths)

    def row(self, cells: Sequence[str], widths: Widths) -> None:
        """One row.

        Args:
            cells: Its texts.
            widths: The widths of all but the last; where there is no room, they aren't kept.
        """
        texts = [Text(clean(cell), style=_style(cell)) for cell in cells[:-1]]
        beside = Text(" " * _INDENT)
        for text, width in zip(texts, widths, strict=False):
            padding = " " * max(width - text.cell_len, 0)
            beside = Text.assemble(beside, text, padding, _GAP)
        last = Text(clean(cells[-1]))
        if beside.cell_len + min(last.cell_len, _LEAST_TEXT) <= self._console.width:
            self._folded(last, beside)
        else:
            flowing = Text(_GAP).join([*filter(None, texts), last])
            self._folded(flowing, Text(" " * _INDENT), hanging=_INDENT)

    def fact(self, name: str, found: object, wanted: object) -> None:
        """Something that was looked up; it is said to be wrong if it isn't what is wanted."""
        fact = Text.assemble(f"{clean(name)}: ", (clean(str(found)), "bold"))
        self._folded(fact, Text(" " * _INDENT))
        if found != wanted:
            self.wrong(f"{name} ought to be {wanted}")

    def wrong(self, text: str) -> None:
        """Something isn't as it ought to be: the exit status will say so."""
        self.wrongs += 1
        self.say(f"WRONG: {text}", style="bold red")

    def _folded(self, text: Text, beside: Text, hanging: int = 0) -> None:
        """Write a text beside another one, its further lines below its first."""
        room = max(self._console.width - beside.cell_len - hanging, 1)
        lines = text.wrap(self._console, room, overflow="fold") or [Text()]
        further = Text(" " * (beside.cell_len + hanging))
        for number, line in enumerate(lines):
            whole = (further if number else beside) + line
            whole.rstrip()
            self._console.print(whole, soft_wrap=True)


def _style(cell: str) -> str:
    return _STYLES.get(cell.partition(",")[0], "")
