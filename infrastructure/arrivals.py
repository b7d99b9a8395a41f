"""Which stored events come, each once, and whether they can follow what came before them."""

from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import Row

_NAMES = [column.name for column in events.columns]
_RIGHT = tuple(column.type.python_type for column in list(events.columns)[1:])


class Arrivals:
    """Looks at the rows of the events table, in the order of their positions.

    Attributes:
        position: Of the last event.
        seen: How many there were.
    """

    def __init__(self) -> None:
        """Start before the first event."""
        self.position = self.seen = 0
        self._versions: dict[str, int] = {}
        self._early: set[tuple[str, int]] = set()

    def is_new(self, row: Row) -> bool:
        """Whether an event wasn't taken already: before it had a position, or just after.

        That may be so on PostgreSQL, where positions are given after the commit, perhaps while
        this is under way; and a transaction may be done again.
        """
        position, place = row[0], (row[1], row[2])
        self.position = position or self.position
        if self._early and place in self._early:
            return False
        if position is None:
            if row[2] <= self._versions.get(row[1], 0):
                return False
            self._early.add(place)
        self.seen += 1
        return True

    def flaw(self, row: Row) -> str | None:
        """Why an event can't be read, as far as that is seen without its data. No hash is made."""
        stream_id, version = row[1], row[2]
        if tuple(map(type, row[1:])) != _RIGHT:
            columns = zip(_NAMES[1:], row[1:], _RIGHT, strict=True)
            strange = [name for name, value, kind in columns if type(value) is not kind]
            return f"event {self.position} is damaged: {', '.join(strange)} isn't of its type"
        expected = self._versions.get(stream_id, 0) + 1
        self._versions[stream_id] = version
        if version != expected:
            return f"version {version} comes where {expected} ought to"
        return None
