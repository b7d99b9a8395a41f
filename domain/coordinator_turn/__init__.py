"""CoordinatorTurn: one unit of work of a coordinator on a work item, with its provider turns.

Invariants, always:

- a request is dispatched at most once in an attempt's life, and never by two owners;
- at most one attempt of a turn is unsettled: n+1 comes when n is cancelled or refused;
- the epoch grows by one with every claim and never falls; every epoch has one owner;
- a turn is acked at most once, by its last claim;
- in every state that isn't settled, one of claim, recover, resolve or cancel makes progress.
"""

from turnledger.domain.coordinator_turn.decide import decide
from turnledger.domain.coordinator_turn.events import (
    CATEGORY,
    EVENTS,
    CoordinatorTurn,
    stream_id,
)
from turnledger.domain.coordinator_turn.history import broken_rule
from turnledger.domain.coordinator_turn.state import (
    STATE_FORM,
    Attempt,
    AttemptStatus,
    State,
    TurnStatus,
    evolve,
    fold,
)
from turnledger.domain.coordinator_turn.values import (
    BegunTurn,
    ProviderTurn,
    Receipt,
    RecoverableTurn,
    Resumption,
    TurnClaim,
    TurnRecovery,
    WorkItemRevision,
)

__all__ = [
    "CATEGORY",
    "EVENTS",
    "STATE_FORM",
    "Attempt",
    "AttemptStatus",
    "BegunTurn",
    "CoordinatorTurn",
    "ProviderTurn",
    "Receipt",
    "RecoverableTurn",
    "Resumption",
    "State",
    "TurnClaim",
    "TurnRecovery",
    "TurnStatus",
    "WorkItemRevision",
    "broken_rule",
    "decide",
    "evolve",
    "fold",
    "stream_id",
]
