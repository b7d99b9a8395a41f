"""The events of a run. Names and fields are the storage format: add, never change."""

from typing import Any

from turnledger.domain.event import Event, Instant

CATEGORY = "run"


def stream_id(run_id: str) -> str:
    """The stream that holds a run."""
    return f"{CATEGORY}:{run_id}"


class Run:
    """The events, under the name of their aggregate."""

    class Started(Event):
        """An owner began the run, for the time of a lease."""

        TOPIC = "run.started"
        work_item_id: str
        action_id: str
        owner: str
        epoch: int
        expires_at: Instant

    class TakenOver(Event):
        """The lease was over, and an owner goes on with the run."""

        TOPIC = "run.taken_over"
        owner: str
        epoch: int
        expires_at: Instant

    class Renewed(Event):
        """The owner's lease has a new end."""

        TOPIC = "run.renewed"
        epoch: int
        expires_at: Instant

    class Finished(Event):
        """The owner came to the end."""

        TOPIC = "run.finished"
        epoch: int
        outcome: Any
        altered: bool = False

    class Interrupted(Event):
        """Somebody ended the run; its owner is fenced off."""

        TOPIC = "run.interrupted"
        reason: Any
        altered: bool = False


EVENTS: tuple[type[Event], ...] = (
    Run.Started,
    Run.TakenOver,
    Run.Renewed,
    Run.Finished,
    Run.Interrupted,
)
