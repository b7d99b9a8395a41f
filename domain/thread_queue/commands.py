"""The commands of a thread's queue: what is wished, checked and complete.

`READS` names what is needed of single turns, to decide and to know the head afterwards: nothing,
the head, one turn (and the first two), all visible ones, or whether a dispatch id was used.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal

from turnledger.domain.command import Command, event_field, event_fields, event_record

_OWNER, _EPOCH = event_field("owner"), event_field("epoch")

EXPIRED = "outcome unknown after the claim expired"  # what a recovered dispatch failed of

Reads = Literal["nothing", "head", "turn", "visible", "dispatch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCommand(Command):
    """A command of a thread's queue."""

    READS: ClassVar[Reads] = "nothing"
    KEEPS_HEAD: ClassVar[bool] = False  # of a queue in which something is visible


@dataclass(frozen=True, slots=True, kw_only=True)
class Append(QueueCommand):
    """Put a submission behind everything that is there."""

    NAME = "append"
    KEEPS_HEAD = True
    RECORD = event_record("queued_turn_id", "submission", "not_before")
    queued_turn_id: str
    submission: dict[str, Any]
    not_before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit(QueueCommand):
    """Give a visible turn another submission."""

    NAME = "edit"
    KEEPS_HEAD = True
    READS = "turn"
    RECORD = event_record("queued_turn_id", "submission")
    queued_turn_id: str
    submission: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(QueueCommand):
    """Take a visible turn out."""

    NAME = "delete"
    READS = "turn"
    RECORD = event_record("queued_turn_id")
    queued_turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clear(QueueCommand):
    """Take every visible turn out, and fence off what is in flight."""

    NAME = "clear"
    READS = "visible"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reorder(QueueCommand):
    """Put the visible turns in another order."""

    NAME = "reorder"
    READS = "visible"
    RECORD = event_record("queued_turn_ids")
    queued_turn_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimHead(QueueCommand):
    """Take the head of the queue for the time of a lease."""

    NAME = "claim_head"
    READS = "head"
    owner: str
    lease: timedelta

    def arguments(self) -> dict[str, Any]:
        """The owner stands in the event; the lease in seconds."""
        return {"owner": _OWNER, "lease_seconds": self.lease.total_seconds()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCommand(QueueCommand):
    """A command that must show a claim."""

    owner: str
    epoch: int

    def arguments(self) -> dict[str, Any]:
        """The epoch stands in the event."""
        return {"owner": self.owner, "epoch": _EPOCH}


@dataclass(frozen=True, slots=True, kw_only=True)
class Renew(ClaimCommand):
    """Give the lease a new end."""

    NAME = "renew"
    lease: timedelta

    def arguments(self) -> dict[str, Any]:
        """The claim, and the lease in seconds."""
        return {**ClaimCommand.arguments(self), "lease_seconds": self.lease.total_seconds()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Release(ClaimCommand):
    """Give a turn back that wasn't dispatched."""

    NAME = "release"


@dataclass(frozen=True, slots=True, kw_only=True)
class StartDispatch(ClaimCommand):
    """Record that the hand-over is about to be made."""

    NAME = "start_dispatch"
    READS = "dispatch"
    RECORD = event_record("owner", "epoch", "dispatch_id")
    dispatch_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack(ClaimCommand):
    """Say that the dispatch took effect."""

    NAME = "ack"
    READS = "head"


@dataclass(frozen=True, slots=True, kw_only=True)
class AckDispatch(QueueCommand):
    """Say that a dispatch took effect, for a host that only knows its id."""

    NAME = "ack_dispatch"
    READS = "head"
    RECORD = event_record("dispatch_id")
    dispatch_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fail(ClaimCommand):
    """Say that the turn failed."""

    NAME = "fail"
    failure: Any
    outcome_unknown: bool = False
    altered: bool = False

    def arguments(self) -> dict[str, Any]:
        """The claim; the rest stands in the event."""
        return {
            **ClaimCommand.arguments(self),
            "failure": event_field("failure"),
            "outcome_unknown": event_field("outcome_unknown"),
            "altered": event_field("altered"),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry(QueueCommand):
    """Let a failed turn wait again."""

    NAME = "retry"
    READS = "turn"
    RECORD = event_record("queued_turn_id")
    queued_turn_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause(QueueCommand):
    """Give out no claims until the queue is resumed."""

    NAME = "pause"
    RECORD = event_record("reason", "altered")
    reason: str
    altered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume(QueueCommand):
    """Give out claims again."""

    NAME = "resume"
    READS = "head"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recover(QueueCommand):
    """End a stale claim: the lease is over, or a former owner held it."""

    NAME = "recover"
    owner: str | None = None
    failure: Any = EXPIRED
    altered: bool = False

    def arguments(self) -> dict[str, Any]:
        """The former owner; the failure stands in the event, if the turn failed."""
        failure = {"failure": event_field("failure"), "altered": event_field("altered")}
        return {"owner": self.owner, **failure}


@dataclass(frozen=True, slots=True, kw_only=True)
class FailInFlight(QueueCommand):
    """Fail what is in flight, live or not."""

    NAME = "fail_in_flight"
    RECORD = event_record("failure", "altered")
    failure: Any
    altered: bool = False
