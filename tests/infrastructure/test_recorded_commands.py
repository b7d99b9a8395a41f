"""A command made anew from its record and its events is the command that was recorded."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import pytest

from turnledger.domain import evidence
from turnledger.domain.command import RecordedCommand
from turnledger.domain.duration import to_microseconds
from turnledger.domain.event import Event
from turnledger.domain.limits import Context, Limits
from turnledger.domain.payload import decode
from turnledger.domain.retry_policy import RetryPolicy
from turnledger.domain.timer.commands import Create, TimerCommand
from turnledger.domain.trigger import Cron, Delay, Schedule
from turnledger.infrastructure.deciding.kinds import EVIDENCE, KINDS, Known, class_of, rebuilt
from turnledger.infrastructure.deciding.records import CommandRecord, NotRecorded, record_in
from turnledger.infrastructure.origin import Origin, recorded

AT = datetime(2026, 1, 5, 9, 0, 0, 123_456, tzinfo=UTC)
TRIGGERS = (
    Delay(seconds=5),
    Cron(expression="0 9 * * 1"),
    Schedule(rrule="FREQ=DAILY", misfire="skip"),
)
SAMPLES: dict[Any, Any] = {
    str: "caf\u00e9 \U0001f600",
    int: 7,
    bool: True,
    Any: {"any": [1.5, None]},
    timedelta: timedelta(seconds=61, microseconds=1),
    datetime: AT,
    dict[str, Any]: {"text": "x"},
    tuple[str, ...]: ("a", "b"),
    tuple[dict[str, Any], ...]: ({"n": 1}, {"n": 2}),
    Mapping[str, Any]: {"trigger": TRIGGERS[1], "content": None},
}
COMMANDS = [
    *((category, kind) for category, known in KINDS.items() for kind in known.classes),
    *((evidence.CATEGORY, kind) for kind, _ in EVIDENCE.values()),
]


def sample(wanted: Any) -> Any:
    """A value of an annotation that is no default of any command."""
    if wanted in SAMPLES:
        return SAMPLES[wanted]
    options = typing.get_args(wanted)
    if typing.get_origin(wanted) is Literal:
        return options[-1]
    if Delay in options:
        return TRIGGERS[1]
    assert isinstance(wanted, types.UnionType), wanted
    return sample(next(one for one in options if one not in {type(None), types.EllipsisType}))


def made(kind: type[RecordedCommand], *, in_full: bool) -> Any:
    """A command with all of its arguments, or with those alone that it needs."""
    hints = typing.get_type_hints(kind)
    needed = (f for f in fields(kind) if in_full or {f.default, f.default_factory} == {MISSING})
    return kind(**{one.name: sample(hints[one.name]) for one in needed})


def events_of(command: Any) -> list[Event]:
    """Events that have the fields to which the record of a command points."""
    arguments = decode(command.arguments())
    pointers = {n: said for n, said in arguments.items() if isinstance(said, dict)}
    one = {said["$event"]: getattr(command, n) for n, said in pointers.items() if "$event" in said}
    many = {
        said["$events"]: getattr(command, n) for n, said in pointers.items() if "$events" in said
    }
    if isinstance(command, TimerCommand):
        one["time_zone_data"] = command.time_zone_data
    if "changed" in one:
        one["changed"] = {**one["changed"], "trigger": {"kind": "resolved"}}
    kind = type("Made", (Event,), {"__annotations__": dict.fromkeys([*one, *many], Any)})
    size = len(next(iter(many.values()), [None]))
    return [
        kind(**one, **{n: values[number] for n, values in many.items()}) for number in range(size)
    ]


def read_again(command: Any, category: str, context: Context) -> tuple[CommandRecord, Any]:
    """The record of a command, and what is made of it."""
    record = record_in(decode(recorded(command, Origin("id"), context)))
    target = command.thread_id if hasattr(command, "thread_id") else ""
    known = EVIDENCE[type(command).EVENT] if category == evidence.CATEGORY else None
    name = getattr(command, known[1] if known else KINDS[category].target)
    stream_id = f"{category}:about:{name}" if known else f"{category}:{name}"
    return record, rebuilt(type(command), stream_id, record, events_of(command), Known(target))


@pytest.mark.parametrize("in_full", [True, False])
@pytest.mark.parametrize(("category", "kind"), COMMANDS)
def test_a_command_made_of_its_record_is_equal(
    *, category: str, kind: type[RecordedCommand], in_full: bool
) -> None:
    command = made(kind, in_full=in_full)
    assert read_again(command, category, Context(AT, AT))[1] == command


@pytest.mark.parametrize("trigger", TRIGGERS[1:])
def test_a_trigger_is_recorded_as_it_was_given(trigger: Any) -> None:
    command = made(Create, in_full=True)
    command.trigger = trigger
    again = read_again(command, "timer", Context(AT, AT))[1]
    assert (again.trigger, again) == (trigger, command)


def test_every_command_stands_in_the_table() -> None:
    found: set[type[Any]] = set()
    left: list[type[Any]] = [RecordedCommand]
    while left:
        left += (kinds := left.pop().__subclasses__())
        found |= {one for one in kinds if one.__module__.startswith("turnledger.domain")}
    named = {one for one in found if hasattr(one, "NAME")} - {evidence.KeepCommand}
    assert named == {kind for _, kind in COMMANDS}


def test_the_names_of_an_aggregates_commands_differ() -> None:
    for known in KINDS.values():
        names = [kind.NAME for kind in known.classes]
        assert len(set(names)) == len(names)


def test_the_time_and_the_limits_of_a_command_come_back() -> None:
    policy = RetryPolicy(max_attempts=3, base=timedelta(seconds=2), jitter=0)
    limits = Limits(max_claims=2, max_lease=timedelta(minutes=90), retry_policy=policy)
    context = Context(AT, AT + timedelta(seconds=30), limits)
    command = made(Create, in_full=True)
    record, _ = read_again(command, "timer", context)
    assert record.context(to_microseconds(context.recorded_at)) == context
    usual = Context(AT, AT)
    record, _ = read_again(command, "timer", usual)
    assert record.context(to_microseconds(AT)) == usual


@pytest.mark.parametrize(
    "metadata",
    [{}, {"command": None}, {"command": {"name": "x", "id": "y"}}, {"unreadable": "{"}],
)
def test_what_is_no_record_is_named(metadata: dict[str, Any]) -> None:
    with pytest.raises(NotRecorded, match="no command is recorded"):
        record_in(metadata)


def test_what_a_newer_release_recorded_is_named() -> None:
    [event] = events_of(made(Create, in_full=True))
    newer = CommandRecord("create", "id", {"colour": "blue"}, {"max_colours": 3}, None)
    with pytest.raises(NotRecorded, match="limits"):
        newer.context(0)
    with pytest.raises(NotRecorded, match="colour"):
        rebuilt(Create, "timer:t", newer, [event])
    with pytest.raises(NotRecorded, match="doesn't know the command paint of timer"):
        class_of("timer", newer._replace(name="paint"), event)
    damaged = newer._replace(arguments={"lease_seconds": "soon"}, limits={})
    with pytest.raises(NotRecorded, match="lease_seconds"):
        rebuilt(Create, "timer:t", damaged, [event])
