"""Streams that can't be replayed: what ought to stand about them in the read models isn't known."""

from sqlalchemy import Table

from turnledger.domain import coordinator_turn, evidence, operation, run, timer, work_item
from turnledger.infrastructure.operation_replay import stream_of
from turnledger.infrastructure.statement import Row
from turnledger.infrastructure.turn_replay import turn_of
from turnledger.projections.due_timers import due_timers
from turnledger.projections.operations import operations
from turnledger.projections.plan import target
from turnledger.projections.receipts import receipts
from turnledger.projections.runs import runs

_TIMER_PREFIX = timer.stream_id("")
_TURN_PREFIX = coordinator_turn.stream_id("")
_OF_NO_THREAD = {
    *(timer.CATEGORY, coordinator_turn.CATEGORY, work_item.CATEGORY),
    *(run.CATEGORY, operation.CATEGORY),
}
_RECEIPT_STREAM = list(receipts.columns).index(receipts.c.stream_id)


class UnreadStreams:
    """Knows which streams those are, and what is about them.

    Attributes:
        unread: The streams that can't be replayed, with the reason.
    """

    def __init__(self) -> None:
        """Start with none."""
        self.unread: dict[str, str] = {}

    def unread_threads(self) -> set[str]:
        """The threads of the streams that can't be replayed; what isn't a thread's is left out."""
        return {target(one) for one in self.unread if _kind(one) not in _OF_NO_THREAD}

    def unread_timers(self) -> set[str]:
        """The timers that can't be replayed."""
        return {target(one) for one in self.unread if one.startswith(_TIMER_PREFIX)}

    def unread_turns(self) -> set[str]:
        """The coordinator turns that can't be replayed."""
        return {target(one) for one in self.unread if one.startswith(_TURN_PREFIX)}

    def unread_operations(self) -> list[tuple[Table, str]]:
        """The runs and operations that can't be replayed: the table, and the key of the row."""
        kinds = {run.CATEGORY: runs, operation.CATEGORY: operations}
        found = {(_kind(one), target(one)) for one in self.unread if _kind(one) in kinds}
        return [(kinds[kind], key) for kind, key in sorted(found)]

    def is_unread_stream(self, stream_id: str) -> bool:
        """Whether what a stream's head row ought to be isn't known."""
        if _kind(stream_id) in _OF_NO_THREAD:
            return stream_id in self.unread
        return target(stream_id) in self.unread_threads()

    def is_unread(self, table: str, row: Row) -> bool:
        """Whether what a read model's row ought to be isn't known."""
        if table == due_timers.name:
            return timer.stream_id(str(row[0])) in self.unread or row[1] in self.unread_threads()
        turn_id = turn_of(table, row)
        if turn_id is not None:
            return coordinator_turn.stream_id(turn_id) in self.unread
        about = stream_of(table, row)
        if about is not None:
            return not {about, evidence.stream_id(about)}.isdisjoint(self.unread)
        if table == receipts.name and row[_RECEIPT_STREAM] in self.unread:
            return True
        return str(row[0]).removeprefix("thread:") in self.unread_threads()


def _kind(stream_id: str) -> str:
    """The category of a stream, or of what its evidence is about."""
    category, _, rest = stream_id.partition(":")
    return rest.partition(":")[0] if category == evidence.CATEGORY else category
