"""Timer: a prompt for a thread at a later time, once or again and again.

Invariants, always:

- an occurrence is consumed once, by the one firing that names it, and the epoch counts the firings;
- last_run_at rises with every firing, and is never later than the firing but by the millisecond
  that keeps two apart;
- a timer has a next run, or is idle-recurring, ended, deleted, or set aside with the reason;
- what has ended or was deleted never fires again.
"""

from turnledger.domain.timer.decide import decide
from turnledger.domain.timer.events import CATEGORY, EVENTS, Timer, stream_id
from turnledger.domain.timer.guards import Decision
from turnledger.domain.timer.history import broken_rule
from turnledger.domain.timer.state import (
    LIVE,
    STATE_FORM,
    Content,
    State,
    Surroundings,
    evolve,
    fold,
)
from turnledger.domain.timer.values import Firing, ScheduledTimer, TimerRun

__all__ = [
    "CATEGORY",
    "EVENTS",
    "LIVE",
    "STATE_FORM",
    "Content",
    "Decision",
    "Firing",
    "ScheduledTimer",
    "State",
    "Surroundings",
    "Timer",
    "TimerRun",
    "broken_rule",
    "decide",
    "evolve",
    "fold",
    "stream_id",
]
