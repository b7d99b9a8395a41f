"""The head rows made anew out of the events, beside the live ones; likewise `shadow`.

A head row holds its aggregate's state, so here every event is folded, and every rule looked at.
"""

from collections.abc import Iterator

from sqlalchemy import Table

from turnledger.domain import inbox, thread, thread_queue
from turnledger.domain.event import Envelope, EventRegistry, Unknown
from turnledger.infrastructure.arrivals import Arrivals
from turnledger.infrastructure.keys import Key, batches
from turnledger.infrastructure.mapper import LedgerMapper
from turnledger.infrastructure.replay import Replay
from turnledger.infrastructure.statement import Row
from turnledger.projections.plan import target

_OF_THREADS = tuple(kind.stream_id("") for kind in (thread, inbox))


class HeadShadow:
    """Takes stored events, in the order of their positions; see `shadow.Source`."""

    def __init__(self, registry: EventRegistry) -> None:
        """Start with nothing."""
        self._log = Arrivals()
        self._mapper = LedgerMapper(registry)
        self._replay = Replay()
        self._noted: dict[Key, None] | None = None
        self._lacking: list[Key] = []

    @property
    def position(self) -> int:
        """Of the last event that was taken."""
        return self._log.position

    @property
    def seen(self) -> int:
        """How many were taken."""
        return self._log.seen

    @property
    def unread(self) -> dict[str, str]:
        """The streams that can't be read, or break a rule."""
        return self._replay.unread

    def take(self, row: Row) -> None:
        """Take a whole row of the events table."""
        if not self._log.is_new(row):
            return
        flaw, stream_id = self._log.flaw(row), str(row[1])
        if flaw is None:
            envelope = self._mapper.to_replay(row)
        else:
            unknown = Unknown(str(row[3]), 0, str(row[5]), flaw)
            envelope = Envelope(stream_id, 0, unknown, 0, {})
        self._replay.add(self.position, envelope, row[-1])
        if self._noted is not None:
            self._noted[stream_id,] = None
            if stream_id.startswith(_OF_THREADS):  # a queue's head row says how its thread lives
                self._noted[thread_queue.stream_id(target(stream_id)),] = None

    def rows(self, table: Table) -> Iterator[Row]:  # noqa: ARG002 - there is one table
        """The head rows, in the order of their streams."""
        return self._replay.rows_of_heads()

    def row(self, table: Table, key: Key) -> Row | None:  # noqa: ARG002 - there is one table
        """A stream's head row, as it ought to be."""
        return self._replay.row_of_head(str(key[0]))

    def watch(self, tables: list[Table]) -> None:  # noqa: ARG002 - there is one table
        """Note from now on which streams change."""
        self._noted = {}

    def note(self, table: Table, keys: list[Key]) -> None:  # noqa: ARG002 - there is one table
        """Note streams that have to be looked at, as well."""
        noted = self._noted = {} if self._noted is None else self._noted
        noted.update(dict.fromkeys(keys))

    def noted(self, table: Table) -> Iterator[list[Key]]:  # noqa: ARG002 - there is one table
        """The streams that were noted, some at a time."""
        yield from batches(self._noted or ())

    def lack(self, table: Table, keys: list[Key] | None) -> None:  # noqa: ARG002 - there is one table
        """Remember head rows that have to be written; None forgets them all."""
        if keys is None:
            self._lacking = []
        else:
            self._lacking += keys

    def lacking(self, table: Table) -> Iterator[Row]:
        """Those rows."""
        yield from (row for key in self._lacking if (row := self.row(table, key)) is not None)

    def is_unknown(self, table: Table, row: Row) -> bool:  # noqa: ARG002 - there is one table
        """Whether what a head row ought to be isn't known."""
        return self._replay.is_unread_stream(str(row[0]))

    def close(self) -> None:
        """Let it go."""
        self._replay.close()
