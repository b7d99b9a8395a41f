"""How figures are shown to people."""

from collections.abc import Iterable, Sequence

from turnledger import Depth, Figures, Spread, Stats
from turnledger.cli.plain_text import instant, squeezed
from turnledger.cli.sheet import Cell, Column, Row, Table

_BAR = 24
_MOST_STEPS = 48
_LONG, _VERY_LONG = 600.0, 7_200.0  # seconds, told in minutes and hours from here on
_NAMES = {
    "queued_turns": "queued turns",
    "coordinator_turns": "coordinator turns",
    "operations": "operations",
    "messages": "messages",
    "timers": "timers",
}
_MEASURES = (
    ("waiting", "waited"),
    ("running", "ran"),
    ("attempts", "attempts"),
    ("lateness", "late"),
)
_COUNTS = ("begun", "claims", "lease losses", "unknown", "missed")


def _counts(titles: Iterable[str]) -> tuple[Column, ...]:
    return tuple(Column(title, right=True) for title in titles)


def count_table(found: Stats) -> Table:
    """How often what happened, by kind."""
    columns = (Column("what"), *_counts(_COUNTS), Column("outcomes", fit="folded"))
    rows = [
        (Cell(_NAMES[kind]), *_numbers(figures), Cell(_outcomes(figures)))
        for kind, figures in found.total.items()
    ]
    return Table(columns, rows, "nothing happened")


def spread_table(found: Stats) -> Table | None:
    """How numbers are spread, by kind; None if there are none."""
    titles = ("count", "mean", "p50", "p90", "p95", "p99", "most")
    rows = [
        (Cell(f"{_NAMES[kind]} {word}"), *_spread(getattr(figures, name), name))
        for kind, figures in found.total.items()
        for name, word in _MEASURES
        if getattr(figures, name) is not None
    ]
    columns = (Column("how long, how often"), *_counts(titles))
    return Table(columns, rows, "nothing was claimed") if rows else None


def group_table(found: Stats) -> Table:
    """The figures of each group."""
    measured = ("waited p50", "p95", "ran p50", "p95", "late p95")
    columns = (
        Column(found.by or ""),
        Column("what"),
        *_counts((*_COUNTS, *measured)),
        Column("outcomes", fit="folded"),
    )
    rows = [
        _group(name, kind, figures)
        for name, kinds in found.groups.items()
        for kind, figures in kinds.items()
    ]
    return Table(columns, rows, "nothing was claimed")


def _group(name: str, kind: str, figures: Figures) -> Row:
    waiting, running, late = figures.waiting, figures.running, figures.lateness
    measured = (
        *((waiting.p50, waiting.p95) if waiting else (None, None)),
        *((running.p50, running.p95) if running else (None, None)),
        late.p95 if late else None,
    )
    return (
        Cell(squeezed(name)),
        Cell(_NAMES[kind]),
        *_numbers(figures),
        *(Cell("" if one is None else seconds(one)) for one in measured),
        Cell(_outcomes(figures)),
    )


def depth_table(depth: Sequence[Depth]) -> Table:
    """How many waited and were held over time, in not too many rows."""
    columns = (
        Column("from"),
        *_counts(("waiting", "most", "held", "most")),
        Column("waiting over time"),
    )
    steps = thinned(depth, _MOST_STEPS)
    most = max((step.waiting for step in steps), default=0) or 1
    rows = [
        (
            Cell(instant(step.since)),
            *(Cell(f"{step.waiting:,.1f}"), Cell(f"{step.waiting_most:,}")),
            *(Cell(f"{step.held:,.1f}"), Cell(f"{step.held_most:,}")),
            Cell("█" * round(step.waiting / most * _BAR)),
        )
        for step in steps
    ]
    return Table(columns, rows, "nothing waited")


def thinned(depth: Sequence[Depth], most: int) -> list[Depth]:
    """Neighbouring steps as one, until there are not too many."""
    size = -(-len(depth) // most) or 1
    return [_merged(depth[place : place + size]) for place in range(0, len(depth), size)]


def _merged(steps: Sequence[Depth]) -> Depth:
    """One step of several; each counts the same, also the first and the last."""
    return Depth(
        since=steps[0].since,
        seconds=sum(step.seconds for step in steps),
        waiting=sum(step.waiting for step in steps) / len(steps),
        waiting_most=max(step.waiting_most for step in steps),
        held=sum(step.held for step in steps) / len(steps),
        held_most=max(step.held_most for step in steps),
    )


def _numbers(figures: Figures) -> Row:
    counts = (
        figures.begun,
        figures.claims,
        figures.lease_losses,
        figures.unknown_outcomes,
        figures.missed,
    )
    styles = ("", "", "yellow", "red", "yellow")
    pairs = zip(counts, styles, strict=True)
    return tuple(Cell(f"{count:,}", style if count else "") for count, style in pairs)


def _outcomes(figures: Figures) -> str:
    return ", ".join(f"{word} {count:,}" for word, count in figures.outcomes.items())


def _spread(spread: Spread, name: str) -> Row:
    show = count if name == "attempts" else seconds
    numbers = (spread.mean, spread.p50, spread.p90, spread.p95, spread.p99, spread.most)
    return (Cell(f"{spread.count:,}"), *(Cell(show(number)) for number in numbers))


def count(number: float) -> str:
    """A number of times, or the mean of such."""
    return f"{number:,.0f}" if number == int(number) else f"{number:,.2f}"


def seconds(number: float) -> str:
    """A duration, as precise as people want it."""
    if abs(number) < _LONG:
        return f"{number:,.3f} s"
    return f"{number / 60:,.1f} min" if abs(number) < _VERY_LONG else f"{number / 3_600:,.1f} h"
