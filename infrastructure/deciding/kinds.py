"""Which class a recorded command is of, how it is made anew, and how it is decided."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from turnledger.domain import (
    coordinator_turn,
    evidence,
    inbox,
    operation,
    run,
    thread,
    thread_queue,
    timer,
    work_item,
)
from turnledger.domain.command import RecordedCommand
from turnledger.domain.coordinator_turn import CoordinatorTurn
from turnledger.domain.coordinator_turn import commands as turns
from turnledger.domain.errors import InvalidTrigger
from turnledger.domain.event import Event
from turnledger.domain.inbox import commands as messages
from turnledger.domain.limits import Context
from turnledger.domain.operation import Operation
from turnledger.domain.operation import commands as operations
from turnledger.domain.run import commands as runs
from turnledger.domain.thread_queue import commands as queued
from turnledger.domain.timer import Timer
from turnledger.domain.timer import commands as timers
from turnledger.domain.trigger import as_trigger
from turnledger.infrastructure.deciding.records import CommandRecord, NotRecorded, resolved

Decide = Callable[[Any, Any, Context], Sequence[Event]]
Classes = tuple[type[RecordedCommand], ...]


class Kind(NamedTuple):
    """The commands of an aggregate.

    Attributes:
        classes: All of them.
        target: The field that the name of the stream gives.
        decide: What the aggregate answers, by its state, the command and the context.
    """

    classes: Classes
    target: str
    decide: Decide


class Known(NamedTuple):
    """What was known before a command, and is in no record of it.

    Attributes:
        thread_id: Of a timer: its thread.
        earlier: Of an operation that hasn't begun: the event that created it.
    """

    thread_id: str = ""
    earlier: tuple[Event, ...] = ()


UNKNOWN = Known()

KINDS: dict[str, Kind] = {
    thread_queue.CATEGORY: Kind(
        (
            *(queued.Append, queued.AppendMany, queued.Edit, queued.Delete, queued.Clear),
            *(queued.Reorder, queued.ClaimHead, queued.Renew, queued.Release, queued.StartDispatch),
            *(queued.Ack, queued.AckDispatch, queued.Fail, queued.Retry, queued.Resolve),
            *(queued.Pause, queued.Resume, queued.Recover, queued.FailInFlight),
        ),
        "thread_id",
        thread_queue.decide,
    ),
    thread.CATEGORY: Kind(
        (thread.Archive, thread.Unarchive, thread.Delete, thread.Fork), "thread_id", thread.decide
    ),
    inbox.CATEGORY: Kind(
        (
            *(messages.Post, messages.Delete, messages.ClaimNext, messages.Confirm),
            *(messages.Release, messages.Recover, messages.Requeue, messages.Clear),
        ),
        "thread_id",
        inbox.decide,
    ),
    timer.CATEGORY: Kind(
        (
            *(timers.Create, timers.Update, timers.Pause, timers.Resume, timers.Delete),
            *(timers.MarkDue, timers.Fire, timers.Recompute),
        ),
        "timer_id",
        timer.decide,
    ),
    coordinator_turn.CATEGORY: Kind(
        (
            *(turns.Begin, turns.Claim, turns.ClaimNext, turns.Resume, turns.Renew, turns.Release),
            *(turns.Prepare, turns.StartDispatch, turns.Respond, turns.Refuse, turns.Reject),
            *(turns.Resolve, turns.Complete, turns.Fail, turns.Ack, turns.Cancel, turns.Recover),
        ),
        "turn_id",
        coordinator_turn.decide,
    ),
    work_item.CATEGORY: Kind(
        (work_item.Enter, work_item.Settle, work_item.Touch),
        "work_item_id",
        lambda state, command, _context: work_item.decide(state, command),
    ),
    run.CATEGORY: Kind((runs.Start, runs.Renew, runs.Finish, runs.Interrupt), "run_id", run.decide),
    operation.CATEGORY: Kind(
        (
            *(operations.Create, operations.Claim, operations.CreateAndClaim, operations.Complete),
            *(operations.RequestCancel, operations.Recover, operations.Resolve),
        ),
        "key",
        operation.decide,
    ),
}
EVIDENCE: dict[type[Event], tuple[type[evidence.KeepCommand], str]] = {
    evidence.Keep.EVENT: (evidence.Keep, "thread_id"),
    evidence.KeepOfMessage.EVENT: (evidence.KeepOfMessage, "thread_id"),
    evidence.KeepOfTurn.EVENT: (evidence.KeepOfTurn, "turn_id"),
    evidence.KeepOfRun.EVENT: (evidence.KeepOfRun, "run_id"),
    evidence.KeepOfOperation.EVENT: (evidence.KeepOfOperation, "key"),
}
_CLASSES = {category: {one.NAME: one for one in kind.classes} for category, kind in KINDS.items()}

# The commands that can lead to more than one event in a stream: whether this was the last one.
_ENDS: dict[type[RecordedCommand], Callable[[Mapping[str, Any], Event], bool]] = {
    queued.AppendMany: lambda _arguments, _event: False,
    timers.Resume: lambda _arguments, event: isinstance(event, Timer.Skipped),
    timers.Fire: lambda _arguments, event: isinstance(event, Timer.Fired | Timer.Skipped),
    turns.Begin: lambda arguments, event: (
        isinstance(event, CoordinatorTurn.Claimed) or arguments.get("owner") is None
    ),
    turns.Resume: lambda _arguments, event: isinstance(event, CoordinatorTurn.Claimed),
    turns.Recover: lambda _arguments, event: isinstance(event, CoordinatorTurn.Recovered),
    operations.CreateAndClaim: lambda _arguments, event: isinstance(event, Operation.Claimed),
}


def class_of(category: str, record: CommandRecord, event: Event) -> type[RecordedCommand]:
    """The class of a recorded command.

    Args:
        category: Of the stream.
        record: What is recorded of it.
        event: The first that it led to there.

    Raises:
        NotRecorded: This release knows no such command.
    """
    known: type[RecordedCommand] | None
    if category == evidence.CATEGORY and record.name == evidence.KeepCommand.NAME:
        known = EVIDENCE[type(event)][0] if type(event) in EVIDENCE else None
    else:
        known = _CLASSES.get(category, {}).get(record.name)
    if known is None:
        raise NotRecorded(f"this release doesn't know the command {record.name} of {category}")
    return known


def is_complete(kind: type[RecordedCommand], record: CommandRecord, event: Event) -> bool:
    """Whether no further event of a command comes in a stream behind this one."""
    ends = _ENDS.get(kind)
    return ends is None or ends(record.arguments, event)


def rebuilt(
    kind: type[RecordedCommand],
    stream_id: str,
    record: CommandRecord,
    events: Sequence[Event],
    known: Known = UNKNOWN,
) -> Any:
    """A command as it was decided.

    Args:
        kind: Its class.
        stream_id: Where its events are.
        record: What is recorded of it.
        events: All that it led to there, in order.
        known: What is in no record, since it was known before.

    Raises:
        NotRecorded: The record doesn't fit the class.
    """
    given = _converted(resolved(record.arguments, events, known.earlier))
    category, _, name = stream_id.partition(":")
    if issubclass(kind, evidence.KeepCommand):
        given.setdefault(EVIDENCE[kind.EVENT][1], name.partition(":")[2])
    else:
        given[KINDS[category].target] = name
    if issubclass(kind, timers.TimerCommand):
        given["time_zone_data"] = _time_zone_data(events)
        given.setdefault("thread_id", known.thread_id)
    if issubclass(kind, timers.Update | timers.Fire):
        given |= _changes(given)
    for missing in _needed(kind) - given.keys():
        given[missing] = None  # its field is in no event, so it didn't matter
    try:
        return kind(**given)
    except TypeError as error:
        raise NotRecorded(f"its arguments aren't those of {record.name}: {error}") from error


def decided(category: str, state: Any, command: Any, context: Context) -> Sequence[Event]:
    """What today's code answers.

    Raises:
        LedgerError: It refuses the command.
    """
    if category == evidence.CATEGORY:
        return evidence.decide(state, command)
    return KINDS[category].decide(state, command, context)


def _time_zone_data(events: Sequence[Event]) -> str:
    """By which version it was computed; an event that changes something else says an older one."""
    said = [getattr(event, "time_zone_data", "") for event in events]
    return next((one for one in reversed(said) if one), "")


def _converted(given: dict[str, Any]) -> dict[str, Any]:
    """JSON values as the classes have them."""
    for name in _CONVERSIONS.keys() & given.keys():
        wanted, convert = _CONVERSIONS[name]
        stored = given.pop(name)
        try:
            given[wanted] = None if stored is None else convert(stored)
        except (TypeError, ValueError, OverflowError, InvalidTrigger) as error:
            raise NotRecorded(f"its {name} can't be read: {error}") from error
    return given


def _changes(given: dict[str, Any]) -> dict[str, Any]:
    """What a timer's command changes, with the trigger as it was given: the event resolved it."""
    changed, trigger = dict(given.pop("changed", {})), given.pop("trigger", None)
    if trigger is not None:
        changed["trigger"] = trigger
    return {"changed": changed} if changed else {}


def _needed(kind: type[RecordedCommand]) -> frozenset[str]:
    """The arguments that have no default."""
    if kind not in _NEEDED:
        _NEEDED[kind] = frozenset(
            one.name
            for one in fields(kind)
            if one.default is MISSING and one.default_factory is MISSING
        )
    return _NEEDED[kind]


_NEEDED: dict[type[RecordedCommand], frozenset[str]] = {}
_CONVERSIONS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "lease_seconds": ("lease", lambda seconds: timedelta(seconds=seconds)),
    "retry_at": ("retry_at", datetime.fromisoformat),
    "expected_last_run_at": ("expected_last_run_at", datetime.fromisoformat),
    "trigger": ("trigger", as_trigger),
}
