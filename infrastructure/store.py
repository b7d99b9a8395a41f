"""What the rest of the infrastructure asks of a store, whichever it is."""

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, Protocol

from turnledger.infrastructure.fair_lock import FairLock
from turnledger.infrastructure.statement import Cursor


class Store(Protocol):
    """A ledger's database.

    Attributes:
        dialect: Which statements it takes; see `statement`.
        url: For messages; without a password.
        read_only: Whether nothing may be changed.
        writer: The lock for which this process's writers wait; None if the server sees to that.
    """

    dialect: str
    url: str
    read_only: bool
    writer: FairLock | None

    def begin(self, owner: object, *, several: bool = False) -> Cursor:
        """Begin a unit of work; `end` must follow.

        Args:
            owner: Lives as long as it: what is left of a dead one's is rolled back.
            several: More than one stream may be changed in it.
        """
        ...

    def end(self, error: BaseException | None) -> None:
        """Commit; or roll back, if something was raised."""
        ...

    def written(self) -> Any:
        """Changes whenever something is written in the unit of work."""
        ...

    def undo(self, cursor: Cursor, written: Any, *, savepoint: bool) -> bool:
        """Undo what was written since.

        Args:
            cursor: The transaction's.
            written: What `written` said then.
            savepoint: One was set then; else nothing can be undone.

        Returns:
            Whether nothing is left of it, and the transaction goes on.
        """
        ...

    def failure(self, error: BaseException) -> Exception | None:
        """What a driver's error means: a StoreError or Conflict; None if it is none of its."""
        ...

    def reading(
        self, *, snapshot: bool = False, damaged: bool = False
    ) -> AbstractContextManager[Cursor]:
        """A cursor for queries.

        Args:
            snapshot: Several queries see one state of the database.
            damaged: Also text that isn't UTF-8 any more is read.
        """
        ...

    def writing(self) -> AbstractContextManager[Cursor]:
        """A transaction from `begin` to `end`."""
        ...

    def recorder(self, clock: Any) -> Any:
        """The `eventsourcing` library's recorder on it."""
        ...

    def number(self, *, beside: bool = False) -> None:
        """Give positions to committed events that have none yet, if that is to be done.

        Args:
            beside: Also within a unit of work, on a connection beside it.
        """
        ...

    def wait_for_change(self, since: int, timeout: float) -> int:
        """Wait until there is an event behind a position, or the time in seconds is out.

        Returns:
            The last position.
        """
        ...

    def wait_for_work(self, since: int, timeout: float) -> int:
        """Wait until there may be something to do for a worker, or the time in seconds is out.

        Args:
            since: What the last call of this thread returned; -1 before the first.
            timeout: In seconds.

        Returns:
            A greater number if there may be something to do; then look for it before the next call.
        """
        ...

    def last_told(self) -> str:
        """The stream that ended this thread's last wait for work; empty if that isn't known."""
        ...

    def stop_waiting(self) -> None:
        """This thread doesn't wait for work any more, for a while at least."""
        ...

    def last_position(self) -> int:
        """The position of the last event; 0 if there is none."""
        ...

    def examined(self) -> Iterator[tuple[str, Literal["ok", "note", "problem"], str]]:
        """What `doctor` has to say of it: what was looked at, how it is, and a message."""
        ...

    def close(self) -> None:
        """Close every thread's connection."""
        ...


class _Owner:
    """Somebody who has a transaction."""


@contextmanager
def writing(store: Store) -> Generator[Cursor]:
    """A transaction from a store's `begin` to its `end`."""
    owner = _Owner()
    cursor = store.begin(owner, several=True)
    try:
        yield cursor
    except BaseException as error:
        store.end(error)
        raise
    store.end(None)
