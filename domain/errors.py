"""Every refusal and failure that turnledger raises.

A class exists only where a caller would act differently. The constructor takes the facts and
builds the message: what is wrong, and what to do.

    LedgerError
    ├── InvalidInput            the call itself is wrong; the same call never succeeds
    │   ├── InvalidIdentifier
    │   ├── InvalidPayload
    │   ├── InvalidDuration
    │   ├── InvalidTime
    │   └── PayloadTooLarge
    ├── Refusal                 the state doesn't allow it; nothing changed
    │   ├── ClaimLost
    │   ├── IdempotencyConflict
    │   ├── InvalidTransition
    │   ├── QueueFull
    │   ├── QueuedTurnNotFound
    │   ├── ReorderMismatch
    │   ├── ThreadArchived
    │   └── ThreadDeleted
    ├── OtherGeneration         a cursor from before a restore
    ├── Unreadable              a stored record is damaged, or written by a newer release
    └── StoreError              the database says no
        ├── StoreUnavailable    busy or out of reach: try again
        ├── StoreFull
        ├── StoreReadOnly
        ├── StoreReplaced       the path leads to another file now
        ├── StoreDamaged
        └── StoreTooNew         written by a newer release
"""

import re
from typing import Any, ClassVar

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


class LedgerError(Exception):
    """The root of all that turnledger raises.

    Attributes:
        code: The class name in snake case; stable, for programs.
        retryable: Whether the same call may succeed later without anybody's help.
    """

    code: ClassVar[str] = "ledger_error"
    retryable: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Derive the stable code from the class name."""
        super().__init_subclass__(**kwargs)
        cls.code = _WORD_START.sub("_", cls.__name__).lower()

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts
        self.__dict__.update(facts)

    def __reduce__(self) -> Any:
        """Pickle by message and facts, whatever the subclass's constructor takes."""
        return (_rebuild, (type(self), self.message, self.facts))


def _rebuild(kind: type[LedgerError], message: str, facts: dict[str, Any]) -> LedgerError:
    error = kind.__new__(kind)
    LedgerError.__init__(error, message, **facts)
    return error


class InvalidInput(LedgerError):
    """The call itself is wrong: the same call can never succeed."""

    name: str
    reason: str

    def __init__(self, name: str, reason: str, **facts: Any) -> None:
        super().__init__(f"{name} {reason}", name=name, reason=reason, **facts)


class InvalidIdentifier(InvalidInput):
    """An identifier is empty, too long, or holds characters that identifiers can't have."""


class InvalidPayload(InvalidInput):
    """A value is not JSON as turnledger stores it, or not one of the words a command takes."""


class InvalidDuration(InvalidInput):
    """A lease or time-out is not finite, too short, or past its setting."""


class InvalidTime(InvalidInput):
    """A time without a timezone, or no time at all."""


class PayloadTooLarge(InvalidInput):
    """A payload is larger than its setting. Store it elsewhere and pass a reference."""

    size: int
    limit: int

    def __init__(self, name: str, size: int, limit: int) -> None:
        reason = f"is {size:,} bytes of JSON, more than the limit of {limit:,}"
        advice = "store it elsewhere and pass a reference"
        super().__init__(name, f"{reason}; {advice}", size=size, limit=limit)


class Refusal(LedgerError):
    """The state doesn't allow it. Nothing changed."""


class ClaimLost(Refusal):
    """The claim isn't the current one any more, or its lease is over. Stop working on it."""

    thread_id: str
    owner: str
    epoch: int

    def __init__(self, thread_id: str, owner: str, epoch: int, reason: str) -> None:
        super().__init__(
            f"{owner}'s claim on thread {thread_id} (epoch {epoch}) is lost: {reason}; stop "
            "working on it",
            thread_id=thread_id,
            owner=owner,
            epoch=epoch,
            reason=reason,
        )


class IdempotencyConflict(Refusal):
    """The key was used before, for something else."""

    def __init__(self, scope: str, key: str, command: str) -> None:
        super().__init__(
            f"key {key!r} of {scope} was used by {command} with other arguments; use a new key "
            "for a new request",
            scope=scope,
            key=key,
            command=command,
        )


class InvalidTransition(Refusal):
    """What is there isn't in a state from which this command goes on."""

    def __init__(self, thread_id: str, command: str, reason: str, **facts: Any) -> None:
        super().__init__(
            f"{command} on thread {thread_id}: {reason}",
            thread_id=thread_id,
            command=command,
            reason=reason,
            **facts,
        )


class QueueFull(Refusal):
    """The thread has as many visible queued turns as the setting allows."""

    retryable = True
    limit: int
    visible: int

    def __init__(self, thread_id: str, visible: int, limit: int) -> None:
        super().__init__(
            f"thread {thread_id} has {visible} visible queued turns of at most {limit}; delete "
            "some, or wait until they have run",
            thread_id=thread_id,
            visible=visible,
            limit=limit,
        )


class QueuedTurnNotFound(Refusal):
    """The thread has no such queued turn, or not any more."""

    def __init__(self, thread_id: str, queued_turn_id: str) -> None:
        super().__init__(
            f"thread {thread_id} has no queued turn {queued_turn_id} in its visible queue",
            thread_id=thread_id,
            queued_turn_id=queued_turn_id,
        )


class ReorderMismatch(Refusal):
    """The given ids aren't exactly the visible queue. List it again and decide anew."""

    retryable = True
    missing: tuple[str, ...]
    unknown: tuple[str, ...]

    def __init__(
        self,
        thread_id: str,
        missing: tuple[str, ...],
        unknown: tuple[str, ...],
        repeated: tuple[str, ...] = (),
    ) -> None:
        parts = (("missing", missing), ("unknown", unknown), ("given twice", repeated))
        said = "; ".join(f"{word}: {', '.join(ids)}" for word, ids in parts if ids)
        super().__init__(
            f"the ids aren't exactly the visible queue of thread {thread_id} ({said}); list it "
            "again",
            thread_id=thread_id,
            missing=missing,
            unknown=unknown,
            repeated=repeated,
        )


class ThreadArchived(Refusal):
    """The thread is archived: it takes and starts no work until it is unarchived."""

    def __init__(self, thread_id: str) -> None:
        message = f"thread {thread_id} is archived; unarchive it first"
        super().__init__(message, thread_id=thread_id)


class ThreadDeleted(Refusal):
    """The thread is deleted. Its history remains; it takes no more commands."""

    def __init__(self, thread_id: str) -> None:
        message = f"thread {thread_id} is deleted; use another thread"
        super().__init__(message, thread_id=thread_id)


class OtherGeneration(LedgerError):
    """A cursor comes from before the ledger was restored: events it saw may not exist now."""

    def __init__(self, given: str, current: str) -> None:
        super().__init__(
            f"the cursor is of generation {given}, the ledger is of generation {current} (it "
            "was restored from a backup); read again from the start",
            given=given,
            current=current,
        )


class Unreadable(LedgerError):
    """A stored record is damaged or of a newer release. It is kept, and nothing is done with it."""

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(
            f"{what} can't be read: {reason}; it is kept as it is (see `turnledger verify`)",
            what=what,
            reason=reason,
        )


class StoreError(LedgerError):
    """The database says no."""

    _says: ClassVar[str] = "failed"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"the store {url} {self._says}: {reason}", url=url, reason=reason)


class StoreUnavailable(StoreError):
    """The database is busy or out of reach."""

    retryable = True
    _says: ClassVar[str] = "isn't available"


class StoreFull(StoreError):
    """The disk is full. Reading goes on working, and writing when there is room again."""

    retryable = True
    _says: ClassVar[str] = "has no room left"


class StoreReadOnly(StoreError):
    """The file or its medium can't be written, or the ledger was opened read-only."""

    _says: ClassVar[str] = "can't be written"


class StoreReplaced(StoreError):
    """The path doesn't lead to the file that is open any more. Open the ledger again."""

    _says: ClassVar[str] = "was replaced while it was open; open it again"


class StoreDamaged(StoreError):
    """The database file is damaged, or no database. Restore a backup."""

    _says: ClassVar[str] = "is damaged"


class StoreTooNew(StoreError):
    """The ledger was written by a newer release. Upgrade turnledger."""

    _says: ClassVar[str] = "was written by a newer release; upgrade turnledger"
