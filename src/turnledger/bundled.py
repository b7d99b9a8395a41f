"""What a bundle is held to: its streams are whole, and each event is in the log it was made of."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from turnledger.checkpoint_note import Checkpoint
from turnledger.domain.errors import InvalidPayload
from turnledger.infrastructure import bundle_file, ledger_row
from turnledger.infrastructure.bundle_file import Contents
from turnledger.infrastructure.ledger_row import LedgerRow
from turnledger.infrastructure.merkle import Inclusion
from turnledger.infrastructure.store import Store


class Flaw(NamedTuple):
    """Something of a bundle that isn't as it ought to be.

    Attributes:
        position: Of the event; None if it is of none.
    """

    position: int | None
    message: str


class Bundled:
    """Looks at a bundle's events, one after the other.

    Attributes:
        note: What the bundle is, in a sentence.
    """

    def __init__(self, contents: Contents, ledger: LedgerRow | None) -> None:
        """Take what the bundle says of itself, and which ledger its row names."""
        self._contents = contents
        self._ledger = ledger
        self._checkpoint, self._unread = _checkpoint_in(contents)
        size, root = 0, b""
        if self._checkpoint is not None:
            size, root = self._checkpoint.size, bytes.fromhex(self._checkpoint.root)
        self._size = size
        self._inclusion = Inclusion(size, root, contents.nodes)
        about = f"{contents.subject.kind.replace('_', ' ')} {contents.subject.id}"
        self.note = f"it is a bundle about {about}, of a log of {size:,} events with root "
        self.note += root.hex() or "unknown"

    def flaws(self, position: int, stream_id: str, chained: object) -> Iterator[str]:
        """What is wrong with an event's place.

        Args:
            position: The event's.
            stream_id: Its stream.
            chained: Its stored hash.
        """
        if stream_id not in self._contents.ends:
            yield f"{stream_id} isn't among the streams of the bundle"
        if not isinstance(chained, bytes) or not self._inclusion.holds(position - 1, chained):
            yield f"it isn't proven to be event {position} of the log of {self._size:,} events"

    def rest(self, last: Mapping[str, tuple[int, bytes, int]]) -> Iterator[Flaw]:
        """What is wrong beside single events.

        Args:
            last: The version of each stream's last event that is there, first.
        """
        if self._unread is not None:
            yield Flaw(None, self._unread)
        elif self._ledger is None or self._checkpoint is None or self._other_ledger():
            yield Flaw(None, "the checkpoint is about another ledger, or generation")
        for stream_id, (version, position) in sorted(self._contents.ends.items()):
            there = last.get(stream_id, (0, b"", 0))[0]
            if there != version:
                message = f"{stream_id} ends with version {there} here, and had {version}"
                lacks = there < version
                said = "events are missing" if lacks else "there are too many events"
                yield Flaw(position if lacks else None, f"{message}: {said}")

    def _other_ledger(self) -> bool:
        names = self._ledger[:2] if self._ledger else None
        mine = self._checkpoint
        return mine is None or names != (mine.ledger_id, mine.generation)


def bundled(store: Store) -> Bundled | None:
    """What a bundle's events are held to; None if the store is a whole ledger."""
    contents = bundle_file.read(store)
    if contents is None:
        return None
    with store.reading() as cursor:
        return Bundled(contents, ledger_row.known(cursor))


def _checkpoint_in(contents: Contents) -> tuple[Checkpoint | None, str | None]:
    try:
        [checkpoint] = Checkpoint.read(contents.checkpoint)
    except (InvalidPayload, ValueError) as error:
        return None, f"the checkpoint can't be read: {error}"
    return checkpoint, None
