"""Trigger: when a timer runs. Pure: from a trigger and an instant follows the next occurrence.

Times of a trigger are local, in an IANA timezone; occurrences are instants in UTC. Laws, always:

- the next occurrence is strictly later than what it is asked for;
- a rule below a day runs by elapsed time; one with fixed local times runs once in an hour that is
  repeated, at the earlier, and at the first instant after a gap;
- occurrences that meet at one instant are one;
- no search goes on without end: it is given up after 28 years, or the work of about 100 ms.
"""

from turnledger.domain.trigger.misfire import Due, due, passed_over
from turnledger.domain.trigger.model import (
    Cron,
    Delay,
    Schedule,
    Trigger,
    as_trigger,
    in_timezone,
    is_idle,
    says_idle,
)
from turnledger.domain.trigger.occurrence import first_run, next_after, occurrences

__all__ = [
    "Cron",
    "Delay",
    "Due",
    "Schedule",
    "Trigger",
    "as_trigger",
    "due",
    "first_run",
    "in_timezone",
    "is_idle",
    "next_after",
    "occurrences",
    "passed_over",
    "says_idle",
]
