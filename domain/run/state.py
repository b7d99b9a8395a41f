"""The state of a run, how each event changes it, and which event can follow it."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Self

from turnledger.domain.duration import from_microseconds, to_microseconds
from turnledger.domain.event import Event
from turnledger.domain.run.events import Run

STATE_FORM = 1  # the version of the form in which the head row holds it; a change counts it up

RunStatus = Literal["running", "finished", "interrupted"]

_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


class State(NamedTuple):
    """A run; all of it stands in the head row.

    Attributes:
        status: None, if it was never started.
        owner: Of the latest claim, also when that is over; likewise expires_at and epoch.
    """

    work_item_id: str = ""
    action_id: str = ""
    status: RunStatus | None = None
    owner: str = ""
    expires_at: datetime = _NEVER
    epoch: int = 0

    @classmethod
    def from_scalars(cls, scalars: list[Any], epoch: int) -> Self:
        """The state of a head row, which holds the epoch beside them."""
        work_item_id, action_id, status, owner, expires_at = scalars
        return cls(work_item_id, action_id, status, owner, from_microseconds(expires_at), epoch)

    def scalars(self) -> tuple[Any, ...]:
        """What the head row holds beside the epoch, as JSON in the form `STATE_FORM`."""
        return (*self[:4], to_microseconds(self.expires_at))

    @property
    def held(self) -> Self | None:
        """The current claim."""
        return self if self.status == "running" else None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, for ever."""
        return self.status in ("finished", "interrupted")


def evolve(state: State, event: Event) -> State:
    """The state after an event."""
    match event:
        case Run.Started():
            begun = state._replace(work_item_id=event.work_item_id, action_id=event.action_id)
            return _claimed(begun, event)
        case Run.TakenOver():
            return _claimed(state, event)
        case Run.Renewed():
            return state._replace(expires_at=event.expires_at)
        case Run.Finished():
            return state._replace(status="finished")
        case Run.Interrupted():
            return state._replace(status="interrupted")
        case _:
            return state


def fold(events: Iterable[Event], state: State = State()) -> State:  # noqa: B008 - immutable
    """The state after all of the events."""
    for event in events:
        state = evolve(state, event)
    return state


def _claimed(state: State, event: Run.Started | Run.TakenOver) -> State:
    claim: dict[str, Any] = {"owner": event.owner, "epoch": event.epoch}
    return state._replace(status="running", expires_at=event.expires_at, **claim)


def broken_rule(state: State, event: Any) -> str | None:
    """The rule that an event breaks, if it can't follow a state."""
    match event:
        case Run.Started() if state.status is not None:
            return "a run is started once"
        case Run.TakenOver() | Run.Renewed() | Run.Interrupted() if state.held is None:
            return "only a run that goes on is taken over, renewed or ended"
        case Run.Started() | Run.TakenOver() if event.epoch != state.epoch + 1:
            return "epochs rise by one"
        case Run.Renewed() | Run.Finished() if (state.status, state.epoch) != (
            "running",
            event.epoch,
        ):
            return "only the current claim changes a run, under its epoch"
        case _:
            return None
