"""Replaying coordinator turns and their work items: each event on the state so far."""

import sqlite3
from typing import Any

from sqlalchemy.schema import CreateIndex

from turnledger.domain import coordinator_turn, work_item
from turnledger.domain.coordinator_turn import STATE_FORM, State
from turnledger.domain.payload import encode
from turnledger.domain.work_item import WorkItem
from turnledger.infrastructure.rows import StoredState
from turnledger.infrastructure.statement import DIALECTS, SQLITE
from turnledger.projections.attachments import attachments
from turnledger.projections.coordinator_mailbox import coordinator_mailbox
from turnledger.projections.in_flight_provider_turns import in_flight_provider_turns

# By which column the rows of a table name their turn.
TURN_COLUMNS = {
    coordinator_mailbox.name: "turn_id",
    in_flight_provider_turns.name: "coordinator_turn_id",
    attachments.name: "turn_id",
}
TURN_TABLES = (coordinator_mailbox, in_flight_provider_turns, attachments)


class TurnReplay:
    """Folds the events of coordinator turns and of work items.

    Attributes:
        states: What the head row of each turn's stream ought to hold.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        """Take the database with the replayed read models."""
        for table in TURN_TABLES:
            for index in table.indexes:
                database.execute(str(CreateIndex(index).compile(dialect=DIALECTS[SQLITE])))
        self.states: dict[str, State] = {}
        self._items: dict[str, work_item.State] = {}

    def folded(self, stream_id: str, event: Any) -> None:
        """Take the next event of a turn.

        Raises:
            ValueError: It breaks a rule.
        """
        before = self.states.get(stream_id, State())
        _must_not(coordinator_turn.broken_rule(before, event))
        self.states[stream_id] = coordinator_turn.evolve(before, event)

    def stored(self, stream_id: str) -> StoredState:
        """What the head row of a turn ought to hold."""
        state = self.states[stream_id]
        return StoredState(state.epoch, STATE_FORM, encode(state.scalars()))

    def folded_item(self, stream_id: str, event: Any) -> None:
        """Likewise of a work item."""
        before = self._items.get(stream_id, work_item.State())
        _must_not(work_item.broken_rule(before, event))
        _must_not(self._strange_turn(event))
        self._items[stream_id] = work_item.evolve(before, event)

    def stored_item(self, stream_id: str) -> StoredState:
        """What the head row of a work item ought to hold."""
        return StoredState(0, work_item.STATE_FORM, encode(self._items[stream_id]))

    def _strange_turn(self, event: Any) -> str | None:
        """The rule that holds between a work item and its turn, if the event breaks one."""
        turn_id = getattr(event, "turn_id", "")
        turn = self.states.get(coordinator_turn.stream_id(turn_id))
        if isinstance(event, WorkItem.TurnSettled) and turn is not None and not turn.is_settled:
            return "a turn that goes on isn't settled"
        return None


def turn_of(table: str, row: tuple[Any, ...]) -> str | None:
    """The turn that a row of a read model is about; None if it is about something else."""
    for known in TURN_TABLES:
        if known.name == table:
            column = known.c[TURN_COLUMNS[table]]
            return str(row[list(known.columns).index(column)])
    return None


def _must_not(broken: str | None) -> None:
    if broken is not None:
        raise ValueError(broken)
