"""Every refusal and failure that turnledger raises.

A class exists only where a caller would act differently. The constructor takes the facts and
builds the message: what is wrong, and what to do.

    LedgerError
    ├── InvalidInput            the call itself is wrong; the same call never succeeds
    │   ├── InvalidIdentifier
    │   ├── InvalidPayload
    │   ├── InvalidDuration
    │   ├── InvalidTime
    │   ├── InvalidTrigger
    │   └── PayloadTooLarge
    ├── Refusal                 the state doesn't allow it; nothing changed
    │   ├── ClaimLost
    │   ├── IdempotencyConflict
    │   ├── InvalidTransition
    │   ├── QueueFull
    │   ├── QueuedTurnNotFound
    │   ├── ReorderMismatch
    │   ├── ThreadArchived
    │   ├── ThreadDeleted
    │   ├── TimerLimitReached
    │   └── TimerNotFound
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

from turnledger.domain.errors.bad_input import (
    InvalidDuration,
    InvalidIdentifier,
    InvalidInput,
    InvalidPayload,
    InvalidTime,
    InvalidTrigger,
    PayloadTooLarge,
)
from turnledger.domain.errors.refusal import (
    ClaimLost,
    IdempotencyConflict,
    InvalidTransition,
    QueuedTurnNotFound,
    QueueFull,
    Refusal,
    ReorderMismatch,
    ThreadArchived,
    ThreadDeleted,
    TimerLimitReached,
    TimerNotFound,
)
from turnledger.domain.errors.root import (
    LedgerError,
    OtherGeneration,
    Unreadable,
)
from turnledger.domain.errors.store import (
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreReplaced,
    StoreTooNew,
    StoreUnavailable,
)

__all__ = [
    "ClaimLost",
    "IdempotencyConflict",
    "InvalidDuration",
    "InvalidIdentifier",
    "InvalidInput",
    "InvalidPayload",
    "InvalidTime",
    "InvalidTransition",
    "InvalidTrigger",
    "LedgerError",
    "OtherGeneration",
    "PayloadTooLarge",
    "QueueFull",
    "QueuedTurnNotFound",
    "Refusal",
    "ReorderMismatch",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreReplaced",
    "StoreTooNew",
    "StoreUnavailable",
    "ThreadArchived",
    "ThreadDeleted",
    "TimerLimitReached",
    "TimerNotFound",
    "Unreadable",
]
