"""How recorded events are shown to people: a line each, ids whole, texts last."""

from typing import cast

from turnledger import RecordedEvent
from turnledger.cli import json_text
from turnledger.cli.plain_text import instant, squeezed
from turnledger.cli.sheet import Cell, Column
from turnledger.cli.turn_view import summary

COLUMNS = (
    Column("position", right=True, least=8),
    Column("recorded at", least=20),
    Column("type", least=29),
    Column("stream", least=20),
    Column("facts"),
    Column("texts", "shortened"),
)
_TEXTS = frozenset(
    ("submission", "failure", "reason", "evidence", "value", "content", "instructions")
)
_KNOWN = frozenset(("created_at",))  # it is the time of recording, which stands there already


def event_row(event: RecordedEvent) -> tuple[Cell, ...]:
    """An event as the cells of `COLUMNS`."""
    place = (Cell(str(event.position)), Cell(instant(event.recorded_at)))
    what = (Cell(event.type), Cell(event.stream_id))
    if event.unreadable is not None:
        return (*place, *what, Cell(""), Cell(f"(unreadable: {event.unreadable})", "red"))
    return (*place, *what, *_content(event.data))


def _content(data: object) -> tuple[Cell, Cell]:
    if not isinstance(data, dict):
        return Cell(""), Cell(squeezed(json_text.compact(data)))
    fields = cast("dict[str, object]", data).items()
    said = {name: value for name, value in fields if _says(value) and name not in _KNOWN}
    facts = (f"{name}={_brief(value)}" for name, value in said.items() if name not in _TEXTS)
    texts = (f"{name}={_long(name, value)}" for name, value in said.items() if name in _TEXTS)
    return Cell(" ".join(facts)), Cell(" ".join(texts))


def _says(value: object) -> bool:
    return value is not None and value is not False and value != []


def _brief(value: object) -> str:
    return squeezed(value if isinstance(value, str) else json_text.compact(value))


def _long(name: str, value: object) -> str:
    return summary(value) if name in ("submission", "content") else _brief(value)
