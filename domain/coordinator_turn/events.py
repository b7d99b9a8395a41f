"""The events of a coordinator turn. Names and fields are the storage format: add, never change."""

from typing import Any, Literal

from turnledger.domain.event import Event, Instant

CATEGORY = "coordinator_turn"


def stream_id(turn_id: str) -> str:
    """The stream that holds a coordinator turn."""
    return f"{CATEGORY}:{turn_id}"


class CoordinatorTurn:
    """The events, under the name of their aggregate: `CoordinatorTurn.Begun` and so on."""

    class Begun(Event):
        """A turn waits, behind the others of its work item."""

        TOPIC = "coordinator_turn.begun"
        work_item_id: str
        turn_order: int
        message: Any
        kind: str
        target: str
        created_at: Instant
        attachments: tuple[str, ...] = ()

    class Claimed(Event):
        """An owner took the turn, for the time of a lease, and what its attempts left to do."""

        TOPIC = "coordinator_turn.claimed"
        owner: str
        epoch: int
        expires_at: Instant

    class Renewed(Event):
        """The owner's lease has a new end."""

        TOPIC = "coordinator_turn.renewed"
        epoch: int
        expires_at: Instant

    class Released(Event):
        """The owner gave the turn back."""

        TOPIC = "coordinator_turn.released"
        epoch: int

    class Recovered(Event):
        """A claim ended without a word; the turn waits again."""

        TOPIC = "coordinator_turn.recovered"
        epoch: int

    class Prepared(Event):
        """The request of an attempt is fixed."""

        TOPIC = "coordinator_turn.prepared"
        attempt: int
        request: Any
        request_hash: str
        owner: str
        epoch: int

    class DispatchStarted(Event):
        """The request is about to be sent, which can't be taken back."""

        TOPIC = "coordinator_turn.dispatch_started"
        attempt: int
        owner: str
        epoch: int

    class Responded(Event):
        """The provider answered."""

        TOPIC = "coordinator_turn.responded"
        attempt: int
        epoch: int
        response: Any
        response_hash: str
        altered: bool = False

    class Refused(Event):
        """The provider said no: nothing happened."""

        TOPIC = "coordinator_turn.refused"
        attempt: int
        epoch: int
        error: Any
        retryable: bool
        not_before: Instant | None = None
        altered: bool = False

    class Rejected(Event):
        """The answer was no good. It is kept."""

        TOPIC = "coordinator_turn.rejected"
        attempt: int
        epoch: int
        error: Any
        altered: bool = False

    class OutcomeUnknown(Event):
        """The claim of a dispatch is over: nobody can know whether it took effect."""

        TOPIC = "coordinator_turn.outcome_unknown"
        attempt: int

    class Resolved(Event):
        """Somebody decided what became of a dispatch whose outcome was unknown.

        What goes on from it belongs to the latest claim, and moves on with the next one.
        """

        TOPIC = "coordinator_turn.resolved"
        attempt: int
        decision: Literal["adopt", "retry", "cancel"]
        by: str
        owner: str
        epoch: int
        response: Any = None
        response_hash: str | None = None
        reason: Any = None
        altered: bool = False

    class Acked(Event):
        """The turn is done; with a result, if it was completed."""

        TOPIC = "coordinator_turn.acked"
        epoch: int
        completed: bool
        result: Any = None
        altered: bool = False

    class Failed(Event):
        """The turn is done, and failed."""

        TOPIC = "coordinator_turn.failed"
        epoch: int
        error: Any
        altered: bool = False

    class Cancelled(Event):
        """The turn isn't wanted any more; what was being dispatched is of unknown outcome."""

        TOPIC = "coordinator_turn.cancelled"
        reason: Any
        altered: bool = False


EVENTS: tuple[type[Event], ...] = (
    CoordinatorTurn.Begun,
    CoordinatorTurn.Claimed,
    CoordinatorTurn.Renewed,
    CoordinatorTurn.Released,
    CoordinatorTurn.Recovered,
    CoordinatorTurn.Prepared,
    CoordinatorTurn.DispatchStarted,
    CoordinatorTurn.Responded,
    CoordinatorTurn.Refused,
    CoordinatorTurn.Rejected,
    CoordinatorTurn.OutcomeUnknown,
    CoordinatorTurn.Resolved,
    CoordinatorTurn.Acked,
    CoordinatorTurn.Failed,
    CoordinatorTurn.Cancelled,
)
