"""What both kinds of workers share: what they count, log and report, and how they try again."""

import logging
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from turnledger.domain.retry_policy import RetryPolicy
from turnledger.infrastructure.clock import steady
from turnledger.turns.standing import Standing, facts_of, failure_of

_log = logging.getLogger("turnledger.worker")

Kind = Literal["begun", "acked", "failed", "released", "unknown", "retrying", "gave_up", "lost"]
_LEVELS: dict[Kind, int] = {
    "begun": logging.DEBUG,
    "acked": logging.INFO,
    "failed": logging.WARNING,
    "released": logging.WARNING,
    "unknown": logging.ERROR,
    "retrying": logging.WARNING,
    "gave_up": logging.ERROR,
    "lost": logging.WARNING,
}
RETRY = RetryPolicy(max_attempts=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that happened to a turn in a worker's hands.

    Attributes:
        kind: begun; acked; failed, by the function itself; released; unknown, it broke after the
            dispatch and waits for a decision; retrying, nothing had happened yet; gave_up, likewise
            but too often: it stays failed; lost, somebody else has it.
        attempt: Which one it was, from 1.
        seconds: Since it began; of retrying, until the next attempt.
        error: What was raised, as text.
    """

    kind: Kind
    thread_id: str
    queued_turn_id: str
    attempt: int
    seconds: float
    error: str | None = None


Report = Callable[[Happening], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How a worker is.

    Attributes:
        owner: Who it is; None before it runs.
        is_running: It claims turns.
        in_hand: So many it works on.
        counts: How often each kind of `Happening` came.
        idle_seconds: Since the last of them; of the start, before.
    """

    owner: str | None
    is_running: bool
    in_hand: int
    counts: dict[str, int]
    idle_seconds: float


class Book:
    """Counts, logs and reports what happens."""

    def __init__(self, report: Report | None, retry: RetryPolicy) -> None:
        """Take who is told, and how often a turn is tried."""
        self.retry = retry
        self._report = report
        self._guard = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._last = steady()

    def say(
        self, kind: Kind, turn: Standing, since: float, error: BaseException | None = None
    ) -> None:
        """Something happened to a turn."""
        self._say(kind, turn, steady() - since, error)

    def broke(self, turn: Standing, since: float, error: BaseException) -> None:
        """Something was raised after which nobody can know, or before which nothing was sent."""
        self.say("unknown" if turn.result == "failed" else "released", turn, since, error)

    def retrying(self, turn: Standing, error: BaseException) -> float:
        """A turn is tried again; returns in how many seconds."""
        wait = self.retry.wait(turn.attempts + 1, turn.queued_turn_id).total_seconds()
        self._say("retrying", turn, wait, error)
        return wait

    def _say(self, kind: Kind, turn: Standing, seconds: float, error: BaseException | None) -> None:
        happening = Happening(
            kind=kind,
            thread_id=turn.thread_id,
            queued_turn_id=turn.queued_turn_id,
            attempt=turn.attempts + 1,
            seconds=seconds,
            error=None if error is None else failure_of(error),
        )
        with self._guard:
            self._counts[kind] += 1
            self._last = steady()
        extra: dict[str, Any] = {**facts_of(turn), "kind": kind, "attempt": happening.attempt}
        extra |= {"seconds": seconds, "error": happening.error}
        told = f": {happening.error}" if happening.error else ""
        _log.log(_LEVELS[kind], "%s turn %s%s", kind, turn.queued_turn_id, told, extra=extra)
        if self._report is not None:
            try:
                self._report(happening)
            except Exception:  # noqa: BLE001 - whoever is told must not stop the worker
                _log.exception("the report of %s turn %s raised", kind, turn.queued_turn_id)

    def may_retry(self, turn: Standing) -> bool:
        """Whether a turn is tried once more."""
        return turn.attempts + 1 < self.retry.max_attempts

    def failure(self, turn: Standing, error: BaseException) -> dict[str, Any]:
        """What is recorded of an attempt of which it is known that nothing happened."""
        return {"error": failure_of(error), "attempt": turn.attempts + 1}

    def poison(self, turn: Standing, error: BaseException) -> dict[str, Any]:
        """What is recorded of the last one: what the turn is now, and what goes on from there."""
        attempts = turn.attempts + 1
        said = f"failed {attempts} times; it isn't tried again before somebody retries it"
        return {"error": failure_of(error), "attempt": attempts, "gave_up": said}

    def health(self, owner: str | None, in_hand: int, *, is_running: bool) -> Health:
        """How the worker is."""
        with self._guard:
            return Health(
                owner=owner,
                is_running=is_running,
                in_hand=in_hand,
                counts=dict(self._counts),
                idle_seconds=steady() - self._last,
            )


def outcome(turn: Standing) -> Kind:
    """What became of a turn whose function returned."""
    match turn.result:
        case "acked":
            return "acked"
        case "failed":
            return "failed"
        case "released":
            return "released"
        case _:
            return "unknown"
