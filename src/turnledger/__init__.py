"""turnledger: the event-sourced queue of work for AI agents that nobody should write again."""

from turnledger.asynchronous import AsyncLedger, open_async
from turnledger.copying import Copied, copy
from turnledger.doctor import Check
from turnledger.domain.errors import (
    ClaimLost,
    IdempotencyConflict,
    InvalidDuration,
    InvalidIdentifier,
    InvalidInput,
    InvalidPayload,
    InvalidTime,
    InvalidTransition,
    LedgerError,
    OtherGeneration,
    PayloadTooLarge,
    QueuedTurnNotFound,
    QueueFull,
    Refusal,
    ReorderMismatch,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreReplaced,
    StoreTooNew,
    StoreUnavailable,
    ThreadArchived,
    ThreadDeleted,
    Unreadable,
)
from turnledger.domain.settings import Settings
from turnledger.domain.thread_queue import Claim, Evidence, QueuedTurn
from turnledger.ledger import (
    Ledger,
    new_generation,
    open,  # noqa: A004 - used as turnledger.open
    restore,
)
from turnledger.log import Cursor, RecordedEvent
from turnledger.migrating import Migration, migrate
from turnledger.threads import ThreadDeletion, ThreadSummary
from turnledger.verify import Finding, Verification
from turnledger.why import Why

__all__ = [
    "AsyncLedger",
    "Check",
    "Claim",
    "ClaimLost",
    "Copied",
    "Cursor",
    "Evidence",
    "Finding",
    "IdempotencyConflict",
    "InvalidDuration",
    "InvalidIdentifier",
    "InvalidInput",
    "InvalidPayload",
    "InvalidTime",
    "InvalidTransition",
    "Ledger",
    "LedgerError",
    "Migration",
    "OtherGeneration",
    "PayloadTooLarge",
    "QueueFull",
    "QueuedTurn",
    "QueuedTurnNotFound",
    "RecordedEvent",
    "Refusal",
    "ReorderMismatch",
    "Settings",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreReplaced",
    "StoreTooNew",
    "StoreUnavailable",
    "ThreadArchived",
    "ThreadDeleted",
    "ThreadDeletion",
    "ThreadSummary",
    "Unreadable",
    "Verification",
    "Why",
    "copy",
    "migrate",
    "new_generation",
    "open",
    "open_async",
    "restore",
]
