"""Replaying runs and operations: each event on the state so far."""

from collections.abc import Mapping
from typing import Any

from turnledger.domain import operation, run
from turnledger.domain.payload import encode
from turnledger.infrastructure.rows import StoredState
from turnledger.projections.operations import operations
from turnledger.projections.runs import runs

# Each table's rows are about streams of one kind, which the first column names.
STREAMS = {runs.name: run.stream_id, operations.name: operation.stream_id}


class OperationReplay:
    """Folds the events of runs and of operations.

    Attributes:
        given: The latest epoch under which something could be reported, by stream: a run's, and
            for an operation that of the claim of its run.
    """

    def __init__(self, unread: Mapping[str, str]) -> None:
        """Take the streams that can't be replayed, as they come to be known."""
        self._unread = unread
        self._runs: dict[str, run.State] = {}
        self._operations: dict[str, operation.State] = {}
        self.given: dict[str, int] = {}

    def folded_run(self, stream_id: str, event: Any) -> None:
        """Take the next event of a run.

        Raises:
            ValueError: It breaks a rule.
        """
        before = self._runs.get(stream_id, run.State())
        _must_not(run.broken_rule(before, event))
        self._runs[stream_id] = state = run.evolve(before, event)
        self.given[stream_id] = state.epoch

    def stored_run(self, stream_id: str) -> StoredState:
        """What the head row of a run ought to hold."""
        state = self._runs[stream_id]
        return StoredState(state.epoch, run.STATE_FORM, encode(state.scalars()))

    def folded(self, stream_id: str, event: Any) -> None:
        """Likewise of an operation; if its run can't be replayed, no rule is looked at."""
        before = self._operations.get(stream_id, operation.State())
        about = run.stream_id(before.run_id)
        if about not in self._unread:
            of_run = self._runs.get(about, run.State())
            _must_not(operation.broken_rule(before._replace(run=of_run), event))
        self._operations[stream_id] = state = operation.evolve(before, event)
        self.given[stream_id] = state.run_epoch

    def stored(self, stream_id: str) -> StoredState:
        """What the head row of an operation ought to hold."""
        state = self._operations[stream_id]
        return StoredState(state.epoch, operation.STATE_FORM, encode(state.scalars()))


def stream_of(table: str, row: tuple[Any, ...]) -> str | None:
    """The stream that a row of a read model is about; None if it is of another read model."""
    return STREAMS[table](str(row[0])) if table in STREAMS else None


def _must_not(broken: str | None) -> None:
    if broken is not None:
        raise ValueError(broken)
