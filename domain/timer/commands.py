"""The commands of a timer: what is wished, checked and complete."""

from collections.abc import Mapping
from datetime import datetime
from types import EllipsisType
from typing import Any, ClassVar

from turnledger.domain.command import Command, event_field, event_record
from turnledger.domain.payload import encode
from turnledger.domain.trigger import Trigger, in_timezone
from turnledger.domain.value import value

_OWNER = event_field("owner")


@value
class TimerCommand(Command):
    """A command of one timer; which one stands in the name of its stream."""

    COUNTS: ClassVar[bool] = False  # it needs to know how many timers the thread has

    timer_id: str
    time_zone_data: str = ""


@value
class Create(TimerCommand):
    """Set a timer."""

    NAME = "create"
    COUNTS = True
    trigger: Trigger
    timezone: str = "UTC"  # of a trigger that says none
    content: Any
    instructions: Any = None
    metadata: dict[str, Any]
    delivery: str = "after-turn"
    source: str = "host"
    client_id: str | None = None

    def given_trigger(self) -> dict[str, Any]:
        """The trigger as it was given: what it doesn't say is missing, in the event it isn't."""
        return _as_given(self.trigger)

    def arguments(self) -> str:
        """The trigger as it was given, and in which timezone; the rest stands in the event."""
        names = ("thread_id", "content", "instructions", "metadata", "source", "client_id")
        given: dict[str, Any] = {"trigger": self.given_trigger(), "delivery": self.delivery}
        if in_timezone(self.trigger, self.timezone) != self.trigger:
            given["timezone"] = self.timezone
        return encode({**event_record(*names), **given})


@value
class Update(TimerCommand):
    """Give some of its fields other values."""

    NAME = "update"
    changed: Mapping[str, Any]

    def arguments(self) -> str:
        """What was named stands in the event, as far as it was another value; see `_changes`."""
        return encode(_changes(self.changed))


@value
class Pause(TimerCommand):
    """Let it not fire."""

    NAME = "pause"


@value
class Resume(TimerCommand):
    """Let it fire again."""

    NAME = "resume"


@value
class Delete(TimerCommand):
    """End it."""

    NAME = "delete"


@value
class MarkDue(TimerCommand):
    """Say that its next run has come."""

    NAME = "mark_due"


@value
class Fire(TimerCommand):
    """Consume the occurrence that has come."""

    NAME = "claim"
    owner: str
    expected_last_run_at: datetime | EllipsisType | None = ...  # None says something
    changed: Mapping[str, Any] | None = None
    message_id: str | None = None

    def arguments(self) -> str:
        """The owner and the message stand in the event, and so does what changed."""
        given: dict[str, Any] = {"owner": _OWNER, "message_id": event_field("message_id")}
        given |= _changes(self.changed) if self.changed else {}
        if self.expected_last_run_at is ...:
            return encode(given)
        return encode({**given, "expected_last_run_at": self.expected_last_run_at})


@value
class Recompute(TimerCommand):
    """Compute its next run by other time zone data."""

    NAME = "recompute"


def _changes(changed: Mapping[str, Any]) -> dict[str, Any]:
    """Where the fields stand that get other values; of a trigger, the event has it resolved."""
    record: dict[str, Any] = {"changed": event_field("changed")}
    if "trigger" in changed:
        record["trigger"] = _as_given(changed["trigger"])
    return record


def _as_given(trigger: Trigger) -> dict[str, Any]:
    return trigger.model_dump(mode="json", exclude_none=True)
