"""The state of an operation, and how each event changes it."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, Self

from turnledger.domain.event import Event
from turnledger.domain.operation.events import Operation
from turnledger.domain.payload import canonical_hash
from turnledger.domain.run import State as RunState

STATE_FORM = 1  # the version of the form in which the head row holds it; a change counts it up

Execution = Literal["not_started", "running", "cancel_requested", "hazardous_orphan", "quiescent"]
Effect = Literal["pending", "applied", "not_applied", "failed_no_effect", "unknown"]

_CONTENT = ("run_id", "work_item_id", "action_id", "operation_type", "payload", "replay_policy")


class State(NamedTuple):
    """An operation; but for its run, all of it stands in the head row, and no payload does.

    Attributes:
        content_hash: Of all that its creation said.
        execution: None, if it was never created.
        owner: Who claimed it, also when it is settled; likewise run_epoch.
        run_epoch: The epoch of the run's claim under which it was claimed.
        orphaned: The claim of its run was lost while it ran.
        epoch: The execution epoch: how often it was claimed.
        run: The run that a command needs to know; read from its own head row.
    """

    run_id: str = ""
    replay_policy: str = ""
    content_hash: str = ""
    execution: Execution | None = None
    effect: Effect = "pending"
    owner: str | None = None
    run_epoch: int = 0
    orphaned: bool = False
    epoch: int = 0
    run: RunState = RunState()

    @classmethod
    def from_scalars(cls, scalars: list[Any], epoch: int) -> Self:
        """The state of a head row, which holds the epoch beside them."""
        run_id, policy, content_hash, execution, effect, owner, run_epoch, orphaned = scalars
        held = (owner, run_epoch, orphaned)
        return cls(run_id, policy, content_hash, execution, effect, *held, epoch)

    def scalars(self) -> tuple[Any, ...]:
        """What the head row holds beside the epoch, as JSON in the form `STATE_FORM`."""
        return self[:8]

    @property
    def is_running(self) -> bool:
        """Whether somebody claimed it and hasn't said what came of it."""
        return self.execution in ("running", "cancel_requested")

    @property
    def is_in_doubt(self) -> bool:
        """Whether somebody has to decide if it took effect."""
        return self.execution == "hazardous_orphan" or self.effect == "unknown"


def content_hash(said: Any) -> str:
    """The hash of all that the creation of an operation says: an event, or a command."""
    return canonical_hash([getattr(said, name) for name in _CONTENT])


def evolve(state: State, event: Event) -> State:
    """The state after an event."""
    step = _STEPS.get(type(event))
    return state if step is None else step(state, event)


def fold(events: Iterable[Event], state: State = State()) -> State:  # noqa: B008 - immutable
    """The state after all of the events."""
    for event in events:
        state = evolve(state, event)
    return state


def _created(state: State, event: Operation.Created) -> State:
    known = state._replace(run_id=event.run_id, replay_policy=event.replay_policy)
    return known._replace(content_hash=content_hash(event), execution="not_started")


def _claimed(state: State, event: Operation.Claimed) -> State:
    claimed = state._replace(owner=event.owner, run_epoch=event.run_epoch)
    return claimed._replace(execution="running", epoch=event.execution_epoch)


def _cancel_requested(state: State, _event: Operation.CancelRequested) -> State:
    return state._replace(execution="cancel_requested")


def _orphaned(state: State, _event: Operation.Orphaned) -> State:
    return state._replace(execution="hazardous_orphan", effect="unknown", orphaned=True)


def _never_claimed(state: State, _event: Operation.NeverClaimed) -> State:
    return state._replace(execution="quiescent", effect="failed_no_effect")


def _settled(state: State, event: Operation.Completed | Operation.Resolved) -> State:
    return state._replace(execution="quiescent", effect=event.effect)


_STEPS: dict[type[Event], Callable[[State, Any], State]] = {
    Operation.Created: _created,
    Operation.Claimed: _claimed,
    Operation.CancelRequested: _cancel_requested,
    Operation.Completed: _settled,
    Operation.Orphaned: _orphaned,
    Operation.NeverClaimed: _never_claimed,
    Operation.Resolved: _settled,
}
