"""The state of a coordinator turn, and how each event changes it."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Literal, NamedTuple, Self, cast, get_args

from turnledger.domain.coordinator_turn.events import CoordinatorTurn
from turnledger.domain.duration import from_microseconds, to_microseconds
from turnledger.domain.event import Event

STATE_FORM = 1  # the version of the form in which the head row holds it; a change counts it up

TurnStatus = Literal["pending", "claimed", "acked", "cancelled"]
AttemptStatus = Literal["prepared", "dispatching", "responded", "unknown", "refused", "cancelled"]


class Attempt(NamedTuple):
    """What a decision needs to know of one provider turn."""

    status: AttemptStatus
    owner: str
    epoch: int
    request_hash: str

    @property
    def is_settled(self) -> bool:
        """Whether another attempt may follow it."""
        return self.status in ("refused", "cancelled")

    @property
    def moves(self) -> bool:
        """Whether it goes over to the next owner: nothing of it is under way."""
        return self.status in ("prepared", "responded")


class Holding(NamedTuple):
    """The latest claim, while the turn is claimed."""

    owner: str
    epoch: int
    expires_at: datetime


class State(NamedTuple):
    """A coordinator turn; all of it stands in the head row, but no payload does.

    Attributes:
        status: None, if it was never begun.
        owner: Of the latest claim, also when that is over.
        expires_at: The end of its lease; None unless the turn is claimed.
        not_before: From when on it is to be tried again.
        attempts: In the order of their numbers, from 1. Only the latest can be unsettled.
    """

    work_item_id: str = ""
    status: TurnStatus | None = None
    owner: str = ""
    expires_at: datetime | None = None
    not_before: datetime | None = None
    attempts: tuple[Attempt, ...] = ()
    epoch: int = 0

    @classmethod
    def from_scalars(cls, scalars: list[Any], epoch: int) -> Self:
        """The state of a head row, which holds the epoch beside them.

        Raises:
            ValueError: They are none.
        """
        work_item_id, status, owner, *times, attempts = scalars
        if status not in get_args(TurnStatus) or not isinstance(owner, str):
            msg = f"no state of a coordinator turn: {scalars!r}"
            raise ValueError(msg)
        expires_at, not_before = (None if t is None else from_microseconds(t) for t in times)
        known = tuple(map(_stored_attempt, attempts))
        return cls(work_item_id, status, owner, expires_at, not_before, known, epoch)

    def scalars(self) -> tuple[Any, ...]:
        """What the head row holds beside the epoch, as JSON in the form `STATE_FORM`."""
        times = (None if t is None else to_microseconds(t) for t in self[3:5])
        return (*self[:3], *times, self.attempts)

    @property
    def held(self) -> Holding | None:
        """The current claim."""
        if self.status != "claimed" or self.expires_at is None:
            return None
        return Holding(self.owner, self.epoch, self.expires_at)

    @property
    def latest(self) -> Attempt | None:
        """The latest attempt."""
        return self.attempts[-1] if self.attempts else None

    @property
    def is_settled(self) -> bool:
        """Whether it has ended."""
        return self.status in ("acked", "cancelled")

    def attempt(self, number: int) -> Attempt | None:
        """An attempt by its number, from 1 on."""
        return self.attempts[number - 1] if 0 < number <= len(self.attempts) else None

    def changed(self, number: int, **changes: Any) -> tuple[Attempt, ...]:
        """The attempts, one of them changed."""
        place = number - 1
        attempt = self.attempts[place]._replace(**changes)
        return (*self.attempts[:place], attempt, *self.attempts[number:])


def _stored_attempt(stored: Any) -> Attempt:
    match stored:
        case [str() as status, str() as owner, int() as epoch, str() as request_hash]:
            return Attempt(cast("AttemptStatus", status), owner, epoch, request_hash)
        case _:
            msg = f"no attempt: {stored!r}"
            raise ValueError(msg)


def evolve(state: State, event: Event) -> State:
    """The state after an event."""
    step = _STEPS.get(type(event))
    return state if step is None else step(state, event)


def fold(events: Iterable[Event], state: State = State()) -> State:  # noqa: B008 - immutable
    """The state after all of the events."""
    for event in events:
        state = evolve(state, event)
    return state


def _begun(state: State, event: CoordinatorTurn.Begun) -> State:
    return state._replace(work_item_id=event.work_item_id, status="pending")


def _claimed(state: State, event: CoordinatorTurn.Claimed) -> State:
    owner, epoch, attempts = event.owner, event.epoch, state.attempts
    if attempts and attempts[-1].moves:
        attempts = state.changed(len(attempts), owner=owner, epoch=epoch)
    claimed = state._replace(status="claimed", attempts=attempts)
    return claimed._replace(owner=owner, epoch=epoch, expires_at=event.expires_at)


def _renewed(state: State, event: CoordinatorTurn.Renewed) -> State:
    return state._replace(expires_at=event.expires_at)


def _given_back(state: State, _event: Event) -> State:
    return state._replace(status="pending", expires_at=None)


def _prepared(state: State, event: CoordinatorTurn.Prepared) -> State:
    attempt = Attempt("prepared", event.owner, event.epoch, event.request_hash)
    return state._replace(attempts=(*state.attempts, attempt), not_before=None)


def _becomes(status: AttemptStatus) -> Callable[[State, Any], State]:
    def step(state: State, event: Any) -> State:
        return state._replace(attempts=state.changed(event.attempt, status=status))

    return step


def _refused(state: State, event: CoordinatorTurn.Refused) -> State:
    attempts = state.changed(event.attempt, status="refused")
    return state._replace(attempts=attempts, not_before=event.not_before)


def _resolved(state: State, event: CoordinatorTurn.Resolved) -> State:
    number, owner, epoch = event.attempt, event.owner, event.epoch
    if event.decision == "adopt":
        attempts = state.changed(number, status="responded", owner=owner, epoch=epoch)
        return state._replace(attempts=attempts)
    attempts = state.changed(number, status="cancelled")
    if event.decision == "retry":
        again = attempts[number - 1]._replace(status="prepared", owner=owner, epoch=epoch)
        attempts = (*attempts, again)
    return state._replace(attempts=attempts)


def _acked(state: State, _event: Event) -> State:
    return state._replace(status="acked", expires_at=None)


def _cancelled(state: State, _event: CoordinatorTurn.Cancelled) -> State:
    attempts, latest = state.attempts, state.latest
    if latest is not None and latest.status == "dispatching":
        attempts = state.changed(len(attempts), status="unknown")
    return state._replace(status="cancelled", expires_at=None, attempts=attempts)


_STEPS: dict[type[Event], Callable[[State, Any], State]] = {
    CoordinatorTurn.Begun: _begun,
    CoordinatorTurn.Claimed: _claimed,
    CoordinatorTurn.Renewed: _renewed,
    CoordinatorTurn.Released: _given_back,
    CoordinatorTurn.Recovered: _given_back,
    CoordinatorTurn.Prepared: _prepared,
    CoordinatorTurn.DispatchStarted: _becomes("dispatching"),
    CoordinatorTurn.Responded: _becomes("responded"),
    CoordinatorTurn.Refused: _refused,
    CoordinatorTurn.Rejected: _becomes("cancelled"),
    CoordinatorTurn.OutcomeUnknown: _becomes("unknown"),
    CoordinatorTurn.Resolved: _resolved,
    CoordinatorTurn.Acked: _acked,
    CoordinatorTurn.Failed: _acked,
    CoordinatorTurn.Cancelled: _cancelled,
}
