"""turnledger: the event-sourced queue of work for AI agents that nobody should write again."""

from turnledger import redaction
from turnledger.analytics import Depth, Figures, Flow, FlowStep, Spread, Stats, Variant
from turnledger.asynchronous import AsyncLedger, AsyncTurnInHand, AsyncTurns, open_async
from turnledger.bundling import Bundle
from turnledger.checkpoint_note import Checkpoint
from turnledger.checkpoints import Checked, InclusionProof
from turnledger.copying import Copied, copy
from turnledger.doctor import Check
from turnledger.domain.claim import Evidence
from turnledger.domain.coordinator_turn import (
    BegunTurn,
    ProviderTurn,
    Receipt,
    RecoverableTurn,
    Resumption,
    TurnClaim,
    TurnRecovery,
    WorkItemRevision,
)
from turnledger.domain.errors import (
    AttemptsExhausted,
    ClaimLost,
    ContentPurged,
    IdempotencyConflict,
    InvalidDuration,
    InvalidIdentifier,
    InvalidInput,
    InvalidPayload,
    InvalidTime,
    InvalidTransition,
    InvalidTrigger,
    LedgerError,
    NoEffect,
    NotEncrypted,
    NothingRecorded,
    OperationNotFound,
    OperationSettled,
    OtherGeneration,
    OutcomeUnknown,
    PayloadTooLarge,
    QueuedTurnNotFound,
    QueueFull,
    Refusal,
    Refused,
    ReorderMismatch,
    RequestChanged,
    StaleRevision,
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
    TurnNotFound,
    Unreadable,
)
from turnledger.domain.inbox import (
    InboxMessage,
    InboxRecovery,
    MessageClaim,
    NotReady,
    Rejected,
)
from turnledger.domain.operation import (
    BlockingOperation,
    OperationRecovery,
    RecordedOperation,
)
from turnledger.domain.redactor import Redactor
from turnledger.domain.retry_policy import RetryPolicy
from turnledger.domain.run import RunClaim, StartedRun
from turnledger.domain.settings import Settings
from turnledger.domain.thread_queue import Claim, QueuedTurn
from turnledger.domain.timer import Firing, ScheduledTimer, TimerRun
from turnledger.domain.trigger import Cron, Delay, Schedule
from turnledger.door import (
    new_generation,
    open,  # noqa: A004 - used as turnledger.open
    restore,
)
from turnledger.exporting import Exported
from turnledger.gauges import Gauges
from turnledger.ledger import Ledger, PastLedger
from turnledger.log import Cursor, RecordedEvent
from turnledger.migrating import Migration, migrate
from turnledger.rebuild import Rebuilt, RebuiltTable
from turnledger.recovery import Recovered
from turnledger.replaying import Difference, ReplayedEvent, ReplayReport, Unread
from turnledger.thread_values import ThreadDeletion, ThreadSummary
from turnledger.timers import Scheduler
from turnledger.turns import TurnInHand, Turns
from turnledger.verify import Finding, Verification
from turnledger.why import Why
from turnledger.worker import AsyncWorker, Happening, Health, Worker

__all__ = [
    "AsyncLedger",
    "AsyncTurnInHand",
    "AsyncTurns",
    "AsyncWorker",
    "AttemptsExhausted",
    "BegunTurn",
    "BlockingOperation",
    "Bundle",
    "Check",
    "Checked",
    "Checkpoint",
    "Claim",
    "ClaimLost",
    "ContentPurged",
    "Copied",
    "Cron",
    "Cursor",
    "Delay",
    "Depth",
    "Difference",
    "Evidence",
    "Exported",
    "Figures",
    "Finding",
    "Firing",
    "Flow",
    "FlowStep",
    "Gauges",
    "Happening",
    "Health",
    "IdempotencyConflict",
    "InboxMessage",
    "InboxRecovery",
    "InclusionProof",
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
    "NoEffect",
    "NotEncrypted",
    "NotReady",
    "NothingRecorded",
    "OperationNotFound",
    "OperationRecovery",
    "OperationSettled",
    "OtherGeneration",
    "OutcomeUnknown",
    "PastLedger",
    "PayloadTooLarge",
    "ProviderTurn",
    "QueueFull",
    "QueuedTurn",
    "QueuedTurnNotFound",
    "Rebuilt",
    "RebuiltTable",
    "Receipt",
    "RecordedEvent",
    "RecordedOperation",
    "RecoverableTurn",
    "Recovered",
    "Redactor",
    "Refusal",
    "Refused",
    "Rejected",
    "ReorderMismatch",
    "ReplayReport",
    "ReplayedEvent",
    "RequestChanged",
    "Resumption",
    "RetryPolicy",
    "RunClaim",
    "Schedule",
    "ScheduledTimer",
    "Scheduler",
    "Settings",
    "Spread",
    "StaleRevision",
    "StartedRun",
    "Stats",
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
    "TurnClaim",
    "TurnInHand",
    "TurnNotFound",
    "TurnRecovery",
    "Turns",
    "Unread",
    "Unreadable",
    "Variant",
    "Verification",
    "Why",
    "WorkItemRevision",
    "Worker",
    "copy",
    "migrate",
    "new_generation",
    "open",
    "open_async",
    "redaction",
    "restore",
]
