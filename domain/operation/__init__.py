"""Operation: one external effect that must not happen twice.

Invariants, always:

- it is claimed at most once, by the claim of its own run, and recorded before it is executed;
- what came of it is said once: by its owner under a live claim, or by a decision;
- it is settled (quiescent, with a known effect) for ever;
- in every state that isn't settled, one of claim, complete, recover or resolve makes progress.
"""

from turnledger.domain.operation.decide import decide, is_claimers
from turnledger.domain.operation.events import CATEGORY, EVENTS, Operation, stream_id
from turnledger.domain.operation.history import broken_rule
from turnledger.domain.operation.state import (
    STATE_FORM,
    Effect,
    Execution,
    State,
    evolve,
    fold,
)
from turnledger.domain.operation.values import (
    DECISIONS,
    EFFECTS,
    POLICIES,
    BlockingOperation,
    OperationRecovery,
    RecordedOperation,
    ReplayPolicy,
)

__all__ = [
    "CATEGORY",
    "DECISIONS",
    "EFFECTS",
    "EVENTS",
    "POLICIES",
    "STATE_FORM",
    "BlockingOperation",
    "Effect",
    "Execution",
    "Operation",
    "OperationRecovery",
    "RecordedOperation",
    "ReplayPolicy",
    "State",
    "broken_rule",
    "decide",
    "evolve",
    "fold",
    "is_claimers",
    "stream_id",
]
