"""The state of a timer, and how each event changes it."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Literal, NamedTuple, Self

from turnledger.domain.duration import from_microseconds, to_microseconds
from turnledger.domain.event import Event
from turnledger.domain.thread import Lifecycle
from turnledger.domain.timer.events import Timer
from turnledger.domain.trigger import Trigger, as_trigger, says_idle

STATE_FORM = 1  # the version of the form in which the head row holds it; a change counts it up

Word = Literal["scheduled", "error", "ended", "deleted"]
LIVE = frozenset(("scheduled", "error"))

_TIMES = ("created_at", "anchored_at", "next_run_at", "last_run_at")


class Content(NamedTuple):
    """What a timer says when it fires; the head row doesn't hold it."""

    content: Any = None
    instructions: Any = None
    metadata: dict[str, Any] = {}  # noqa: RUF012 - never changed
    source: str = ""
    client_id: str | None = None


class Surroundings(NamedTuple):
    """What a decision needs to know of the timer's thread.

    Attributes:
        lifecycle: Whether it takes work.
        live_timers: How many it has.
        has_work: Something waits in its queue, or is in flight.
        holds_message: Its inbox holds the last message of this timer, not delivered yet.
        unarchived_at: When it was unarchived last.
    """

    lifecycle: Lifecycle = "active"
    live_timers: int = 0
    has_work: bool = False
    holds_message: bool = False
    unarchived_at: datetime | None = None


class State(NamedTuple):
    """A timer. The fields above `said` are all that the head row holds beside the epoch.

    Attributes:
        word: What it is; None if it never was.
        trigger: The fields of its trigger.
        anchored_at: When the trigger was set.
        due: Its next run was marked as due.
        message_id: Of the message that its last firing posted.
        time_zone_data: The version by which its next run was computed.
        error: Why it was set aside.
        epoch: How often it fired.
        said: What it says when it fires.
        thread: The thread that it belongs to, as the command needs it.
    """

    thread_id: str = ""
    word: Word | None = None
    trigger: dict[str, Any] = {}  # noqa: RUF012 - never changed
    delivery: str = ""
    paused: bool = False
    due: bool = False
    created_at: datetime | None = None
    anchored_at: datetime | None = None
    next_run_at: datetime | None = None
    last_run_at: datetime | None = None
    message_id: str | None = None
    time_zone_data: str = ""
    error: str | None = None
    epoch: int = 0
    said: Content = Content()
    thread: Surroundings = Surroundings()

    @classmethod
    def from_scalars(cls, scalars: dict[str, Any], epoch: int) -> Self:
        """The state of a head row.

        Args:
            scalars: What `scalars` gives.
            epoch: The epoch, which the head row holds beside them.
        """
        times: dict[str, Any] = {name: _read(scalars[name]) for name in _TIMES}
        return cls(**{**scalars, **times}, epoch=epoch)

    def scalars(self) -> dict[str, Any]:
        """What the head row holds beside the epoch, as JSON in the form `STATE_FORM`."""
        fields = self._asdict()
        for name in ("epoch", "said", "thread"):
            del fields[name]
        return {**fields, **{name: _stored(fields[name]) for name in _TIMES}}

    @property
    def is_live(self) -> bool:
        """Whether it may fire again, at once or after an update."""
        return self.word in LIVE

    @property
    def is_idle(self) -> bool:
        """Whether it is idle-recurring."""
        return says_idle(self.trigger)

    def as_trigger(self) -> Trigger:
        """Its trigger.

        Raises:
            InvalidTrigger: This release doesn't know it.
        """
        return as_trigger(self.trigger)


def evolve(state: State, event: Event) -> State:
    """The state after an event. Events that say nothing about the state leave it as it is."""
    step = _STEPS.get(type(event))
    return state if step is None else step(state, event)


def fold(events: Iterable[Event], state: State = State()) -> State:  # noqa: B008 - immutable
    """The state after all of the events."""
    for event in events:
        state = evolve(state, event)
    return state


def _created(state: State, event: Timer.Created) -> State:
    parts = (event.content, event.instructions, event.metadata, event.source, event.client_id)
    return state._replace(
        thread_id=event.thread_id,
        word="scheduled",
        trigger=event.trigger,
        delivery=event.delivery,
        created_at=event.created_at,
        anchored_at=event.created_at,
        next_run_at=event.next_run_at,
        due=event.next_run_at is None,
        time_zone_data=event.time_zone_data,
        said=Content(*parts),
    )


def _updated(state: State, event: Timer.Updated) -> State:
    changed = event.changed
    said = {name: value for name, value in changed.items() if name in Content._fields}
    state = state._replace(
        said=state.said._replace(**said), delivery=changed.get("delivery", state.delivery)
    )
    if "trigger" not in changed:
        return state
    return state._replace(
        word="scheduled",
        error=None,
        trigger=changed["trigger"],
        anchored_at=event.anchored_at,
        next_run_at=event.next_run_at,
        due=event.next_run_at is None,
        time_zone_data=event.time_zone_data,
    )


def _fired(state: State, event: Timer.Fired) -> State:
    state = state._replace(
        epoch=event.epoch,
        last_run_at=event.last_run_at,
        message_id=event.message_id,
        time_zone_data=event.time_zone_data,
    )
    return _next(state, event.next_run_at, event.error)


def _skipped(state: State, event: Timer.Skipped) -> State:
    return _next(state._replace(time_zone_data=event.time_zone_data), event.next_run_at)


def _recomputed(state: State, event: Timer.Recomputed) -> State:
    known = state._replace(time_zone_data=event.time_zone_data)
    return _next(known, event.next_run_at, event.error)._replace(due=state.due)


def _next(state: State, next_run_at: datetime | None, error: str | None = None) -> State:
    """The timer with another next run; without one, it has ended, or is set aside."""
    idle, word = state.is_idle, state.word
    if error is not None:
        word = "error"
    elif next_run_at is None and not idle and word == "scheduled":
        word = "ended"
    reason = state.error if error is None else error
    return state._replace(word=word, error=reason, next_run_at=next_run_at, due=idle)


_STEPS: dict[type[Event], Callable[[State, Any], State]] = {
    Timer.Created: _created,
    Timer.Updated: _updated,
    Timer.Paused: lambda state, _event: state._replace(paused=True),
    Timer.Resumed: lambda state, _event: state._replace(paused=False),
    Timer.Deleted: lambda state, _event: state._replace(word="deleted", due=False),
    Timer.MarkedDue: lambda state, _event: state._replace(due=True),
    Timer.Fired: _fired,
    Timer.Skipped: _skipped,
    Timer.Recomputed: _recomputed,
    Timer.SetAside: lambda state, event: state._replace(word="error", error=event.error, due=False),
}


def _read(stored: int | None) -> datetime | None:
    return None if stored is None else from_microseconds(stored)


def _stored(time: datetime | None) -> int | None:
    return None if time is None else to_microseconds(time)
