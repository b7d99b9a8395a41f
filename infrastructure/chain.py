"""What each stored event has to follow: positions, versions and hashes without a gap."""

from collections.abc import Sequence

from turnledger.infrastructure.mapper import NO_HASH, chain_hash
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import Row

_TYPES = {column.name: column.type.python_type for column in events.columns}
_RIGHT = tuple(_TYPES.values())
_NOTHING = (0, NO_HASH, 0)
_FINE = (True, ())


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

    def follow(self, row: Row) -> tuple[bool, Sequence[str]]:
        """Take a whole row of the events table.

        Returns:
            Whether its columns are those of an event; and what is wrong with it.
        """
        if tuple(map(type, row)) == _RIGHT:  # nearly always
            position, stream_id, found, *_, recorded_at, stored = row
            version, previous, earlier = self.last.get(stream_id, _NOTHING)
            if (
                (position == self.position + 1 or self._gaps)
                and found == version + 1
                and recorded_at >= earlier
                and _hash_of(row, previous) == stored
            ):
                self.position, self.seen = position, self.seen + 1
                self.last[stream_id] = (found, stored, recorded_at)
                return _FINE
        return self._doubtful(row)

    def _doubtful(self, row: Row) -> tuple[bool, list[str]]:
        """Likewise, of an event that isn't plainly the next one."""
        flaws: list[str] = []
        position: int = self.position if row[0] is None else row[0]
        if row[0] is not None and position != self.position + 1 and not self._gaps:
            flaws.append(f"the position before it is {self.position}: events are missing")
        self.position, self.seen = position, self.seen + 1
        if tuple(map(type, (position, *row[1:]))) != _RIGHT:
            names = zip(_TYPES, (position, *row[1:]), strict=True)
            strange = [name for name, value in names if type(value) is not _TYPES[name]]
            return False, [*flaws, f"{', '.join(strange)} isn't of its type"]
        return True, flaws + self._of_stream(row)

    def _of_stream(self, row: Row) -> list[str]:
        flaws: list[str] = []
        _, stream_id, found, *_, recorded_at, stored = row
        version, previous, earlier = self.last.get(stream_id, _NOTHING)
        if found != version + 1:
            flaws.append(f"version {found} of {stream_id} comes after version {version}")
        if recorded_at < earlier:
            flaws.append(f"it is recorded earlier than the event before it in {stream_id}")
        if _hash_of(row, previous) != stored:
            flaws.append(f"its bytes don't give its hash, in the chain of {stream_id}")
        self.last[stream_id] = (found, stored, recorded_at)
        return flaws


def _hash_of(row: Row, previous: bytes) -> bytes:
    """The hash that an event ought to have."""
    _, stream_id, version, topic, schema_version, data, metadata, recorded_at, _ = row
    return chain_hash(
        previous,
        stream_id.encode(errors="surrogateescape"),
        b"%d" % version,
        topic.encode(errors="surrogateescape"),
        b"%d" % schema_version,
        b"%d" % recorded_at,
        metadata.encode(errors="surrogateescape"),
        data.encode(errors="surrogateescape"),
    )
