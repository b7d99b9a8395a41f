"""Replaying inboxes: each event on the scalars so far, and on the rows that a command would read.

An inbox has no limit, so no list of its messages is carried along.
"""

import sqlite3
from typing import Any

from sqlalchemy import bindparam, literal_column, select
from sqlalchemy.schema import CreateIndex

from turnledger.domain import inbox
from turnledger.domain.inbox import STATE_FORM, Message, State
from turnledger.domain.payload import encode
from turnledger.domain.thread import Lifecycle
from turnledger.infrastructure.inbox_rows import MessageRow, as_message
from turnledger.infrastructure.rows import StoredState
from turnledger.infrastructure.statement import DIALECTS, SQLITE, Statement, run, statement
from turnledger.projections.inbox_messages import PLACE, WAITING, inbox_messages
from turnledger.projections.plan import target

_m = inbox_messages.c
_ROW = select(*inbox_messages.columns).where(_m.thread_id == bindparam("thread_id"))
_NAMED = statement(_ROW.where(_m.message_id == bindparam("message_id")))
_OLDEST = statement(_ROW.where(WAITING).order_by(*PLACE).limit(literal_column("1")))


class InboxReplay:
    """Folds the events of inboxes.

    Attributes:
        states: The scalars of each stream.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        """Take the database with the replayed read model."""
        self._database = database
        for index in inbox_messages.indexes:
            database.execute(str(CreateIndex(index).compile(dialect=DIALECTS[SQLITE])))
        self.states: dict[str, State] = {}

    def folded(self, stream_id: str, event: Any, life: Lifecycle) -> None:
        """Take the next event, which is not projected yet.

        Raises:
            ValueError: It breaks a rule.
        """
        known = self._known(target(stream_id), getattr(event, "message_id", ""))
        before = self.states.get(stream_id, State())._replace(lifecycle=life, messages=known)
        broken = inbox.broken_rule(before, event)
        if broken is not None:
            raise ValueError(broken)
        state = inbox.evolve(before, event)._replace(messages={})
        flying = int(state.in_flight is not None)
        accounted = state.waiting + state.undelivered + state.settled + flying
        if state.posted != accounted or min(state.waiting, state.undelivered) < 0:
            msg = f"{state.posted} messages were posted, {accounted} are accounted for"
            raise ValueError(msg)
        self.states[stream_id] = state

    def stored(self, stream_id: str) -> StoredState:
        """What the head row ought to hold."""
        state = self.states[stream_id]
        return StoredState(state.epoch, STATE_FORM, encode(state.scalars()))

    def _known(self, thread_id: str, message_id: str) -> dict[str, Message]:
        """The message that an event names, and the oldest one that waits."""
        given = {"thread_id": thread_id, "message_id": message_id}
        found = (self._one(what, given) for what in (_NAMED, _OLDEST))
        return {one.message_id: one for one in found if one is not None}

    def _one(self, what: Statement, given: dict[str, str]) -> Message | None:
        row = run(self._database, SQLITE, what, given).fetchone()
        return None if row is None else as_message(MessageRow(*row))
