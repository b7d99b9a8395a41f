"""Events: what happened, in a form that is stored for ever.

An event is a frozen pydantic model with a stored name (`TOPIC`) and a schema version. Names and
fields are the storage format: add, never change. An `Envelope` is an event with its place in a
stream, as the `eventsourcing` library wants it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

from pydantic import AwareDatetime, BaseModel, ConfigDict

from turnledger.domain.payload import decode

Instant = AwareDatetime
Metadata = dict[str, Any]


class Event(BaseModel):
    """What happened to one aggregate. Subclasses set `TOPIC`, and add their fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    TOPIC: ClassVar[str]
    SCHEMA_VERSION: ClassVar[int] = 1


@dataclass(frozen=True, slots=True)
class Unknown:
    """A stored event that this release can't read: of a newer release, or damaged."""

    topic: str
    schema_version: int
    text: str
    reason: str


class Envelope(NamedTuple):
    """An event with its place: what the `eventsourcing` library calls a domain event.

    Attributes:
        originator_id: Its stream.
        originator_version: Its version in the stream.
        recorded_at: Microseconds since 1970, UTC: as it is stored.
    """

    originator_id: str
    originator_version: int
    event: Event | Unknown
    recorded_at: int
    metadata: Metadata


class Receipt(NamedTuple):
    """What a command with an idempotency key leaves behind."""

    scope: str
    idempotency_key: str
    command: str
    command_id: str
    content_hash: str


class Draft(NamedTuple):
    """An envelope on its way into the store.

    Attributes:
        metadata: As JSON text.
        receipt: What the command leaves behind; of its first event only.
    """

    originator_id: str
    originator_version: int
    event: Event
    recorded_at: int
    metadata: str
    receipt: Receipt | None = None


Upcast = Callable[[Any], Any]
NO_UPCASTS: Mapping[tuple[str, int], Upcast] = MappingProxyType({})


class EventRegistry:
    """Which stored name and schema version is which class.

    Attributes:
        writable: The classes whose events may be written.
    """

    def __init__(
        self, kinds: Iterable[type[Event]], upcasts: Mapping[tuple[str, int], Upcast] = NO_UPCASTS
    ) -> None:
        """Take the event classes of all aggregates, and how older forms become theirs.

        Args:
            kinds: The latest class of each stored name.
            upcasts: By the stored name and a schema version: what makes the data of the next
                version of it. A stored event is never rewritten; it is upcast whenever it is read.
        """
        self._kinds = {(kind.TOPIC, kind.SCHEMA_VERSION): kind for kind in kinds}
        self._validated = {
            name: kind.__pydantic_validator__.validate_json for name, kind in self._kinds.items()
        }
        self._upcasts = upcasts
        self.writable = frozenset(self._kinds.values())

    def upcast(self, topic: str, schema_version: int, said: Any) -> tuple[int, Any]:
        """The data of a stored event in its latest form, and which version that is."""
        version = schema_version
        while (topic, version) not in self._kinds and (topic, version) in self._upcasts:
            said, version = self._upcasts[topic, version](said), version + 1
        return version, said

    def read(self, topic: str, schema_version: int, text: str) -> Event | Unknown:
        """Read a stored event; one that can't be read comes back as `Unknown`, never lost."""
        validated = self._validated.get((topic, schema_version))
        if validated is None and (topic, schema_version) not in self._upcasts:
            reason = f"this release doesn't know {topic} version {schema_version}"
            return Unknown(topic, schema_version, text, reason)
        try:
            if validated is not None:
                if "NaN" in text or "Infinity" in text:
                    decode(text)  # which refuses them as numbers; in the text of others they may be
                event: Event = validated(text)
                return event
            version, said = self.upcast(topic, schema_version, decode(text))
            return self._kinds[topic, version].model_validate(said)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            reason = f"damaged: {str(error).splitlines()[0]}"
            return Unknown(topic, schema_version, text, reason)
