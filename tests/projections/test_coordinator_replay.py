"""After whatever a coordinator does, its read models and head rows are what a replay gives."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

import turnledger
from tests.projections.test_replay import LIMITS, Clock, compare
from turnledger import Ledger, Refusal, TurnClaim
from turnledger.infrastructure.application import REGISTRY

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SECONDS = (0, 0, 0, 0, 0, 0, 0.001, 1, 10, 61, -0.5, -30, 90_000)
OURS = ("coordinator_turn.", "work_item.", "evidence.kept_of_turn")
WORDS = (
    *("begin", "begin", "claim", "claim", "claim_next", "resume", "go_on", "go_on", "go_on"),
    *("go_on", "go_on", "go_on", "reject", "refuse", "renew", "release", "late", "resolve"),
    *("resolve", "settle", "cancel", "touch", "recover"),
)
VALUES = (None, "", "\x00", "\ud800", 2**70, [], {"text": "\U0001f600"})


class Host:
    """Works at random on turns, rightly and wrongly."""

    def __init__(self, ledger: Ledger, clock: Clock, seed: int) -> None:
        self.coordinator, self.clock = ledger.coordinator, clock
        self.seed, self.random = seed, Random(seed)
        self.claims: list[TurnClaim] = []
        self.turns: list[str] = ["no such turn"]

    def work(self, steps: int) -> None:
        """Give so many commands; refusals are part of the work."""
        for _ in range(steps):
            self.clock.now += timedelta(seconds=self.random.choice(SECONDS))
            with suppress(Refusal):
                getattr(self, f"_{self.random.choice(WORDS)}")()

    def _value(self) -> Any:
        return self.random.choice(VALUES)

    def _turn(self) -> str:
        return self.random.choice(self.turns[-3:])

    def _claimed(self) -> TurnClaim:
        made_up = TurnClaim(turn_id=self._turn(), owner="x", epoch=1, generation="another")
        return self.random.choice([made_up, *self.claims[-1:] * 15, *self.claims[-4:]])

    def _attempts(self, turn_id: str) -> tuple[Any, ...]:
        turn = self.coordinator.get(turn_id)
        return () if turn is None else turn.attempts

    def _begin(self) -> None:
        text = str(self._value()).replace("\ud800", "")
        key = self.random.choice((None, None, "key"))
        owner = self.random.choice((None, None, "x"))
        item = f"item {self.seed}"
        turn = self.coordinator.begin(item, text, idempotency_key=key, owner=owner)
        self.turns.append(turn.turn_id)
        self.claims += [turn.claim] if turn.claim else []

    def _claim(self) -> None:
        lease = self.random.choice((0, 10, 60, 86_400))
        claim = self.coordinator.claim(self._turn(), self.random.choice("xy"), lease)
        self.claims += [claim] if claim else []

    def _claim_next(self) -> None:
        claim = self.coordinator.claim_next(owner="next", lease=30)
        self.claims += [claim] if claim else []

    def _resume(self) -> None:
        resumption = self.coordinator.resume(self._turn(), "again")
        self.claims += [resumption.claim] if resumption else []

    def _go_on(self) -> None:
        """What comes next for the latest attempt."""
        claim = self._claimed()
        attempts = self._attempts(claim.turn_id)
        latest = attempts[-1] if attempts else None
        match latest and latest.status:
            case "prepared":
                self.coordinator.start_dispatch(claim, latest.attempt)
            case "dispatching":
                told = (latest.attempt, latest.request_hash, self._value())
                self.coordinator.respond(claim, *told)
            case _:
                self.coordinator.prepare(claim, self.random.choice((1, 1.0, "other")))

    def _reject(self) -> None:
        claim = self._claimed()
        number = len(self._attempts(claim.turn_id)) or 1
        self.coordinator.reject(claim, number, self._value())

    def _refuse(self) -> None:
        claim = self._claimed()
        number = len(self._attempts(claim.turn_id)) or 1
        retryable = self.random.choice((True, False))
        self.coordinator.refuse(claim, number, self._value(), retryable=retryable)

    def _renew(self) -> None:
        self.coordinator.renew(self._claimed(), self.random.choice((0.001, 60, 86_400)))

    def _release(self) -> None:
        self.coordinator.release(self._claimed())

    def _late(self) -> None:
        self.coordinator.late_response(self._turn(), 1, self._value())

    def _resolve(self) -> None:
        for attempt in self._attempts(self._turn())[-1:]:
            decision: Any = self.random.choice(("adopt", "retry", "cancel"))
            said: Any = {"by": self._value(), "reason": self._value(), "response": self._value()}
            self.coordinator.resolve(attempt.turn_id, attempt.attempt, decision, **said)

    def _settle(self) -> None:
        word = self.random.choice(("complete", "fail", "ack"))
        said = () if word == "ack" else (self._value(),)
        getattr(self.coordinator, word)(self._claimed(), *said)

    def _cancel(self) -> None:
        self.coordinator.cancel(self._turn(), self._value())

    def _touch(self) -> None:
        self.coordinator.touch(f"item {self.seed}")

    def _recover(self) -> None:
        self.coordinator.recover()


@settings(derandomize=True, database=None, deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 120))
def test_what_is_stored_beside_a_coordinators_events_is_what_a_replay_gives(
    tmp_path_factory: pytest.TempPathFactory, template: bytes, seed: int, steps: int
) -> None:
    path, clock = tmp_path_factory.mktemp("random") / "ledger.db", Clock()
    path.write_bytes(template)
    with turnledger.open(path, clock=clock, settings=LIMITS) as ledger:
        Host(ledger, clock, seed).work(steps)
        compare(path)
        verification = ledger.verify()
    assert (verification.findings, verification.notes) == ((), ())


def test_a_busy_coordinator_reaches_every_kind_of_its_events(
    tmp_path: Path, template: bytes
) -> None:
    path, clock = tmp_path / "ledger.db", Clock()
    path.write_bytes(template)
    with turnledger.open(path, clock=clock, settings=LIMITS) as ledger:
        for seed in range(6):
            Host(ledger, clock, seed).work(150)
        compare(path)
        seen = {event.type for event in ledger.log.read(limit=100_000)}
    topics = {kind.TOPIC for kind in REGISTRY.writable}
    assert seen == {topic for topic in topics if topic.startswith(OURS)}
