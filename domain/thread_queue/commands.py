"""The commands of a thread's queue: what is wished, checked and complete.

`READS` names what is needed of single turns, to decide and to know the head afterwards: nothing,
the head, the head with its submission (work), one turn (and the first two), all visible ones, or
whether a dispatch id was used.
"""

from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal

from turnledger.domain.command import Command, event_field, event_fields, event_record
from turnledger.domain.payload import encode
from turnledger.domain.value import value

_OWNER, _EPOCH = encode(event_field("owner")), encode(event_field("epoch"))
_FAILURE = encode(event_record("failure", "outcome_unknown", "altered"))[1:]

EXPIRED = "outcome unknown after the claim expired"  # what a recovered dispatch failed of

Reads = Literal["nothing", "head", "work", "turn", "visible", "dispatch"]


@value
class QueueCommand(Command):
    """A command of a thread's queue."""

    READS: ClassVar[Reads] = "nothing"
    KEEPS_HEAD: ClassVar[bool] = False  # of a queue in which something is visible


@value
class Append(QueueCommand):
    """Put a submission behind everything that is there."""

    NAME = "append"
    KEEPS_HEAD = True
    RECORD = event_record("queued_turn_id", "submission", "not_before")
    queued_turn_id: str
    submission: dict[str, Any]
    not_before: datetime | None = None


@value
class AppendMany(QueueCommand):
    """Put submissions behind everything that is there, in order, all or none."""

    NAME = "append_many"
    KEEPS_HEAD = True
    RECORD: ClassVar[dict[str, Any]] = {
        "queued_turn_ids": event_fields("queued_turn_id"),
        "submissions": event_fields("submission"),
    }
    queued_turn_ids: tuple[str, ...]
    submissions: tuple[dict[str, Any], ...]


@value
class Edit(QueueCommand):
    """Give a visible turn another submission."""

    NAME = "edit"
    KEEPS_HEAD = True
    READS = "turn"
    RECORD = event_record("queued_turn_id", "submission")
    queued_turn_id: str
    submission: dict[str, Any]


@value
class Delete(QueueCommand):
    """Take a visible turn out."""

    NAME = "delete"
    READS = "turn"
    RECORD = event_record("queued_turn_id")
    queued_turn_id: str


@value
class Clear(QueueCommand):
    """Take every visible turn out, and fence off what is in flight."""

    NAME = "clear"
    READS = "visible"


@value
class Reorder(QueueCommand):
    """Put the visible turns in another order."""

    NAME = "reorder"
    READS = "visible"
    RECORD = event_record("queued_turn_ids")
    queued_turn_ids: tuple[str, ...]


@value
class ClaimHead(QueueCommand):
    """Take the head of the queue for the time of a lease."""

    NAME = "claim_head"
    READS = "work"
    owner: str
    lease: timedelta

    def arguments(self) -> str:
        """The owner stands in the event; the lease in seconds."""
        return f'{{"owner":{_OWNER},"lease_seconds":{self.lease.total_seconds()}}}'


@value
class ClaimCommand(QueueCommand):
    """A command that must show a claim."""

    owner: str
    epoch: int

    def arguments(self) -> str:
        """The epoch stands in the event."""
        return f'{{"owner":{encode(self.owner)},"epoch":{_EPOCH}}}'


@value
class Renew(ClaimCommand):
    """Give the lease a new end."""

    NAME = "renew"
    lease: timedelta

    def arguments(self) -> str:
        """The claim, and the lease in seconds."""
        claim = ClaimCommand.arguments(self)[:-1]
        return f'{claim},"lease_seconds":{self.lease.total_seconds()}}}'


@value
class Release(ClaimCommand):
    """Give a turn back that wasn't dispatched."""

    NAME = "release"


@value
class StartDispatch(ClaimCommand):
    """Record that the hand-over is about to be made."""

    NAME = "start_dispatch"
    READS = "dispatch"
    RECORD = event_record("owner", "epoch", "dispatch_id")
    dispatch_id: str

    def arguments(self) -> str:
        """All of it stands in the event."""
        return self.RECORD_TEXT


@value
class Ack(ClaimCommand):
    """Say that the dispatch took effect."""

    NAME = "ack"
    READS = "head"


@value
class AckDispatch(QueueCommand):
    """Say that a dispatch took effect, for a host that only knows its id."""

    NAME = "ack_dispatch"
    READS = "head"
    RECORD = event_record("dispatch_id")
    dispatch_id: str


@value
class Fail(ClaimCommand):
    """Say that the turn failed."""

    NAME = "fail"
    failure: Any
    outcome_unknown: bool = False
    altered: bool = False

    def arguments(self) -> str:
        """The claim; the rest stands in the event."""
        return f"{ClaimCommand.arguments(self)[:-1]},{_FAILURE}"


@value
class Retry(QueueCommand):
    """Let a failed turn wait again."""

    NAME = "retry"
    READS = "turn"
    RECORD = event_record("queued_turn_id")
    queued_turn_id: str


@value
class Resolve(QueueCommand):
    """Decide what became of a dispatch whose outcome is unknown."""

    NAME = "resolve"
    READS = "turn"
    RECORD = event_record("queued_turn_id", "decision", "by", "evidence", "altered")
    queued_turn_id: str
    decision: Literal["acked", "retry"]
    by: str
    evidence: Any = None
    altered: bool = False


@value
class Pause(QueueCommand):
    """Give out no claims until the queue is resumed."""

    NAME = "pause"
    RECORD = event_record("reason", "altered")
    reason: str
    altered: bool = False


@value
class Resume(QueueCommand):
    """Give out claims again."""

    NAME = "resume"
    READS = "head"


@value
class Recover(QueueCommand):
    """End a stale claim: the lease is over, or a former owner held it."""

    NAME = "recover"
    owner: str | None = None
    failure: Any = EXPIRED
    altered: bool = False

    def arguments(self) -> str:
        """The former owner; the failure stands in the event, if the turn failed."""
        return encode({"owner": self.owner, **event_record("failure", "altered")})


@value
class FailInFlight(QueueCommand):
    """Fail what is in flight, live or not."""

    NAME = "fail_in_flight"
    RECORD = event_record("failure", "altered")
    failure: Any
    altered: bool = False
