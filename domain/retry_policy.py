"""When a refused attempt is tried again: longer each time, up to a cap, and a little apart.

The spread comes from what is retried, not from chance: the same attempt always waits equally long.
"""

import hashlib
import math
from datetime import timedelta

from pydantic import BaseModel, ConfigDict, Field

_SPREAD = 2**64


class RetryPolicy(BaseModel):
    """How often a coordinator turn asks a provider, and how long it waits after a refusal.

    Attributes:
        max_attempts: No attempt behind this one is prepared.
        base: The wait after the first attempt.
        factor: By what the wait grows with each further attempt.
        cap: The longest wait.
        jitter: Up to which part of the wait is taken off, so that not all come back at once: from
            0, nothing, to 1.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_attempts: int = Field(default=20, ge=1)
    base: timedelta = Field(default=timedelta(seconds=1), ge=timedelta(0))
    factor: float = Field(default=2.0, ge=1, allow_inf_nan=False)
    cap: timedelta = Field(default=timedelta(minutes=5), ge=timedelta(0), le=timedelta(days=365))
    jitter: float = Field(default=0.2, ge=0, le=1)

    def wait(self, attempt: int, what: str) -> timedelta:
        """How long to wait after a refusal.

        Args:
            attempt: Which one was refused, counted from 1.
            what: What is retried: its name decides how much is taken off.
        """
        full = self._capped_seconds(attempt)
        digest = hashlib.sha256(f"{what}/{attempt}".encode()).digest()
        share = int.from_bytes(digest[:8], "big") / _SPREAD
        return timedelta(seconds=full * (1 - self.jitter * share))

    def _capped_seconds(self, attempt: int) -> float:
        """Compared by logarithms first, since a power can be too large to be computed."""
        base, cap = self.base.total_seconds(), self.cap.total_seconds()
        if base >= cap or base == 0:
            return min(base, cap)
        grown = (attempt - 1) * math.log(self.factor)
        return cap if grown >= math.log(cap / base) else base * self.factor ** (attempt - 1)


DEFAULT_RETRY_POLICY = RetryPolicy()
