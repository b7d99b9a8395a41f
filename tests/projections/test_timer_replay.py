"""After whatever is done with timers, the read models and head rows are what the events give."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

import turnledger
from tests.projections.test_replay import Clock, compare
from turnledger import Cron, Delay, Ledger, Refusal, Schedule, Settings
from turnledger.domain import timer
from turnledger.domain.trigger import time_zone
from turnledger.timers.zones import recompute

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

LIMITS = Settings(max_timers=4, synchronous="NORMAL")
SECONDS = (*[0] * 6, 0.001, 1, 61, 61, 4_000, -0.5, -30, 90_000)
WORDS = (
    *("create", "create", "create", "update", "pause", "resume", "resume", "delete", "mark"),
    *("claim", "claim", "claim_due", "fire", "fire", "turn", "deliver", "archive", "unarchive"),
    *("unarchive", "zones"),
)
TRIGGERS: tuple[Any, ...] = (
    *(Delay(seconds=0), Delay(seconds=5), Delay(seconds=30, repeat=True)),
    Delay(seconds=0, repeat=True),
    *(Cron(expression="*/5 * * * *", timezone="UTC", misfire=p) for p in ("skip", "catch_up")),
    Cron(expression="30 2 * * *", timezone="Europe/Berlin"),
    Schedule(rrule="FREQ=HOURLY;COUNT=3", timezone="UTC", misfire="skip"),
    Schedule(rrule="FREQ=MINUTELY;BYHOUR=9,10;COUNT=9000", timezone="UTC", misfire="catch_up"),
)


class Host:
    """Works at random with timers, rightly and wrongly."""

    def __init__(self, ledger: Ledger, clock: Clock, seed: int) -> None:
        self.ledger, self.timers, self.clock = ledger, ledger.timers, clock
        self.random, self.seed, self.data = Random(seed), seed, "2026f"
        self.names = ["no such timer"]

    def work(self, steps: int) -> None:
        """Give so many commands; refusals are part of the work."""
        for step in range(steps):
            self.clock.now += timedelta(seconds=self.random.choice(SECONDS))
            word = self.random.choice(WORDS) if step % 60 != 59 else "delete_thread"
            thread = f"{self.random.choice('ab')}:{self.seed}:{step // 60}"
            with suppress(Refusal, turnledger.InvalidTrigger):
                getattr(self, f"_{word}")(thread)

    def _named(self) -> str:
        return self.random.choice(self.names[-5:])

    def _some(self) -> dict[str, Any]:
        fields = {
            "content": self.random.choice(("", "\0", {"n": 2**70, "a": None})),
            "metadata": self.random.choice(({}, {"a_1": [1.0]})),
            "client_id": self.random.choice((None, "me")),
            "trigger": self.random.choice(TRIGGERS),
        }
        return dict(self.random.sample(sorted(fields.items()), self.random.randrange(1, 4)))

    def _create(self, thread: str) -> None:
        said = {"trigger": self.random.choice(TRIGGERS), "content": None, **self._some()}
        key = self.random.choice((None, None, f"key {self.random.randrange(3)}"))
        self.names.append(self.timers.create(thread, **said, idempotency_key=key).timer_id)

    def _update(self, thread: str) -> None:
        self.timers.update(thread, self._named(), **self._some())

    def _pause(self, thread: str) -> None:
        self.timers.pause(thread, self._named())

    def _resume(self, thread: str) -> None:
        for one in self.timers.list(thread):
            self.timers.resume(thread, one.timer_id)

    def _delete(self, thread: str) -> None:
        self.timers.delete(thread, self._named())

    def _mark(self, _thread: str) -> None:
        self.timers.mark_due()

    def _claim(self, thread: str) -> None:
        changed = self.random.choice((None, self._some()))
        self.timers.claim(thread, self._named(), "o", changed=changed)

    def _claim_due(self, _thread: str) -> None:
        self.timers.claim_due("o", self.random.choice((1, 100)))

    def _fire(self, _thread: str) -> None:
        self.timers.fire_due("o", self.random.choice((1, 100)))

    def _turn(self, thread: str) -> None:
        self.ledger.queue.clear(thread)
        if self.random.random() < 0.3:
            self.ledger.queue.append(thread, {})

    def _deliver(self, thread: str) -> None:
        for message in self.ledger.inbox.list(thread):
            self.ledger.inbox.delete(thread, message.message_id)

    def _archive(self, thread: str) -> None:
        self.ledger.threads.archive(thread)

    def _unarchive(self, thread: str) -> None:
        self.ledger.threads.unarchive(thread)

    def _delete_thread(self, thread: str) -> None:
        self.ledger.threads.delete(thread)

    def _zones(self, _thread: str) -> None:
        """As at open, with other data."""
        known, time_zone.VERSION = time_zone.VERSION, self.random.choice(("2000a", "2050z"))
        try:
            recompute(self.ledger._backend)
        finally:
            time_zone.VERSION = known


@settings(derandomize=True, database=None, deadline=None, max_examples=12)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 120))
def test_the_rows_are_what_the_events_give(
    tmp_path_factory: pytest.TempPathFactory, template: bytes, seed: int, steps: int
) -> None:
    path, clock = tmp_path_factory.mktemp("replay") / "ledger.db", Clock()
    path.write_bytes(template)
    with turnledger.open(path, clock=clock, settings=LIMITS) as ledger:
        Host(ledger, clock, seed).work(steps)
        compare(path)
        assert ledger.verify().findings == ()


def test_a_busy_host_reaches_every_kind_of_event(tmp_path: Path, template: bytes) -> None:
    path, clock = tmp_path / "ledger.db", Clock()
    path.write_bytes(template)
    with turnledger.open(path, clock=clock, settings=LIMITS) as ledger:
        for seed in range(6):
            Host(ledger, clock, seed).work(200)
        compare(path)
        assert ledger.verify().findings == ()
        seen = {event.type for event in ledger.log.read(limit=100_000)}
    wanted = {kind.TOPIC for kind in timer.EVENTS} - {"timer.set_aside"}  # of a newer release
    assert wanted - seen == set()
