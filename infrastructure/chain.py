"""What each stored event has to follow: positions, versions and hashes without a gap."""

from turnledger.infrastructure.mapper import NO_HASH
from turnledger.infrastructure.rows import LedgerNotification, as_notification
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import Row

_TYPES = {column.name: column.type.python_type for column in events.columns}


class Chain:
    """Follows the events of all streams, in the order of their positions.

    Attributes:
        position: Of the last event.
        seen: How many events were followed.
        last: The version, the hash and the time of each stream's last event.
    """

    def __init__(self, *, gaps: bool = False) -> None:
        """Start before the first event.

        Args:
            gaps: Only some streams are followed, so that there are gaps between positions.
        """
        self._gaps = gaps
        self.position = self.seen = 0
        self.last: dict[str, tuple[int, bytes, int]] = {}

    def follow(self, row: Row) -> tuple[LedgerNotification | None, list[str]]:
        """Take a whole row of the events table.

        Returns:
            The event, unless its columns are none of an event; and what is wrong with it.
        """
        flaws: list[str] = []
        position: int = self.position if row[0] is None else row[0]
        if row[0] is not None and position != self.position + 1 and not self._gaps:
            flaws.append(f"the position before it is {self.position}: events are missing")
        self.position, self.seen = position, self.seen + 1
        row = (position, *row[1:])
        strange = [name for name, v in zip(_TYPES, row, strict=True) if type(v) is not _TYPES[name]]
        if strange:
            return None, [*flaws, f"{', '.join(strange)} isn't of its type"]
        event = as_notification(row)
        return event, flaws + self._of_stream(event, row[-1])

    def _of_stream(self, event: LedgerNotification, stored_hash: bytes) -> list[str]:
        flaws: list[str] = []
        stream_id, found = str(event.originator_id), event.originator_version
        version, chained, recorded_at = self.last.get(stream_id, (0, NO_HASH, 0))
        if found != version + 1:
            flaws.append(f"version {found} of {stream_id} comes after version {version}")
        if event.recorded_at < recorded_at:
            flaws.append(f"it is recorded earlier than the event before it in {stream_id}")
        if event.chained_to(chained) != stored_hash:
            flaws.append(f"its bytes don't give its hash, in the chain of {stream_id}")
        self.last[stream_id] = (found, stored_hash, event.recorded_at)
        return flaws
