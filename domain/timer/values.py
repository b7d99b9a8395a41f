"""What comes back: frozen values. JSON inside them is plain dict and list, a fresh copy."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from turnledger.domain.trigger import Trigger


@dataclass(frozen=True, kw_only=True)
class ScheduledTimer:
    """A timer and what has become of it.

    Attributes:
        trigger: When it runs, resolved; None if this release can't read it.
        content: What it says.
        delivery: When its message is delivered: after-turn or steer-current-turn.
        state: scheduled, error, ended or deleted.
        due: Its next run was marked as due; an idle-recurring timer always is.
        next_run_at: None if it has none, or is idle-recurring.
        runs: How often it fired.
        error: Why it was set aside.
        duplicate: The command that returned this had been carried out before.
        unreadable: What is wrong with the stored record, if it can't be read.
    """

    timer_id: str
    thread_id: str
    state: str
    trigger: Trigger | None
    content: Any
    created_at: datetime
    next_run_at: datetime | None = None
    due: bool = False
    last_run_at: datetime | None = None
    runs: int = 0
    paused: bool = False
    delivery: str = "after-turn"
    instructions: Any = None
    metadata: dict[str, Any]
    source: str = "host"
    client_id: str | None = None
    error: str | None = None
    duplicate: bool = False
    unreadable: str | None = None


@dataclass(frozen=True, kw_only=True)
class Firing:
    """One consumed occurrence, with what its timer says.

    Attributes:
        epoch: Which firing of the timer it is.
        planned_at: The occurrence; an idle-recurring timer's is when it fired.
        fired_at: When it was consumed.
        late_by: The time between the two.
        missed: How many other occurrences ended with it; 1,000 may be more.
        last_run_at: The timer's, from now on; likewise next_run_at.
    """

    timer_id: str
    thread_id: str
    owner: str
    epoch: int
    planned_at: datetime
    fired_at: datetime
    late_by: timedelta
    missed: int
    last_run_at: datetime
    next_run_at: datetime | None
    content: Any
    instructions: Any
    metadata: dict[str, Any]
    delivery: str
    source: str
    client_id: str | None


@dataclass(frozen=True, kw_only=True)
class TimerRun:
    """An entry of a timer's history: a firing, or occurrences that weren't run.

    Attributes:
        planned_at: The occurrence; of several that weren't run, the first.
        fired_at: When it was consumed; None if it wasn't run.
        late_by: The time between the two.
        missed: How many others ended with it; if it wasn't run, how many weren't, with this one.
        owner: Who consumed it; likewise epoch, and the message that it posted.
    """

    timer_id: str
    planned_at: datetime
    recorded_at: datetime
    fired_at: datetime | None = None
    late_by: timedelta | None = None
    missed: int
    owner: str | None = None
    epoch: int | None = None
    message_id: str | None = None
