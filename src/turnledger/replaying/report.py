"""What a replay found: how many commands were answered alike, and which weren't."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from turnledger.domain.event import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedEvent:
    """An event that a command led to, or leads to now.

    Attributes:
        type: Its stored name.
        data: Its fields, as JSON.
    """

    type: str
    data: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A command that the code of now answers otherwise than was recorded.

    Attributes:
        position: Of the first event that it led to in the stream.
        command: Its name, and its id.
        recorded: All that it led to in the stream.
        answered: What it leads to now; nothing, if it is refused.
        refusal: Why it is refused now, as `code: message`; None if it isn't.
        field: The first that differs, as a path: `events[0].epoch`.
        recorded_value: What the field said; None if it wasn't there.
        answered_value: What it says now; likewise.
    """

    position: int
    stream_id: str
    command: str
    command_id: str
    recorded: tuple[ReplayedEvent, ...]
    answered: tuple[ReplayedEvent, ...]
    refusal: str | None
    field: str
    recorded_value: Any
    answered_value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """What couldn't be decided again.

    Attributes:
        position: Of the first event that wasn't.
        stream_id: Where that is.
        reason: Why.
        events: How many events weren't looked at for this reason.
        damaged: Whether something is broken; else it is of a newer release.
    """

    position: int
    stream_id: str
    reason: str
    events: int
    damaged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """What was decided again, and what came of it.

    Attributes:
        ok: Whether nothing differs, and nothing is damaged.
        events: How many events were read.
        commands: How many commands were decided again; one that changed two streams counts twice.
        same: How many of them were answered as recorded.
        different: How many weren't; those that `notes` speak of aren't counted.
        differences: The first 50 of these, in the order of their positions.
        unread: What couldn't be looked at, and why: one entry for each stream and reason.
        notes: What differs, and may: runs of timers that other time zone data gave.
    """

    ok: bool
    events: int
    commands: int
    same: int
    different: int
    differences: tuple[Difference, ...]
    unread: tuple[Unread, ...]
    notes: tuple[str, ...]


def shown(events: Sequence[Event]) -> tuple[ReplayedEvent, ...]:
    """Events as a report has them."""
    return tuple(ReplayedEvent(type=one.TOPIC, data=one.model_dump(mode="json")) for one in events)


def first_difference(
    recorded: tuple[ReplayedEvent, ...], answered: tuple[ReplayedEvent, ...]
) -> tuple[str, Any, Any]:
    """The path of the first field that differs, and what it says in both.

    Args:
        recorded: At least one event.
        answered: What isn't the same.
    """
    for number, event in enumerate(recorded):
        path = f"events[{number}]"
        if number >= len(answered):
            return path, event.type, None
        other = answered[number]
        if event.type != other.type:
            return f"{path}.type", event.type, other.type
        found = _inside(path, event.data, other.data)
        if found is not None:
            return found
    if len(answered) > len(recorded):
        return f"events[{len(recorded)}]", None, answered[len(recorded)].type
    return "events", None, None


def _inside(path: str, was: Any, now: Any) -> tuple[str, Any, Any] | None:
    """The first place in two JSON values that differs."""
    if isinstance(was, dict) and isinstance(now, dict):
        for name in [*was, *(one for one in now if one not in was)]:
            if name not in was or name not in now:
                return f"{path}.{name}", was.get(name), now.get(name)
            found = _inside(f"{path}.{name}", was[name], now[name])
            if found is not None:
                return found
        return None
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        pairs = enumerate(zip(was, now, strict=True))
        found_in = (_inside(f"{path}[{number}]", *pair) for number, pair in pairs)
        return next((found for found in found_in if found is not None), None)
    return None if was == now else (path, was, now)
