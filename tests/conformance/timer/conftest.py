"""A thread's timers in few words; the ledger is whole at the end of every test."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import Delay, Firing, InboxMessage, Ledger, ScheduledTimer, TimerRun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conformance.conftest import Clock

THREAD = "thread"
EVERY_TEN = Delay(seconds=10, repeat=True)
IDLE = Delay(seconds=0, repeat=True)


class Alarm:
    """What a host does with timers. Contents are texts; times are seconds after the start."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self.ledger, self.timers, self.clock, self.start = ledger, ledger.timers, clock, clock.now

    def set(self, name: str = "a", trigger: Any = EVERY_TEN, **said: Any) -> ScheduledTimer:
        """Create a timer whose content is its name."""
        thread = said.pop("thread", THREAD)
        return self.timers.create(thread, trigger, name, timer_id=name, **said)

    def at(self, seconds: float) -> None:
        """Let it be so many seconds after the start."""
        self.clock.now = self.start + timedelta(seconds=seconds)

    def get(self, name: str = "a", thread: str = THREAD) -> ScheduledTimer:
        """A timer that is known."""
        timer = self.timers.get(thread, name)
        assert timer is not None
        return timer

    def claim(self, name: str = "a", **said: Any) -> Firing | None:
        """Ask for the occurrence of a timer."""
        return self.timers.claim(said.pop("thread", THREAD), name, said.pop("owner", "o"), **said)

    def fire(self, limit: int = 100, owner: str = "o") -> list[Any]:
        """The contents of what fires."""
        return [message.content for message in self.fired(limit, owner)]

    def fired(self, limit: int = 100, owner: str = "o") -> list[InboxMessage]:
        """The messages of what fires."""
        return self.timers.fire_due(owner, limit)

    def runs(self, name: str = "a") -> list[TimerRun]:
        """The history of a timer."""
        return self.timers.history(THREAD, name)

    def seconds(self, time: datetime | None) -> float | None:
        """A time, as seconds after the start."""
        return None if time is None else (time - self.start).total_seconds()

    def next(self, name: str = "a") -> float | None:
        """When a timer runs next."""
        return self.seconds(self.get(name).next_run_at)

    def confirm(self, thread: str = THREAD) -> None:
        """Deliver the oldest message."""
        can = {"can_after_turn": True, "can_steer_current_turn": False}
        claim: Any = self.ledger.inbox.claim_next(thread, "reader", **can)
        self.ledger.inbox.confirm(claim)


@pytest.fixture
def alarm(ledger: Ledger, clock: Clock) -> Iterator[Alarm]:
    """The timers of the test's ledger."""
    yield Alarm(ledger, clock)
    verification = ledger.verify()
    assert (verification.findings, verification.notes) == ((), ())
