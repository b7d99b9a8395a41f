"""The settings of a ledger: limits, and how durable a commit is."""

from datetime import timedelta
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from turnledger.domain.limits import Limits
from turnledger.domain.retry_policy import DEFAULT_RETRY_POLICY, RetryPolicy

MEBIBYTE = 1024 * 1024


class Settings(BaseModel):
    """What a host may choose when it opens a ledger.

    Attributes:
        max_visible_turns: Pending and failed queued turns of one thread.
        max_timers: Live timers of one thread.
        max_payload_bytes: A submission, as compact UTF-8 JSON.
        max_result_bytes: A failure or a result, likewise.
        max_lease: The longest lease; an end further ahead than this counts as over.
        max_claims: How often a queued turn may be given back before it is set aside as failed.
        busy_timeout: How long a command waits for the database.
        retry_policy: How often a coordinator turn asks a provider, and when again after a refusal.
        synchronous: SQLite's durability: FULL survives a power cut, NORMAL may lose the last
            commits in one (never a part of one), EXTRA also syncs the folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_visible_turns: int = Field(default=100, ge=1)
    max_timers: int = Field(default=256, ge=1)
    max_payload_bytes: int = Field(default=MEBIBYTE, ge=2)
    max_result_bytes: int = Field(default=16 * MEBIBYTE, ge=2)
    max_lease: timedelta = Field(default=timedelta(hours=24), ge=timedelta(seconds=1))
    max_claims: int = Field(default=25, ge=1)
    busy_timeout: timedelta = Field(default=timedelta(seconds=30), ge=timedelta(0))
    retry_policy: RetryPolicy = DEFAULT_RETRY_POLICY
    synchronous: Literal["EXTRA", "FULL", "NORMAL"] = "FULL"

    def limits(self) -> Limits:
        """The part that a decision depends on."""
        return Limits(
            self.max_visible_turns,
            self.max_claims,
            self.max_lease,
            self.max_timers,
            self.retry_policy,
        )
