"""Replaying timers: each event on the state so far, but for what a timer says."""

import sqlite3
from typing import Any

from sqlalchemy.schema import CreateIndex

from turnledger.domain import timer
from turnledger.domain.event import Unknown
from turnledger.domain.payload import decode, encode
from turnledger.domain.thread import Lifecycle
from turnledger.domain.timer import STATE_FORM, Content, State, Timer
from turnledger.infrastructure.rows import StoredState
from turnledger.infrastructure.statement import DIALECTS, SQLITE
from turnledger.projections.due_timers import due_timers


class TimerReplay:
    """Folds the events of timers.

    Attributes:
        states: What the head row of each stream ought to hold.
        threads: The threads that have, or had, timers.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        """Take the database with the replayed read model."""
        for index in due_timers.indexes:
            database.execute(str(CreateIndex(index).compile(dialect=DIALECTS[SQLITE])))
        self.states: dict[str, State] = {}
        self.threads: set[str] = set()

    def thread_of(self, stream_id: str, event: Any) -> str:
        """The thread of the timer whose event this is."""
        if isinstance(event, Timer.Created):
            return event.thread_id
        return self.states.get(stream_id, State()).thread_id

    def folded(self, stream_id: str, event: Any, life: Lifecycle) -> None:
        """Take the next event.

        Raises:
            ValueError: It breaks a rule.
        """
        before = self.states.get(stream_id, State())
        broken = timer.broken_rule(before, event)
        if broken is None and isinstance(event, Timer.Created | Timer.Updated | Timer.Fired):
            broken = None if life == "active" else f"a thread that is {life} fires no timers"
        if broken is not None:
            raise ValueError(broken)
        state = timer.evolve(before, event)._replace(said=Content())
        self.states[stream_id] = state
        self.threads.add(state.thread_id)

    def stored(self, stream_id: str) -> StoredState:
        """What the head row ought to hold."""
        state = self.states[stream_id]
        return StoredState(state.epoch, STATE_FORM, encode(state.scalars()))

    def unread(self, stream_id: str, event: Unknown) -> None:
        """Take of an event that can't be read what says which thread it is of."""
        if not stream_id.startswith(timer.stream_id("")):
            return
        try:
            self.threads.add(str(decode(event.text)["thread_id"]))
        except (ValueError, TypeError, KeyError):
            return
