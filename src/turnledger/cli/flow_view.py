"""How flows are shown to people, and to Mermaid."""

from collections.abc import Iterator

from turnledger import Flow
from turnledger.cli.sheet import Cell, Column, Row, Table
from turnledger.cli.stats_view import seconds

_BAR = 16


def variant_table(found: Flow, top: int) -> Table:
    """The most frequent ways."""
    columns = (
        Column("share", right=True),
        Column("count", right=True),
        Column("median", right=True),
        Column("p95", right=True),
        Column("way", fit="folded"),
    )
    rows: list[Row] = [
        (
            Cell(f"{variant.share:.1%}"),
            Cell(f"{variant.count:,}"),
            Cell(seconds(variant.median)),
            Cell(seconds(variant.p95)),
            Cell(" → ".join(_folded(variant.steps))),
        )
        for variant in found.variants[:top]
    ]
    return Table(columns, rows, "nothing came to its end")


def _folded(steps: tuple[str, ...]) -> list[str]:
    """A way on which a pair of steps that comes again and again is told once, with its number."""
    told: list[str] = []
    place = 0
    while place < len(steps):
        pair, times = steps[place : place + 2], 1
        while steps[place + 2 * times : place + 2 * times + 2] == pair:
            times += 1
        if times > 1 and len(pair) == 2:  # noqa: PLR2004 - a pair
            told.append(f"({' → '.join(pair)}) {times} times")
            place += 2 * times
        else:
            told.append(steps[place])
            place += 1
    return told


def step_table(found: Flow) -> Table:
    """What followed directly on what."""
    columns = (
        Column("from"),
        Column("to"),
        Column("count", right=True),
        Column("median", right=True),
        Column("p95", right=True),
        Column("how often"),
    )
    most = max((step.count for step in found.steps), default=1)
    rows: list[Row] = [
        (
            Cell(step.source),
            Cell(step.target),
            Cell(f"{step.count:,}"),
            Cell(seconds(step.median)),
            Cell(seconds(step.p95)),
            Cell("█" * max(round(step.count / most * _BAR), 1)),
        )
        for step in found.steps
    ]
    return Table(columns, rows, "nothing followed on anything")


def mermaid(found: Flow) -> Iterator[str]:
    """The graph as a flowchart; the most frequent steps first."""
    steps = [word for step in found.steps for word in (step.source, step.target)]
    names = {
        word: f"n{number}" for number, word in enumerate(dict.fromkeys([*steps, *found.happened]))
    }
    yield "flowchart TD"
    for word, name in names.items():
        yield f'    {name}["{word}<br>{found.happened.get(word, 0):,}"]'
    for step in found.steps:
        label = f"{step.count:,}<br>{seconds(step.median)}, p95 {seconds(step.p95)}"
        yield f'    {names[step.source]} -->|"{label}"| {names[step.target]}'
