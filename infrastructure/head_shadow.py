"""The head rows made anew out of the events, beside the live ones; likewise `shadow`.

A head row holds its aggregate's state, so here every event is folded, and every rule looked at.
"""

from collections.abc import Iterator

from sqlalchemy import Table

from turnledger.domain import inbox, thread, thread_queue
from turnledger.domain.event import EventRegistry
from turnledger.infrastructure.mapper import LedgerMapper
from turnledger.infrastructure.replay import Replay
from turnledger.infrastructure.shadow import Key
from turnledger.infrastructure.statement import Row
from turnledger.projections.plan import target

_OF_THREADS = tuple(kind.stream_id("") for kind in (thread, inbox))


class HeadShadow:
    """Takes stored events, in the order of their positions; see `shadow.Source`."""

    def __init__(self, registry: EventRegistry) -> None:
        """Start with nothing."""
        self.position = self.seen = 0
        self._mapper = LedgerMapper(registry)
        self._replay = Replay()
        self._versions: dict[str, int] = {}
        self._touched: set[str] | None = None

    @property
    def unread(self) -> dict[str, str]:
        """The streams that can't be read, or break a rule."""
        return self._replay.unread

    def take(self, row: Row) -> None:
        """Take a whole row of the events table."""
        position, stream_id, version = row[:3]
        self.position = position or self.position
        if version <= self._versions.get(stream_id, 0):
            return  # taken before it had a position, in a transaction that was done again
        self._versions[stream_id], self.seen = version, self.seen + 1
        self._replay.add(self.position, self._mapper.to_replay(row), row[-1])
        if self._touched is not None:
            self._touched.add(stream_id)
            if stream_id.startswith(_OF_THREADS):  # a queue's head row says how its thread lives
                self._touched.add(thread_queue.stream_id(target(stream_id)))

    def rows(self, table: Table) -> Iterator[Row]:  # noqa: ARG002 - there is one table
        """The head rows, in the order of their streams."""
        return self._replay.rows_of_heads()

    def row(self, table: Table, key: Key) -> Row | None:  # noqa: ARG002 - there is one table
        """A stream's head row, as it ought to be."""
        return self._replay.row_of_head(str(key[0]))

    def watch(self, tables: list[Table]) -> None:  # noqa: ARG002 - there is one table
        """Note from now on which streams change."""
        self._touched = set()

    def touched(self, table: Table) -> list[Key]:  # noqa: ARG002 - there is one table
        """The streams that changed since."""
        return [(stream_id,) for stream_id in sorted(self._touched or ())]

    def is_unknown(self, table: Table, row: Row) -> bool:  # noqa: ARG002 - there is one table
        """Whether what a head row ought to be isn't known."""
        return self._replay.is_unread_stream(str(row[0]))

    def close(self) -> None:
        """Let it go."""
        self._replay.close()
