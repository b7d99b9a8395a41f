"""A host that works at random on runs and their operations, rightly and wrongly."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import turnledger
from turnledger import Ledger, RunClaim

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock

SECONDS = (*[0] * 9, 0.001, 61, -0.5, -30, 90_000)
WORDS = (
    *("start", "start", "create", "claim", "claim", "create_and_claim", "create_and_claim"),
    *("complete", "complete", "complete", "request_cancel", "recover", "resolve", "renew"),
    *("finish", "interrupt"),
)
POLICIES = ("safe", "never_automatic", "probe_first")
EFFECTS = ("applied", "not_applied", "failed_no_effect", "unknown")
DECISIONS = ("confirm_applied", "confirm_not_applied", "confirm_failed_no_effect")
VALUES = (None, "", "\x00", "\ud800", 2**70, [], {"text": "\U0001f600"})


class OperationHost:
    """Gives commands on runs and operations; refusals are part of the work."""

    def __init__(self, ledger: Ledger, clock: Clock, seed: int) -> None:
        self.runs, self.operations = ledger.runs, ledger.operations
        self.clock, self.random = clock, Random(seed)
        self.claims: list[RunClaim] = []
        self.seed, self.step = seed, 0

    def work(self, steps: int) -> None:
        for self.step in range(steps):
            self.clock.now += timedelta(seconds=self.random.choice(SECONDS))
            with suppress(turnledger.Refusal):
                getattr(self, f"_{self.random.choice(WORDS)}")()

    def _name(self, kind: str, most: int = 3) -> str:
        return f"{kind}:{self.seed}:{self.step // 40}:{self.random.randrange(most)}"

    def _held(self) -> RunClaim:
        made_up: dict[str, Any] = {"run_id": self._name("run"), "owner": "nobody", "epoch": 1}
        claim = RunClaim(**made_up, generation="another")
        return self.random.choice([claim, *self.claims[-1:] * 15, *self.claims[-4:]])

    def _content(self) -> dict[str, Any]:
        policy: Any = self.random.choice(POLICIES)
        return {"operation_type": "shell", "payload": {"n": 1}, "replay_policy": policy}

    def _start(self) -> None:
        owner = self.random.choice("ab")
        claim = self.runs.start(self._name("run", 2), f"item {self.seed}", "act", owner, 60)
        self.claims += [] if claim is None else [claim]

    def _renew(self) -> None:
        self.runs.renew(self._held(), self.random.choice((0.001, 60, 3_600)))

    def _finish(self) -> None:
        self.runs.finish(self._held(), self.random.choice(VALUES))

    def _interrupt(self) -> None:
        self.runs.interrupt(self._name("run", 2), self.random.choice(VALUES))

    def _create(self) -> None:
        about: dict[str, Any] = {"work_item_id": f"item {self.seed}", "action_id": "act"}
        run_id = self._name("run", 2)
        self.operations.create(self._name("key"), run_id=run_id, **about, **self._content())

    def _claim(self) -> None:
        automatic = self.random.choice((True, False))
        self.operations.claim(self._held(), self._name("key"), automatic=automatic)

    def _create_and_claim(self) -> None:
        automatic = self.random.choice((True, False))
        key = self._name("key", 6)
        self.operations.create_and_claim(self._held(), key, **self._content(), automatic=automatic)

    def _complete(self) -> None:
        effect: Any = self.random.choice(EFFECTS)
        value = self.random.choice(VALUES)
        self.operations.complete(self._held(), self._name("key", 6), effect, value)

    def _request_cancel(self) -> None:
        self.operations.request_cancel(self._name("key", 6))

    def _recover(self) -> None:
        self.operations.recover()

    def _resolve(self) -> None:
        decision: Any = self.random.choice(DECISIONS)
        self.operations.resolve(self._name("key", 6), decision, by="me", evidence=None)
