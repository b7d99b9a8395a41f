"""Each recorded command decided again, on what it was decided on then."""

from dataclasses import dataclass, field
from typing import Any

from turnledger.domain import timer
from turnledger.domain.command import RecordedCommand
from turnledger.domain.errors import LedgerError
from turnledger.domain.event import Envelope, Event, Unknown
from turnledger.domain.trigger import time_zone
from turnledger.infrastructure.deciding.kinds import Known, class_of, decided, is_complete, rebuilt
from turnledger.infrastructure.deciding.records import CommandRecord, NotRecorded, record_in
from turnledger.infrastructure.deciding.states import States
from turnledger.replaying.report import (
    Difference,
    ReplayedEvent,
    ReplayReport,
    Unread,
    first_difference,
    shown,
)

_MOST_DIFFERENCES = 50
_MOST_OPEN = 256  # commands whose last event hasn't been seen yet: on a server others come between
_BROKEN = (ValueError, KeyError, IndexError, TypeError, AttributeError)


@dataclass(slots=True)
class _Part:
    """What one command led to in one stream, as far as it was seen.

    Attributes:
        state: What it was decided on.
        known: What is in no record of it.
    """

    position: int
    stream_id: str
    kind: type[RecordedCommand]
    record: CommandRecord
    recorded_at: int
    state: Any
    known: Known
    events: list[Event] = field(default_factory=list)


@dataclass(slots=True)
class _Passed:
    """An `Unread` that is still counted."""

    position: int
    stream_id: str
    damaged: bool
    events: int = 0


class DecidingAgain:
    """Takes events in the order of their positions, and decides their commands again.

    Attributes:
        events: How many were taken.
    """

    def __init__(self) -> None:
        """Start before the first event."""
        self.events = 0
        self._states = States()
        self._open: dict[str, _Part] = {}  # by stream
        self._closed: dict[str, str] = {}  # why a stream isn't looked at any further
        self._passed: dict[tuple[str, str], _Passed] = {}
        self._commands = self._same = self._different = 0
        self._differences: list[Difference] = []
        self._zoned: dict[str, tuple[int, int]] = {}  # first position and count, by version

    def add(self, position: int, envelope: Envelope) -> None:
        """Take the next event."""
        self.events += 1
        stream_id, event = envelope.originator_id, envelope.event
        if stream_id in self._closed:
            self._pass(position, stream_id, self._closed[stream_id])
        elif isinstance(event, Unknown):
            self.close(
                position, stream_id, event.reason, damaged=event.reason.startswith("damaged")
            )
        else:
            self._take(position, stream_id, event, envelope)

    def close(self, position: int, stream_id: str, reason: str, *, damaged: bool) -> None:
        """Look at a stream no further: an event in it can't be read, or trusted."""
        self._end(stream_id)
        reason = self._closed.setdefault(stream_id, reason)
        self._pass(position, stream_id, reason, damaged=damaged)

    def report(self) -> ReplayReport:
        """What came of it, once all events were taken."""
        for stream_id in list(self._open):
            self._end(stream_id)
        unread = tuple(
            Unread(
                position=one.position,
                stream_id=one.stream_id,
                reason=reason,
                events=one.events,
                damaged=one.damaged,
            )
            for (_, reason), one in self._passed.items()
        )
        return ReplayReport(
            ok=not self._different and not any(one.damaged for one in unread),
            events=self.events,
            commands=self._commands,
            same=self._same,
            different=self._different,
            differences=tuple(sorted(self._differences, key=lambda one: one.position)),
            unread=tuple(sorted(unread, key=lambda one: one.position)),
            notes=tuple(_note(version, *seen) for version, seen in sorted(self._zoned.items())),
        )

    def _take(self, position: int, stream_id: str, event: Event, envelope: Envelope) -> None:
        part = self._part(position, stream_id, event, envelope)
        try:
            self._states.fold(stream_id, event, envelope.recorded_at)
        except _BROKEN as error:
            self._open.pop(stream_id, None)
            reason = f"{event.TOPIC} can't follow what came before it: {error}"
            self.close(position, stream_id, reason, damaged=True)
            return
        if part is None:
            return
        part.events.append(event)
        if is_complete(part.kind, part.record, event):
            self._end(stream_id)
        elif len(self._open) > _MOST_OPEN:
            self._end(next(iter(self._open)))

    def _part(
        self, position: int, stream_id: str, event: Event, envelope: Envelope
    ) -> _Part | None:
        """The command's part to which an event belongs; None if it can't be decided again."""
        try:
            record = record_in(envelope.metadata)
            part = self._open.get(stream_id)
            if part is not None and (part.record.id, part.record.name) == (record.id, record.name):
                return part
            self._end(stream_id)
            kind = class_of(stream_id.partition(":")[0], record, event)
        except NotRecorded as error:
            self._end(stream_id)
            self._pass(position, stream_id, error.reason)
            return None
        for other in self._states.depends_on(stream_id, event):
            if other in self._closed:
                self._pass(position, stream_id, f"it depends on {other}: {self._closed[other]}")
                return None
        before = self._states.before(stream_id, event)
        known = self._states.known(stream_id, before)
        part = _Part(position, stream_id, kind, record, envelope.recorded_at, before, known)
        self._open[stream_id] = part
        return part

    def _end(self, stream_id: str) -> None:
        """Decide the command again whose events in a stream have all been seen."""
        part = self._open.pop(stream_id, None)
        if part is None:
            return
        try:
            context = part.record.context(part.recorded_at)
            command = rebuilt(part.kind, stream_id, part.record, part.events, part.known)
        except NotRecorded as error:
            self._pass(part.position, stream_id, error.reason, events=len(part.events))
            return
        answered: list[Event] = []
        refusal: str | None = None
        try:
            category = stream_id.partition(":")[0]
            answered = list(decided(category, part.state, command, context))
        except LedgerError as error:
            refusal = f"{error.code}: {error.message}"
        except Exception as error:  # noqa: BLE001 - code that fails answers otherwise, too
            refusal = f"{type(error).__name__}: {error}"
        self._commands += 1
        if refusal is None and answered == part.events:
            self._same += 1
        else:
            self._differs(part, shown(answered), refusal)

    def _differs(
        self, part: _Part, answered: tuple[ReplayedEvent, ...], refusal: str | None
    ) -> None:
        version = _other_time_zone_data(part)
        if version is not None:
            first, count = self._zoned.get(version, (part.position, 0))
            self._zoned[version] = (first, count + 1)
            return
        self._different += 1
        if len(self._differences) == _MOST_DIFFERENCES:
            return
        recorded = shown(part.events)
        path, was, now = first_difference(recorded, answered)
        self._differences.append(
            Difference(
                position=part.position,
                stream_id=part.stream_id,
                command=part.record.name,
                command_id=part.record.id,
                recorded=recorded,
                answered=answered,
                refusal=refusal,
                field=path,
                recorded_value=was,
                answered_value=now,
            )
        )

    def _pass(
        self, position: int, stream_id: str, reason: str, *, damaged: bool = False, events: int = 1
    ) -> None:
        passed = _Passed(position, stream_id, damaged)
        known = self._passed.setdefault((stream_id, reason), passed)
        known.events += events


def _other_time_zone_data(part: _Part) -> str | None:
    """The version by which a timer's command was computed, if it is another one than of now."""
    if part.stream_id.partition(":")[0] != timer.CATEGORY:
        return None
    said = {str(getattr(event, "time_zone_data", "")) for event in part.events}
    others = (said | {part.state.time_zone_data}) - {"", time_zone.VERSION}
    return min(others, default=None)


def _note(version: str, first: int, count: int) -> str:
    commands = "1 command" if count == 1 else f"{count:,} commands"
    return (
        f"{commands} of timers, the first at position {first}, went by time zone data {version}, "
        f"and would be answered otherwise by {time_zone.VERSION}"
    )
