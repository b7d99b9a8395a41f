"""The leaves of the log's Merkle tree: the chain hash of each event, in the order of positions."""

from collections.abc import Iterator

from sqlalchemy import bindparam, select

from turnledger.infrastructure.merkle import HASH_BYTES
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import Row, run, statement
from turnledger.infrastructure.store import Store

_PAGE = 5_000
_e = events.c
_HASHES = statement(
    select(_e.position, _e.hash)
    .where(_e.position > bindparam("after"), _e.position <= bindparam("upto"))
    .order_by(_e.position)
    .limit(bindparam("limit"))
)


class Leaves:
    """The leaves of some events, page by page: no snapshot is held between two pages.

    Attributes:
        flaw: Why they ended too early, if they did: what is wrong with the event that comes next.
    """

    def __init__(self, store: Store, upto: int, *, after: int = 0) -> None:
        """Take where the log is, and between which positions: behind one, up to another."""
        self._store = store
        self._after = after
        self._upto = upto
        self.flaw: str | None = None

    def __iter__(self) -> Iterator[list[bytes]]:
        """Lists of leaves, of 32 bytes each."""
        position = self._after
        while position < self._upto and self.flaw is None:
            given = {"after": position, "upto": self._upto, "limit": _PAGE}
            with self._store.reading(damaged=True) as cursor:
                page = run(cursor, self._store.dialect, _HASHES, given).fetchall()
            found = list(self._sound(page, position))
            position += len(found)
            if self.flaw is None and not page:
                self.flaw = f"event {position + 1} is missing"
            yield found

    def _sound(self, page: list[Row], position: int) -> Iterator[bytes]:
        for number, (found, leaf) in enumerate(page, position + 1):
            if found != number:
                self.flaw = f"event {number} is missing"
                return
            if not isinstance(leaf, bytes) or len(leaf) != HASH_BYTES:
                self.flaw = f"the hash of event {number} is none"
                return
            yield leaf
