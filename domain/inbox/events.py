"""The events of a thread's inbox. Names and fields are the storage format: add, never change."""

from typing import Any

from turnledger.domain.event import Event, Instant

CATEGORY = "inbox"


def stream_id(thread_id: str) -> str:
    """The stream that holds a thread's inbox."""
    return f"{CATEGORY}:{thread_id}"


class Inbox:
    """The events, under the name of their aggregate: `Inbox.Posted` and so on."""

    class Posted(Event):
        """A message came. A newer release may know deliveries that this one doesn't."""

        TOPIC = "inbox.posted"
        message_id: str
        arrival: int
        content: Any
        source: str
        delivery: str
        instructions: Any
        metadata: dict[str, Any]
        created_at: Instant
        queued_at: Instant | None = None

    class Claimed(Event):
        """An owner took the oldest message, for the time of a lease."""

        TOPIC = "inbox.claimed"
        message_id: str
        owner: str
        epoch: int
        expires_at: Instant
        claims: int
        deliveries: int

    class Confirmed(Event):
        """The message was delivered."""

        TOPIC = "inbox.confirmed"
        message_id: str
        epoch: int

    class Released(Event):
        """The owner gave the message back undelivered."""

        TOPIC = "inbox.released"
        message_id: str
        epoch: int

    class Recovered(Event):
        """A claim ended without a word: the message waits again, and may be delivered twice."""

        TOPIC = "inbox.recovered"
        message_id: str
        epoch: int

    class Expired(Event):
        """A claim ended, and the message isn't handed out again by itself: it is undelivered."""

        TOPIC = "inbox.expired"
        message_id: str
        epoch: int
        deliveries: int
        reason: str

    class Requeued(Event):
        """Somebody brought an undelivered message back on purpose."""

        TOPIC = "inbox.requeued"
        message_id: str

    class Deleted(Event):
        """A message was taken out that waited, or was undelivered."""

        TOPIC = "inbox.deleted"
        message_id: str
        undelivered: bool

    class Rejected(Event):
        """The oldest message can't be delivered by this release."""

        TOPIC = "inbox.rejected"
        message_id: str
        reason: str

    class Cleared(Event):
        """Everything that was in the inbox ended, and what was in flight was fenced off."""

        TOPIC = "inbox.cleared"
        waiting: int
        undelivered: int
        in_flight_id: str | None


EVENTS: tuple[type[Event], ...] = (
    Inbox.Posted,
    Inbox.Claimed,
    Inbox.Confirmed,
    Inbox.Released,
    Inbox.Recovered,
    Inbox.Expired,
    Inbox.Requeued,
    Inbox.Deleted,
    Inbox.Rejected,
    Inbox.Cleared,
)
