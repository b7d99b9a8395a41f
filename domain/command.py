"""Commands: what is wished. A command is recorded with the events that it leads to.

The record holds the command's arguments, so that it can be decided again later. An argument that
stands in the event itself is a pointer, so that no payload is stored twice: `{"$event": "field"}`
is that field of the first of the command's events in the stream that has it, `{"$events": "field"}`
the fields of all of them, in order; a field that none of them has didn't matter. What a command is
about stands in the name of its stream.
"""

from typing import Any, ClassVar

from turnledger.domain.payload import encode
from turnledger.domain.value import value


def event_field(name: str) -> dict[str, str]:
    """The pointer to a field of the event beside it."""
    return {"$event": name}


def event_fields(name: str) -> dict[str, str]:
    """The pointer to a field of each of the command's events."""
    return {"$events": name}


def event_record(*names: str) -> dict[str, Any]:
    """The record of arguments that all stand in the event, under the same names."""
    return {name: event_field(name) for name in names}


def claim_record(owner: str, **said: Any) -> str:
    """The record of a command that shows a claim, as JSON text; its epoch stands in the event."""
    return encode({"owner": owner, "epoch": event_field("epoch"), **said})


@value
class RecordedCommand:
    """What is wished, as it is recorded. Subclasses set `NAME`, and add their arguments."""

    NAME: ClassVar[str]
    RECORD: ClassVar[dict[str, Any]] = {}  # the arguments, where all are pointers
    RECORD_TEXT: ClassVar[str] = "{}"

    def __init_subclass__(cls) -> None:
        """Write the record once: it goes beside every event."""
        cls.RECORD_TEXT = encode(cls.RECORD)

    def arguments(self) -> str:
        """The arguments as they are recorded: JSON text, with pointers."""
        return self.RECORD_TEXT


@value
class Command(RecordedCommand):
    """What is wished of one thread."""

    thread_id: str
