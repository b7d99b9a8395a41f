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
    │   ├── AttemptsExhausted
    │   ├── ClaimLost
    │   ├── ContentPurged
    │   ├── IdempotencyConflict
    │   ├── InvalidTransition
    │   ├── NotEncrypted
    │   ├── NothingRecorded
    │   ├── OperationNotFound
    │   ├── OperationSettled    it had no effect
    │   ├── OutcomeUnknown
    │   ├── QueueFull
    │   ├── QueuedTurnNotFound
    │   ├── ReorderMismatch
    │   ├── RequestChanged
    │   ├── StaleRevision
    │   ├── ThreadArchived
    │   ├── ThreadDeleted
    │   ├── TimerLimitReached
    │   ├── TimerNotFound
    │   └── TurnNotFound
    ├── NoEffect                raised by the body of an operation: nothing happened outside
    ├── Refused                 raised by a call to a provider: it said no, and did nothing
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
    AttemptsExhausted,
    ClaimLost,
    ContentPurged,
    IdempotencyConflict,
    InvalidTransition,
    NotEncrypted,
    NothingRecorded,
    OperationNotFound,
    OperationSettled,
    OutcomeUnknown,
    QueuedTurnNotFound,
    QueueFull,
    Refusal,
    ReorderMismatch,
    RequestChanged,
    StaleRevision,
    ThreadArchived,
    ThreadDeleted,
    TimerLimitReached,
    TimerNotFound,
    TurnNotFound,
)
from turnledger.domain.errors.root import (
    LedgerError,
    NoEffect,
    OtherGeneration,
    Refused,
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
    "AttemptsExhausted",
    "ClaimLost",
    "ContentPurged",
    "IdempotencyConflict",
    "InvalidDuration",
    "InvalidIdentifier",
    "InvalidInput",
    "InvalidPayload",
    "InvalidTime",
    "InvalidTransition",
    "InvalidTrigger",
    "LedgerError",
    "NoEffect",
    "NotEncrypted",
    "NothingRecorded",
    "OperationNotFound",
    "OperationSettled",
    "OtherGeneration",
    "OutcomeUnknown",
    "PayloadTooLarge",
    "QueueFull",
    "QueuedTurnNotFound",
    "Refusal",
    "Refused",
    "ReorderMismatch",
    "RequestChanged",
    "StaleRevision",
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
    "TurnNotFound",
    "Unreadable",
]
