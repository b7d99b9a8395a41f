"""What the commands of threads are decided on: queues, inboxes and timers, and their lives.

Only what is live is kept: turns and messages that are gone are dropped, and what a timer says once
it has ended. Which dispatch ids were used isn't kept: the key of the table `dispatches` sees to it
that none is used twice.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from turnledger.domain import inbox, thread, thread_queue, timer
from turnledger.domain.duration import from_microseconds
from turnledger.domain.event import Event
from turnledger.domain.thread import Thread
from turnledger.domain.timer import Content, Surroundings, Timer
from turnledger.infrastructure.deciding.inboxes import LiveInbox

if TYPE_CHECKING:
    from datetime import datetime

CATEGORIES = frozenset((thread_queue.CATEGORY, inbox.CATEGORY, timer.CATEGORY, thread.CATEGORY))


class ThreadStates:
    """The states of all streams of threads, folded event by event."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._queues: dict[str, thread_queue.State] = {}
        self._inboxes: dict[str, LiveInbox] = {}
        self._timers: dict[str, timer.State] = {}
        self._lives: dict[str, thread.State] = {}
        self._live_timers: defaultdict[str, set[str]] = defaultdict(set)
        self._unarchived_at: dict[str, datetime] = {}
        self._used: set[str] = set()

    def before(self, stream_id: str, event: Event) -> Any:
        """What the command was decided on that led to an event which isn't folded yet."""
        category, _, name = stream_id.partition(":")
        match category:
            case thread_queue.CATEGORY:
                state = self._queues.get(name, thread_queue.State())
                life = self._life(name)
                return state if state.lifecycle == life else state.but(lifecycle=life)
            case inbox.CATEGORY:
                known = self._inboxes.get(name)
                return (known or LiveInbox()).before(event, self._life(name))
            case timer.CATEGORY:
                return self._timer_before(name, event)
            case _:
                return self._lives.get(name) or thread.State(is_used=name in self._used)

    def fold(self, stream_id: str, event: Event, recorded_at: int) -> None:
        """Take an event.

        Args:
            stream_id: Where it is.
            event: What happened.
            recorded_at: When, in microseconds since 1970.

        Raises:
            ValueError: It can't follow what came before it; also KeyError.
        """
        category, _, name = stream_id.partition(":")
        match category:
            case thread_queue.CATEGORY:
                state = self._queues.get(name, thread_queue.State())
                self._queues[name] = thread_queue.pruned(thread_queue.evolve(state, event))
                self._used.add(name)
            case inbox.CATEGORY:
                self._inboxes.setdefault(name, LiveInbox()).fold(event)
                self._used.add(name)
            case timer.CATEGORY:
                self._fold_timer(name, event)
            case _:
                self._lives[name] = thread.evolve(self._lives.get(name, thread.State()), event)
                if isinstance(event, Thread.Unarchived):
                    back = from_microseconds(recorded_at)
                    self._unarchived_at |= dict.fromkeys(self._live_timers[name], back)

    def depends_on(self, stream_id: str, event: Event) -> Iterator[str]:
        """The other streams on which a decision depends, before its first event is folded."""
        category, _, name = stream_id.partition(":")
        if category == timer.CATEGORY:
            state = self._timers.get(name, timer.State())
            name = self._thread_of(name, event)
            if state.word is not None and state.next_run_at is None:
                yield thread_queue.stream_id(name)
                yield inbox.stream_id(name)
        if category != thread.CATEGORY:
            yield thread.stream_id(name)

    def _life(self, thread_id: str) -> thread.Lifecycle:
        known = self._lives.get(thread_id)
        return "active" if known is None else known.lifecycle

    def _thread_of(self, timer_id: str, event: Event) -> str:
        if isinstance(event, Timer.Created):
            return event.thread_id
        return self._timers.get(timer_id, timer.State()).thread_id

    def _timer_before(self, timer_id: str, event: Event) -> timer.State:
        """A timer with what its command reads of its thread."""
        state, thread_id = (
            self._timers.get(timer_id, timer.State()),
            self._thread_of(timer_id, event),
        )
        queue, messages = self._queues.get(thread_id), self._inboxes.get(thread_id)
        around = Surroundings(
            lifecycle=self._life(thread_id),
            live_timers=len(self._live_timers[thread_id]),
            has_work=queue is not None and bool(queue.visible or queue.in_flight),
            holds_message=messages is not None and state.message_id in messages.messages,
            unarchived_at=self._unarchived_at.get(timer_id),
        )
        return state._replace(thread=around)

    def _fold_timer(self, timer_id: str, event: Event) -> None:
        state = timer.evolve(self._timers.get(timer_id, timer.State()), event)
        self._used.add(state.thread_id)
        if state.is_live:
            self._live_timers[state.thread_id].add(timer_id)
        else:
            state = state._replace(said=Content())
            self._live_timers[state.thread_id].discard(timer_id)
            self._unarchived_at.pop(timer_id, None)
        self._timers[timer_id] = state
