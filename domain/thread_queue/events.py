"""The events of a thread's queue. Names and fields are the storage format: add, never change."""

from typing import Any, Literal

from turnledger.domain.event import Event, Instant

CATEGORY = "thread_queue"


def stream_id(thread_id: str) -> str:
    """The stream that holds a thread's queue."""
    return f"{CATEGORY}:{thread_id}"


class ThreadQueue:
    """The events, under the name of their aggregate: `ThreadQueue.Appended` and so on."""

    class Appended(Event):
        """A submission was accepted, behind everything that was there."""

        TOPIC = "thread_queue.appended"
        queued_turn_id: str
        queue_order: int
        submission: dict[str, Any]
        created_at: Instant
        not_before: Instant | None = None

    class Edited(Event):
        """A visible queued turn was given another submission; it kept its place."""

        TOPIC = "thread_queue.edited"
        queued_turn_id: str
        submission: dict[str, Any]

    class Deleted(Event):
        """A visible queued turn was taken out."""

        TOPIC = "thread_queue.deleted"
        queued_turn_id: str

    class Cleared(Event):
        """Every visible turn was taken out, and what was in flight was fenced off."""

        TOPIC = "thread_queue.cleared"
        queued_turn_ids: tuple[str, ...]
        in_flight_id: str | None = None
        dispatch_id: str | None = None

    class Reordered(Event):
        """The visible turns, in their new order: they take the orders from first_order on."""

        TOPIC = "thread_queue.reordered"
        queued_turn_ids: tuple[str, ...]
        first_order: int

    class Claimed(Event):
        """An owner took the head of the queue, for the time of a lease."""

        TOPIC = "thread_queue.claimed"
        queued_turn_id: str
        owner: str
        epoch: int
        expires_at: Instant
        claims: int

    class Renewed(Event):
        """The owner's lease has a new end."""

        TOPIC = "thread_queue.renewed"
        queued_turn_id: str
        epoch: int
        expires_at: Instant

    class Released(Event):
        """The owner gave the turn back before it was dispatched."""

        TOPIC = "thread_queue.released"
        queued_turn_id: str
        epoch: int

    class Recovered(Event):
        """A stale claim ended before anything was dispatched: the turn waits in its old place."""

        TOPIC = "thread_queue.recovered"
        queued_turn_id: str
        epoch: int

    class DispatchStarted(Event):
        """The hand-over that can't be taken back is about to be made."""

        TOPIC = "thread_queue.dispatch_started"
        queued_turn_id: str
        dispatch_id: str
        owner: str
        epoch: int

    class Acked(Event):
        """The dispatch took effect; the turn is done."""

        TOPIC = "thread_queue.acked"
        queued_turn_id: str
        dispatch_id: str
        epoch: int

    class Failed(Event):
        """The turn failed and blocks the queue at its old place."""

        TOPIC = "thread_queue.failed"
        queued_turn_id: str
        epoch: int
        failure: Any
        outcome_unknown: bool = False
        altered: bool = False
        dispatch_id: str | None = None

    class Retried(Event):
        """A failed turn waits again, in its place."""

        TOPIC = "thread_queue.retried"
        queued_turn_id: str

    class Resolved(Event):
        """Somebody decided what became of a dispatch whose outcome was unknown."""

        TOPIC = "thread_queue.resolved"
        queued_turn_id: str
        decision: Literal["acked", "retry"]
        by: str
        evidence: Any = None
        altered: bool = False

    class Paused(Event):
        """The queue gives out no claims until it is resumed."""

        TOPIC = "thread_queue.paused"
        reason: str
        altered: bool = False

    class Resumed(Event):
        """The queue gives out claims again."""

        TOPIC = "thread_queue.resumed"


EVENTS: tuple[type[Event], ...] = (
    ThreadQueue.Appended,
    ThreadQueue.Edited,
    ThreadQueue.Deleted,
    ThreadQueue.Cleared,
    ThreadQueue.Reordered,
    ThreadQueue.Claimed,
    ThreadQueue.Renewed,
    ThreadQueue.Released,
    ThreadQueue.Recovered,
    ThreadQueue.DispatchStarted,
    ThreadQueue.Acked,
    ThreadQueue.Failed,
    ThreadQueue.Retried,
    ThreadQueue.Resolved,
    ThreadQueue.Paused,
    ThreadQueue.Resumed,
)
