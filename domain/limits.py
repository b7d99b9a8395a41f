"""What a decision depends on beside the state and the command: the time and the limits."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from turnledger.domain.payload import encode
from turnledger.domain.retry_policy import DEFAULT_RETRY_POLICY, RetryPolicy


@dataclass(frozen=True)
class Limits:
    """The settings that a decision depends on."""

    max_visible_turns: int = 100
    max_claims: int = 25
    max_lease: timedelta = timedelta(hours=24)
    max_timers: int = 256
    retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY

    @cached_property
    def recorded(self) -> str:
        """Those that aren't the default, as a member of the JSON that records a command."""
        changed = {k: v for k, v in asdict(self).items() if v != getattr(DEFAULT_LIMITS, k)}
        if "max_lease" in changed:
            changed["max_lease"] = changed["max_lease"].total_seconds()
        return f',"limits":{encode(changed)}' if changed else ""


DEFAULT_LIMITS = Limits()


class Context(NamedTuple):
    """When a command is decided, and within which limits.

    Attributes:
        now: The reading of the clock: leases are judged by it.
        recorded_at: When its events will be recorded: now, or later if the clock stepped back.
        limits: The settings that the decision depends on.
    """

    now: datetime
    recorded_at: datetime
    limits: Limits = DEFAULT_LIMITS

    def lease_is_over(self, expires_at: datetime) -> bool:
        """Whether a lease ended, or ends further ahead than any lease may (a clock was wrong)."""
        return self.now >= expires_at or expires_at - self.now > self.limits.max_lease
