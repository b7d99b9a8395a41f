"""The commands of a coordinator turn: what is wished, checked and complete."""

from datetime import datetime, timedelta
from typing import Any, Literal

from turnledger.domain.command import RecordedCommand, claim_record, event_record
from turnledger.domain.payload import encode
from turnledger.domain.value import value

Decision = Literal["adopt", "retry", "cancel"]


@value
class TurnCommand(RecordedCommand):
    """A command of a coordinator turn."""

    turn_id: str


@value
class Begin(TurnCommand):
    """Let a turn wait in its place; claimed at once, if there is an owner."""

    NAME = "begin"
    work_item_id: str
    turn_order: int
    message: Any
    kind: str
    target: str
    attachments: tuple[str, ...] = ()
    owner: str | None = None
    lease: timedelta | None = None

    def arguments(self) -> str:
        """Who claims it at once; the rest stands in the event."""
        names = ("work_item_id", "turn_order", "message", "kind", "target", "attachments")
        lease = None if self.lease is None else self.lease.total_seconds()
        return encode({**event_record(*names), "owner": self.owner, "lease_seconds": lease})


@value
class Claim(TurnCommand):
    """Take the turn for the time of a lease."""

    NAME = "claim"
    owner: str
    lease: timedelta

    def arguments(self) -> str:
        """The lease in seconds."""
        return encode({"owner": self.owner, "lease_seconds": self.lease.total_seconds()})


@value
class ClaimNext(Claim):
    """Likewise, unless it is to be tried again later only."""

    NAME = "claim_next"


@value
class Resume(Claim):
    """Likewise, whenever that may be; a dispatch that nobody answers for is of unknown outcome."""

    NAME = "resume"


@value
class ClaimCommand(TurnCommand):
    """A command that must show a claim."""

    owner: str
    epoch: int

    def arguments(self) -> str:
        """The epoch stands in the event; so do all of `RECORD`."""
        return claim_record(self.owner, **self.RECORD)


@value
class Renew(ClaimCommand):
    """Give the lease a new end."""

    NAME = "renew"
    lease: timedelta

    def arguments(self) -> str:
        """The claim, and the lease in seconds."""
        return claim_record(self.owner, lease_seconds=self.lease.total_seconds())


@value
class Release(ClaimCommand):
    """Give the turn back."""

    NAME = "release"


@value
class Prepare(ClaimCommand):
    """Fix the request of an attempt."""

    NAME = "prepare"
    RECORD = event_record("request", "request_hash", "attempt")
    request: Any
    request_hash: str
    attempt: int | None = None


@value
class AttemptCommand(ClaimCommand):
    """A command on an attempt that belongs to the claim."""

    RECORD = event_record("attempt")
    attempt: int


@value
class StartDispatch(AttemptCommand):
    """Record that the request is about to be sent."""

    NAME = "start_dispatch"


@value
class Respond(AttemptCommand):
    """Keep the provider's answer."""

    NAME = "respond"
    RECORD = event_record("attempt", "response", "response_hash", "altered")
    request_hash: str
    response: Any
    response_hash: str
    altered: bool = False

    def arguments(self) -> str:
        """The claim and the hash of what was sent; the rest stands in the event."""
        return claim_record(self.owner, request_hash=self.request_hash, **self.RECORD)


@value
class Refuse(AttemptCommand):
    """Record that the provider said no."""

    NAME = "refuse"
    RECORD = event_record("attempt", "error", "retryable", "altered")
    error: Any
    retryable: bool
    retry_at: datetime | None = None
    altered: bool = False

    def arguments(self) -> str:
        """The claim and the wished time; the rest stands in the event."""
        return claim_record(self.owner, retry_at=self.retry_at, **self.RECORD)


@value
class Reject(AttemptCommand):
    """Say that the answer is no good."""

    NAME = "reject"
    RECORD = event_record("attempt", "error", "altered")
    error: Any
    altered: bool = False


@value
class Resolve(TurnCommand):
    """Decide what became of a dispatch whose outcome is unknown."""

    NAME = "resolve"
    RECORD = event_record(
        *("attempt", "decision", "by", "response", "response_hash", "reason", "altered")
    )
    attempt: int
    decision: Decision
    by: str
    response: Any = None
    response_hash: str | None = None
    reason: Any = None
    altered: bool = False


@value
class SettlingCommand(ClaimCommand):
    """A command that ends the turn."""

    expected_revision: int | None = None

    def arguments(self) -> str:
        """The claim and the revision; the rest stands in the event."""
        return claim_record(self.owner, expected_revision=self.expected_revision, **self.RECORD)


@value
class Complete(SettlingCommand):
    """End the turn with a result."""

    NAME = "complete"
    RECORD = event_record("result", "altered")
    result: Any
    altered: bool = False


@value
class Fail(SettlingCommand):
    """End the turn with an error."""

    NAME = "fail"
    RECORD = event_record("error", "altered")
    error: Any
    altered: bool = False


@value
class Ack(ClaimCommand):
    """End the turn without a result."""

    NAME = "ack"


@value
class Cancel(TurnCommand):
    """End the turn, whoever holds it."""

    NAME = "cancel"
    RECORD = event_record("reason", "altered")
    reason: Any
    altered: bool = False


@value
class Recover(TurnCommand):
    """End what is over: a dispatch that nobody answers for, and a claim."""

    NAME = "recover"
