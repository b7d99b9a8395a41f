"""The events of an operation. Names and fields are the storage format: add, never change."""

from typing import Any, Literal

from turnledger.domain.event import Event, Instant

CATEGORY = "operation"


def stream_id(key: str) -> str:
    """The stream that holds an operation."""
    return f"{CATEGORY}:{key}"


class Operation:
    """The events, under the name of their aggregate: `Operation.Created` and so on."""

    class Created(Event):
        """An effect is wished; nothing of it has begun."""

        TOPIC = "operation.created"
        run_id: str
        work_item_id: str
        action_id: str
        operation_type: str
        payload: Any
        replay_policy: str
        created_at: Instant

    class Claimed(Event):
        """The owner of its run is about to execute it, which can't be taken back."""

        TOPIC = "operation.claimed"
        owner: str
        run_epoch: int
        execution_epoch: int

    class CancelRequested(Event):
        """It isn't wanted any more; whoever executes it may still finish."""

        TOPIC = "operation.cancel_requested"

    class Completed(Event):
        """Its owner says what came of it, in time."""

        TOPIC = "operation.completed"
        effect: Literal["applied", "not_applied", "failed_no_effect", "unknown"]
        result: Any
        altered: bool = False

    class Orphaned(Event):
        """The claim of its run was lost while it ran: nobody can know whether it took effect."""

        TOPIC = "operation.orphaned"
        reason: str

    class NeverClaimed(Event):
        """Its run is over, and it had never begun."""

        TOPIC = "operation.never_claimed"
        reason: str

    class Resolved(Event):
        """Somebody decided whether it took effect."""

        TOPIC = "operation.resolved"
        effect: Literal["applied", "not_applied", "failed_no_effect"]
        by: str
        evidence: Any
        altered: bool = False


EVENTS: tuple[type[Event], ...] = (
    Operation.Created,
    Operation.Claimed,
    Operation.CancelRequested,
    Operation.Completed,
    Operation.Orphaned,
    Operation.NeverClaimed,
    Operation.Resolved,
)
