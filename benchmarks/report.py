"""What the benchmarks share: interleaved rounds, figures against targets, tables, JSON and SVG."""

import argparse
import json
import statistics
from collections.abc import Callable, Iterable, Mapping
from html import escape
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

Sample = dict[str, float]  # what was measured in a round, by its name
Samples = dict[str, list[Sample]]  # by side

_ROW, _LEFT, _BAR, _WIDTH = 22, 300, 360, 800
_GOOD, _BAD, _TEXT = "#2da44e", "#cf222e", "#57606a"


class Figure(NamedTuple):
    """Something measured.

    Attributes:
        series: What belongs together: bars of one scale.
        name: What was measured.
        value: The median, in the unit.
        unit: Of the value.
        ratio: To the same of the smallest side, round by round.
        most: The largest ratio that is good; or value, if there is no ratio.
        least: The smallest value that is good.
    """

    series: str
    name: str
    value: float
    unit: str
    ratio: float | None = None
    most: float | None = None
    least: float | None = None

    @property
    def target(self) -> str:
        """What it ought to be, in words."""
        unit = "times" if self.ratio is not None else self.unit
        if self.most is not None:
            return f"at most {self.most:,g} {unit}"
        return "" if self.least is None else f"at least {self.least:,g} {unit}"

    @property
    def is_met(self) -> bool:
        """Whether it is as it ought to be."""
        judged = self.value if self.ratio is None else self.ratio
        too_large = self.most is not None and judged > self.most
        return not too_large and (self.least is None or self.value >= self.least)


def interleaved(
    sides: Mapping[str, Callable[[], Sample]], rounds: int, label: str, console: Console
) -> Samples:
    """Let each side work once a round, in an order that alternates; the first round warms up."""
    found: Samples = {name: [] for name in sides}
    for number in track(range(rounds + 1), label, console=console, transient=True):
        for name in sides if number % 2 else reversed(list(sides)):
            sample = sides[name]()
            if number:
                found[name].append(sample)
    return found


def compared(
    series: str, found: Samples, unit: str, most: float, *, judged: Iterable[str] | None = None
) -> list[Figure]:
    """Each side against the first one.

    Args:
        series: What is compared.
        found: What was measured.
        unit: Of what was measured.
        most: The largest ratio that is good.
        judged: The sides to which that applies; default the last one.
    """
    first, *_, last = found
    strict = {last} if judged is None else set(judged)
    figures: list[Figure] = []
    for what in found[first][0]:
        base = [sample[what] for sample in found[first]]
        for side, samples in found.items():
            values = [sample[what] for sample in samples]
            ratio = statistics.median(one / other for one, other in zip(values, base, strict=True))
            limit = most if side in strict else None
            value = statistics.median(values)
            figures.append(Figure(series, f"{what}, {side}", value, unit, ratio, limit))
    return figures


def percentile(values: Iterable[float], part: float) -> float:
    """The value that such a part of the values is below or at."""
    in_order = sorted(values)
    return in_order[min(len(in_order) - 1, int(part * len(in_order)))]


def arguments(description: str) -> argparse.ArgumentParser:
    """A parser of what all these programs take."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the figures as bars")
    return parser


def show(title: str, figures: list[Figure], given: argparse.Namespace) -> None:
    """Print the figures as they are wanted."""
    if given.svg:
        given.svg.write_text(chart(title, figures), encoding="utf-8")
    if given.json:
        every = [{**f._asdict(), "target": f.target, "met": f.is_met} for f in figures]
        print(json.dumps(every, indent=1))
        return
    table = Table("", "what", "median", "ratio", "target", title=title, title_justify="left")
    for series, rows in groupby(figures, key=lambda each: each.series):
        table.add_section()
        for number, figure in enumerate(rows):
            ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
            verdict = "" if figure.is_met else "[red]missed:[/] "
            shown = f"{_number(figure.value)} {figure.unit}"
            head = "" if number else series
            table.add_row(head, figure.name, shown, ratio, verdict + figure.target)
    Console().print(table)


def chart(title: str, figures: list[Figure]) -> str:
    """The figures as bars; those of one series have one scale."""
    lines: list[str] = []
    y = 2 * _ROW
    for series, rows in groupby(figures, key=lambda each: each.series):
        of_series = list(rows)
        largest = max(figure.value for figure in of_series) or 1
        y += _ROW
        lines.append(_text(8, y, series, bold=True))
        for figure in of_series:
            y += _ROW
            lines += _bar(y, figure, largest)
    lines.insert(0, _text(8, _ROW, title, bold=True))
    size = f'viewBox="0 0 {_WIDTH} {y + _ROW}" width="{_WIDTH}" height="{y + _ROW}"'
    font = 'font-family="system-ui, sans-serif" font-size="13"'
    body = "\n".join(lines)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>\n{body}\n</svg>\n'


def _bar(y: int, figure: Figure, largest: float) -> list[str]:
    width = max(1.0, _BAR * figure.value / largest)
    fill = _GOOD if figure.is_met else _BAD
    place = f'x="{_LEFT}" y="{y - 12}" width="{width:.1f}" height="14" rx="2" fill="{fill}"'
    ratio = "" if figure.ratio is None else f" ({figure.ratio:.2f} times)"
    said = f"{_number(figure.value)} {figure.unit}{ratio}"
    return [_text(20, y, figure.name), f"<rect {place}/>", _text(_LEFT + width + 6, y, said)]


def _text(x: float, y: int, text: str, *, bold: bool = False) -> str:
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.1f}" y="{y}" fill="{_TEXT}"{weight}>{escape(text)}</text>'


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.3g}"  # noqa: PLR2004 - 3 digits
