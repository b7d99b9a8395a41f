"""The commands of an operation: what is wished, checked and complete."""

from typing import Any, Literal

from turnledger.domain.command import RecordedCommand, event_field, event_record
from turnledger.domain.payload import encode
from turnledger.domain.value import value

CompletedEffect = Literal["applied", "not_applied", "failed_no_effect", "unknown"]
Decision = Literal["confirm_applied", "confirm_not_applied", "confirm_failed_no_effect"]

_SAID = ("run_id", "work_item_id", "action_id", "operation_type", "payload", "replay_policy")


@value
class OperationCommand(RecordedCommand):
    """A command of an operation."""

    key: str


@value
class Create(OperationCommand):
    """Record that an effect is wished."""

    NAME = "create"
    RECORD = event_record(*_SAID)
    run_id: str
    work_item_id: str
    action_id: str
    operation_type: str
    payload: Any
    replay_policy: str


@value
class ClaimCommand(OperationCommand):
    """A command that must show the claim of a run."""

    run_id: str
    owner: str
    epoch: int


@value
class Claim(ClaimCommand):
    """Record that it is about to be executed."""

    NAME = "claim"
    automatic: bool = True

    def arguments(self) -> str:
        """The owner and the epoch of the run's claim stand in the event."""
        said = {"run_id": self.run_id, "owner": event_field("owner")}
        return encode({**said, "epoch": event_field("run_epoch"), "automatic": self.automatic})


@value
class CreateAndClaim(Claim):
    """Record that it is wished, and about to be executed."""

    NAME = "create_and_claim"
    work_item_id: str
    action_id: str
    operation_type: str
    payload: Any
    replay_policy: str

    def arguments(self) -> str:
        """The payload stands in the event of the creation, also in that of an earlier command."""
        said = {"run_id": self.run_id, "owner": self.owner, "epoch": self.epoch}
        return encode({**event_record(*_SAID[1:]), **said, "automatic": self.automatic})


@value
class Complete(ClaimCommand):
    """Say what came of it."""

    NAME = "complete"
    effect: CompletedEffect
    result: Any
    altered: bool = False

    def arguments(self) -> str:
        """The claim; of a late completion the event says neither effect nor result."""
        said = {"run_id": self.run_id, "owner": self.owner, "epoch": self.epoch}
        return encode({**said, **event_record("effect", "result", "altered")})


@value
class RequestCancel(OperationCommand):
    """Say that it isn't wanted any more."""

    NAME = "request_cancel"


@value
class Recover(OperationCommand):
    """Say of what nobody answers for that nobody does."""

    NAME = "recover"


@value
class Resolve(OperationCommand):
    """Decide whether it took effect."""

    NAME = "resolve"
    decision: Decision
    by: str
    evidence: Any
    altered: bool = False

    def arguments(self) -> str:
        """The decision; the rest stands in the event."""
        return encode({"decision": self.decision, **event_record("by", "evidence", "altered")})


AnyCommand = Create | Claim | CreateAndClaim | Complete | RequestCancel | Recover | Resolve
