"""The commands of a thread's inbox: what is wished, checked and complete.

`READS` names what is needed of single messages to decide: none, the oldest that waits (with its
content), or the one that the command names.
"""

from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal

from turnledger.domain.command import Command, claim_record, event_record
from turnledger.domain.inbox.values import RecoveryMode
from turnledger.domain.payload import encode
from turnledger.domain.value import value

Reads = Literal["nothing", "oldest", "message"]


@value
class InboxCommand(Command):
    """A command of a thread's inbox."""

    READS: ClassVar[Reads] = "nothing"


@value
class Post(InboxCommand):
    """Put a message in, at its place in (queued_at, arrival)."""

    NAME = "post"
    RECORD = event_record(
        *("message_id", "content", "source", "delivery", "instructions", "metadata", "queued_at")
    )
    message_id: str
    content: Any
    source: str
    delivery: str = "after-turn"
    instructions: Any = None
    metadata: dict[str, Any]
    queued_at: datetime | None = None


@value
class Delete(InboxCommand):
    """Take a message out that waits, or is undelivered."""

    NAME = "delete"
    READS = "message"
    RECORD = event_record("message_id")
    message_id: str


@value
class ClaimNext(InboxCommand):
    """Take the oldest message for the time of a lease, if it can be delivered now."""

    NAME = "claim_next"
    READS = "oldest"
    owner: str
    lease: timedelta
    can_after_turn: bool
    can_steer_current_turn: bool

    def arguments(self) -> str:
        """The lease in seconds; an owner doesn't stand in the event of a rejection."""
        return encode(
            {
                "owner": self.owner,
                "lease_seconds": self.lease.total_seconds(),
                "can_after_turn": self.can_after_turn,
                "can_steer_current_turn": self.can_steer_current_turn,
            }
        )


@value
class ClaimCommand(InboxCommand):
    """A command that must show a claim."""

    owner: str
    epoch: int

    def arguments(self) -> str:
        """The epoch stands in the event."""
        return claim_record(self.owner)


@value
class Confirm(ClaimCommand):
    """Say that the message was delivered."""

    NAME = "confirm"


@value
class Release(ClaimCommand):
    """Give a message back that wasn't delivered."""

    NAME = "release"


@value
class Recover(InboxCommand):
    """End a claim that is over."""

    NAME = "recover"
    mode: RecoveryMode = "at_most_once"

    def arguments(self) -> str:
        """What is to become of the message."""
        return encode({"mode": self.mode})


@value
class Requeue(InboxCommand):
    """Bring an undelivered message back."""

    NAME = "requeue"
    READS = "message"
    RECORD = event_record("message_id")
    message_id: str


@value
class Clear(InboxCommand):
    """End everything in the inbox; for the deletion of its thread."""

    NAME = "clear"
