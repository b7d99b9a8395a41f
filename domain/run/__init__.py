"""Run: the lease under which operations are executed.

Invariants, always:

- the epoch grows by one with every claim and never falls; every epoch has one owner;
- a run that is finished or interrupted is so for ever.
"""

from turnledger.domain.run.decide import decide
from turnledger.domain.run.events import CATEGORY, EVENTS, Run, stream_id
from turnledger.domain.run.state import (
    STATE_FORM,
    RunStatus,
    State,
    broken_rule,
    evolve,
    fold,
)
from turnledger.domain.run.values import RunClaim, StartedRun

__all__ = [
    "CATEGORY",
    "EVENTS",
    "STATE_FORM",
    "Run",
    "RunClaim",
    "RunStatus",
    "StartedRun",
    "State",
    "broken_rule",
    "decide",
    "evolve",
    "fold",
    "stream_id",
]
