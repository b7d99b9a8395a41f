"""How stories are shown to people: a row each, with a waterfall drawn in text."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from turnledger.cli.plain_text import instant, squeezed
from turnledger.cli.sheet import Cell, Column, Row, Table
from turnledger.cli.story import Phase, Story

_WIDTH = 32
_MARKS: dict[Phase, str] = {"waiting": "·", "running": "▒", "sent": "█", "over": " "}
_STYLES = {"acked": "green", "confirmed": "green", "completed, applied": "green"}
LEGEND = "· waiting   ▒ in somebody's hands   █ sent"
_COLUMNS = (
    Column("what"),
    Column("id"),
    Column("since"),
    Column("waited", right=True),
    Column("ran", right=True),
    Column("outcome"),
    Column("owner"),
    Column("in time"),
)


def story_table(stories: Sequence[Story], now: datetime) -> Table:
    """Stories as rows, their attempts below each.

    Args:
        stories: In order.
        now: Until when what isn't over is drawn.
    """
    every = [one for story in stories for one in (story, *story.attempts)]
    begins = [span.since for one in every for span in one.spans]
    ends = [span.until or now for one in every for span in one.spans]
    frame = (min(begins), max(ends)) if begins else (now, now)
    rows = [row for story in stories for row in _rows(story, frame, now)]
    return Table(_COLUMNS, rows, "nothing happened")


def _rows(story: Story, frame: tuple[datetime, datetime], now: datetime) -> Iterable[Row]:
    yield _row(story, story.kind, frame, now)
    for attempt in story.attempts:
        yield _row(attempt, f"  {attempt.kind}", frame, now)


def _row(story: Story, kind: str, frame: tuple[datetime, datetime], now: datetime) -> Row:
    since = instant(story.spans[0].since) if story.spans else ""
    style = _STYLES.get(story.outcome, "red" if "unknown" in story.outcome else "")
    return (
        Cell(kind),
        Cell(story.id),
        Cell(since),
        Cell(_span(story.seconds("waiting", now=now))),
        Cell(_span(story.seconds("running", "sent", now=now))),
        Cell(squeezed(story.outcome), style),
        Cell(squeezed(str(story.facts.get("owner", "")))),
        Cell(_bar(story, frame, now)),
    )


def _bar(story: Story, frame: tuple[datetime, datetime], now: datetime) -> str:
    """The phases drawn on a line that stands for the whole time shown."""
    begin, end = frame
    whole = (end - begin).total_seconds() or 1.0
    line = [" "] * _WIDTH
    for span in story.spans:
        first = int((span.since - begin).total_seconds() / whole * _WIDTH)
        last = int(((span.until or now) - begin).total_seconds() / whole * _WIDTH)
        first = min(first, _WIDTH - 1)
        for place in range(first, max(first + 1, min(last, _WIDTH))):
            line[place] = _MARKS[span.phase]
    return f"|{''.join(line)}|"


def _span(seconds: float) -> str:
    return f"{seconds:,.3f} s"
