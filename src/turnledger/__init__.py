"""turnledger: the event-sourced queue of work for AI agents that nobody should write again."""

from turnledger.asynchronous import AsyncLedger, open_async
from turnledger.copying import Copied, copy
from turnledger.doctor import Check
from turnledger.domain.claim import Evidence
from turnledger.domain.errors import (
    ClaimLost,
    IdempotencyConflict,
    InvalidDuration,
    InvalidIdentifier,
    InvalidInput,
    InvalidPayload,
    InvalidTime,
    InvalidTransition,
    InvalidTrigger,
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
    TimerLimitReached,
    TimerNotFound,
    Unreadable,
)
from turnledger.domain.inbox import (
    InboxMessage,
    InboxRecovery,
    MessageClaim,
    NotReady,
    Rejected,
)
from turnledger.domain.settings import Settings
from turnledger.domain.thread_queue import Claim, QueuedTurn
from turnledger.domain.timer import Firing, ScheduledTimer, TimerRun
from turnledger.domain.trigger import Cron, Delay, Schedule
from turnledger.ledger import (
    Ledger,
    new_generation,
    open,  # noqa: A004 - used as turnledger.open
    restore,
)
from turnledger.log import Cursor, RecordedEvent
from turnledger.migrating import Migration, migrate
from turnledger.thread_values import ThreadDeletion, ThreadSummary
from turnledger.timers import Scheduler
from turnledger.verify import Finding, Verification
from turnledger.why import Why

__all__ = [
    "AsyncLedger",
    "Check",
    "Claim",
    "ClaimLost",
    "Copied",
    "Cron",
    "Cursor",
    "Delay",
    "Evidence",
    "Finding",
    "Firing",
    "IdempotencyConflict",
    "InboxMessage",
    "InboxRecovery",
    "InvalidDuration",
    "InvalidIdentifier",
    "InvalidInput",
    "InvalidPayload",
    "InvalidTime",
    "InvalidTransition",
    "InvalidTrigger",
    "Ledger",
    "LedgerError",
    "MessageClaim",
    "Migration",
    "NotReady",
    "OtherGeneration",
    "PayloadTooLarge",
    "QueueFull",
    "QueuedTurn",
    "QueuedTurnNotFound",
    "RecordedEvent",
    "Refusal",
    "Rejected",
    "ReorderMismatch",
    "Schedule",
    "ScheduledTimer",
    "Scheduler",
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
    "TimerLimitReached",
    "TimerNotFound",
    "TimerRun",
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
