"""`ledger.plot`: charts of the figures, by matplotlib (the extra `analytics`)."""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from math import log
from pathlib import Path
from typing import Any, Literal, get_args

from turnledger.analytics.board import Board, Kind
from turnledger.analytics.tally import Tally, percentile
from turnledger.domain.errors import InvalidPayload

Axes = Any  # matplotlib's: its types know no times
Chart = Literal["waiting", "depth", "outcomes", "lateness"]
CHARTS: tuple[Chart, ...] = get_args(Chart)
Drawn = tuple[str, str, Sequence[float]]  # a name, a colour, and numbers
FORMATS = (".svg", ".png", ".pdf")

# Colours that people with colour blindness can tell apart (Okabe and Ito, 2008).
_BLUE, _ORANGE, _GREEN, _RED, _PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"
_SKY, _YELLOW, _GREY, _INK, _PALE = "#56B4E9", "#F0E442", "#8A8A8A", "#222222", "#E6E6E6"
_OUTCOMES = {
    "acked": _GREEN,
    "completed": _GREEN,
    "failed": _RED,
    "deleted": _GREY,
    "cancelled": _GREY,
}
_TURNS: tuple[tuple[Kind, str, str], ...] = (
    ("queued_turns", "queued turns", _BLUE),
    ("coordinator_turns", "coordinator turns", _ORANGE),
)
_LEAST = 1e-3  # seconds; what is shorter is drawn as long
_BINS = 40
_STYLE: dict[Any, Any] = {
    "axes.edgecolor": _GREY,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.labelcolor": _INK,
    "axes.labelsize": 9,
    "font.size": 9,
    "grid.color": _PALE,
    "legend.frameon": False,
    "svg.hashsalt": "turnledger",  # so that the same figures give the same file
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


def checked_path(path: str | os.PathLike[str], charts: Sequence[Chart]) -> Path:
    """Where charts are to be written, if they can be.

    Raises:
        InvalidPayload: The file isn't a picture; there are no such charts; or matplotlib isn't
            installed.
    """
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise InvalidPayload("path", f"must end with {', '.join(FORMATS)}, not {file.suffix!r}")
    unknown = [chart for chart in charts if chart not in CHARTS]
    if unknown or not charts:
        raise InvalidPayload("charts", f"must be some of {', '.join(CHARTS)}, not {charts!r}")
    if not file.absolute().parent.is_dir():
        raise InvalidPayload("path", "its folder doesn't exist")
    if find_spec("matplotlib") is None:
        raise InvalidPayload("plot", "needs matplotlib: pip install 'turnledger[analytics]'")
    return file


def draw(board: Board, file: Path, charts: Sequence[Chart]) -> None:
    """Draw charts of what was measured by day, into one picture."""
    from matplotlib import rc_context  # noqa: PLC0415 - an extra, and slow
    from matplotlib.figure import Figure  # noqa: PLC0415 - likewise

    across = min(len(charts), 2)
    down = -(-len(charts) // across)
    with rc_context(_STYLE):
        figure = Figure(figsize=(7.2 * across, 4.2 * down), layout="constrained", dpi=120)
        for place, chart in enumerate(charts, 1):
            _DRAWN[chart](figure.add_subplot(down, across, place), board)
        metadata = {"Date": None} if file.suffix.lower() == ".svg" else {}
        figure.savefig(file, metadata=metadata)


def _waiting(axes: Axes, board: Board) -> None:
    axes.set_title("How long turns waited for a claim")
    series: list[Drawn] = [
        (name, colour, board.total[kind].series["waiting"])
        for kind, name, colour in _TURNS
        if "waiting" in _series(board.total, kind)
    ]
    _spread(axes, series, "claims")


def _lateness(axes: Axes, board: Board) -> None:
    axes.set_title("How late timers fired")
    late = _series(board.total, "timers").get("lateness", ())
    _spread(axes, [("timers", _PURPLE, late)] if late else [], "runs")


def _series(total: Mapping[Kind, Tally], kind: Kind) -> Mapping[str, Sequence[float]]:
    return total[kind].series if kind in total else {}


def _spread(axes: Axes, series: list[Drawn], what: str) -> None:
    """Numbers of seconds in classes that get wider, with their percentiles."""
    if not series:
        _empty(axes, "nothing yet")
        return
    numbers = [[max(number, _LEAST) for number in one] for _, _, one in series]
    every = sorted(number for one in numbers for number in one)
    low, high = every[0], max(every[-1], every[0] * 10)
    edges = [low * (high / low) ** (place / _BINS) for place in range(_BINS + 1)]
    edges[-1] = max(edges[-1], every[-1])
    axes.hist(
        numbers,
        bins=edges,
        stacked=True,
        color=[colour for _, colour, _ in series],
        label=[name for name, _, _ in series],
        edgecolor="white",
        linewidth=0.5,
    )
    axes.set_xscale("log")
    _in_durations(axes)
    axes.set_ylabel(what)
    axes.grid(visible=False, axis="x")
    axes.margins(y=0.22)
    for line, percent in enumerate((50, 95, 99)):
        _percentile(axes, percent, percentile(every, percent), line)
    if len(series) > 1:
        axes.legend(loc="center right")


def _percentile(axes: Axes, percent: int, at: float, line: int) -> None:
    """A line at a percentile, and its name beside it: on the side where there is room."""
    low, high = axes.get_xlim()
    right = log(at / low) > log(high / low) * 0.7
    axes.axvline(at, color=_INK, linewidth=0.9, linestyle=(0, (4, 3)))
    axes.annotate(
        f"p{percent}  {_named(at)}",
        (at, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(-4 if right else 4, -4 - 13 * line),
        textcoords="offset points",
        va="top",
        ha="right" if right else "left",
        fontsize=8,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
    )


def _in_durations(axes: Axes) -> None:
    """Ticks at the times that people have names for."""
    low, high = axes.get_xlim()
    ticks = [tick for tick in _TICKS if low <= tick <= high]
    axes.set_xticks(ticks, [_named(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlim(low, high)


def _named(seconds: float) -> str:
    """A duration; the least one stands for all that are shorter."""
    return f"≤ {duration(seconds)}" if seconds <= _LEAST else duration(seconds)


_TICKS = (0.001, 0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3_600.0, 21_600.0, 86_400.0, 604_800.0)
_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def duration(seconds: float) -> str:
    """A duration in its largest unit."""
    for length, unit in _UNITS:
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds * 1_000:.3g} ms"


def _depth(axes: Axes, board: Board) -> None:
    axes.set_title("How many turns waited, and were in somebody's hands")
    depth = board.gauge.depths()
    if not depth:
        _empty(axes, "nothing yet")
        return
    times = [step.since for step in depth]
    waiting, held = [step.waiting for step in depth], [step.held for step in depth]
    most = [step.waiting_most for step in depth]
    axes.fill_between(times, waiting, step="post", color=_BLUE, alpha=0.35, linewidth=0)
    axes.step(times, waiting, where="post", color=_BLUE, linewidth=1.4, label="waiting, mean")
    axes.step(times, most, where="post", color=_SKY, linewidth=0.7, label="waiting, most")
    axes.step(times, held, where="post", color=_ORANGE, linewidth=1.4, label="held, mean")
    axes.set_ylabel("turns")
    axes.set_ylim(bottom=0)
    axes.margins(x=0)
    _dated(axes)
    axes.legend(loc="upper left", ncols=3, fontsize=8)
    axes.set_ylim(top=axes.get_ylim()[1] * 1.15)


def _outcomes(axes: Axes, board: Board) -> None:
    axes.set_title("What became of turns, by day")
    days = {day: _of_day(kinds) for day, kinds in sorted(board.groups.items())}
    words = dict.fromkeys(sorted({word for one in days.values() for word in one}))
    if not words:
        _empty(axes, "nothing yet")
        return
    at = [datetime.fromisoformat(day).replace(tzinfo=UTC) for day in days]
    below = [0] * len(at)
    others = iter((_SKY, _PURPLE, _YELLOW, _BLUE))
    for word in words:
        counts = [one.get(word, 0) for one in days.values()]
        colour = _OUTCOMES.get(word) or next(others, _GREY)
        axes.bar(at, counts, bottom=below, width=0.85, color=colour, label=word)
        below = [so_far + count for so_far, count in zip(below, counts, strict=True)]
    axes.set_ylabel("turns")
    axes.grid(visible=False, axis="x")
    _dated(axes)
    axes.legend(loc="upper left", ncols=4, fontsize=8)
    axes.set_ylim(top=max(below) * 1.2)


def _of_day(kinds: Mapping[Kind, Tally]) -> dict[str, int]:
    """The outcomes of a day, of both kinds of turns."""
    found: dict[str, int] = {}
    for kind, _, _ in _TURNS:
        if kind in kinds:
            for word, count in kinds[kind].figures().outcomes.items():
                found[word] = found.get(word, 0) + count
    return found


def _dated(axes: Axes) -> None:
    from matplotlib import dates  # noqa: PLC0415 - an extra

    untyped: Any = dates
    locator = untyped.AutoDateLocator(minticks=3, maxticks=8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(untyped.ConciseDateFormatter(locator))
    axes.set_xlabel("UTC", loc="left", fontsize=8)


def _empty(axes: Axes, text: str) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", color=_GREY, fontsize=11)


_DRAWN: dict[Chart, Callable[[Axes, Board], None]] = {
    "waiting": _waiting,
    "depth": _depth,
    "outcomes": _outcomes,
    "lateness": _lateness,
}
