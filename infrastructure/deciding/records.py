"""What is recorded of a command: read back, with its pointers followed into its events."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from turnledger.domain.duration import from_microseconds
from turnledger.domain.event import Event, Metadata
from turnledger.domain.limits import DEFAULT_LIMITS, Context, Limits
from turnledger.domain.retry_policy import RetryPolicy

_NOWHERE = object()


class NotRecorded(Exception):
    """A record that this release can't make a command of.

    Attributes:
        reason: Why.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CommandRecord(NamedTuple):
    """What is recorded of a command, beside each of its events.

    Attributes:
        arguments: As they are stored: values, and pointers to fields of its events.
        limits: Those that weren't the usual ones.
        now: What the clock said, if that isn't when the events were recorded.
    """

    name: str
    id: str
    arguments: Mapping[str, Any]
    limits: Mapping[str, Any]
    now: str | None

    def context(self, recorded_at: int) -> Context:
        """By what it was judged.

        Args:
            recorded_at: When its events were recorded, in microseconds since 1970.

        Raises:
            NotRecorded: It says no time, or limits that this release doesn't know.
        """
        at = from_microseconds(recorded_at)
        try:
            now = at if self.now is None else datetime.fromisoformat(self.now)
            limits = _limits(self.limits) if self.limits else DEFAULT_LIMITS
        except (TypeError, ValueError) as error:
            raise NotRecorded(f"its time or its limits can't be read: {error}") from error
        return Context(now, at, limits)


def record_in(metadata: Metadata) -> CommandRecord:
    """The record of the command that led to an event.

    Raises:
        NotRecorded: There is none.
    """
    stored: Any = metadata.get("command")
    match stored:
        case {"name": str(name), "id": str(command_id), "arguments": dict(arguments)}:
            limits, now = stored.get("limits", {}), stored.get("now")
            return CommandRecord(name, command_id, arguments, limits, now)
        case _:
            msg = "no command is recorded beside it"
            raise NotRecorded(msg)


def resolved(
    arguments: Mapping[str, Any], events: Sequence[Event], earlier: Sequence[Event] = ()
) -> dict[str, Any]:
    """The arguments with their pointers followed.

    A pointer to a field is followed into the first event that has it. An argument whose field none
    of them has is left out: it didn't matter.

    Args:
        arguments: As they are recorded.
        events: All that the command led to in one stream, in order.
        earlier: Where a field stands that none of them has, since the command had to repeat it.
    """
    given = {name: _followed(stored, events, earlier) for name, stored in arguments.items()}
    return {name: value for name, value in given.items() if value is not _NOWHERE}


def _followed(stored: Any, events: Sequence[Event], earlier: Sequence[Event]) -> Any:
    match stored:
        case {"$event": str(name)} if len(stored) == 1:
            found = (*events, *earlier)
            having = (event for event in found if name in type(event).model_fields)
            return next((getattr(event, name) for event in having), _NOWHERE)
        case {"$events": str(name)} if len(stored) == 1:
            return tuple(getattr(event, name, None) for event in events)
        case _:
            return stored


def _limits(stored: Mapping[str, Any]) -> Limits:
    """The limits of a record; a lease is stored in seconds."""
    known: dict[str, Any] = dict(stored)
    if "max_lease" in known:
        known["max_lease"] = timedelta(seconds=known["max_lease"])
    if "retry_policy" in known:
        known["retry_policy"] = RetryPolicy.model_validate(known["retry_policy"])
    return Limits(**known)
