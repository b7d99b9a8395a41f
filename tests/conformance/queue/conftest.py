"""A thread's queue as the page describes it, in a few lines: what the ledger is compared with."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from turnledger import (
    ClaimLost,
    IdempotencyConflict,
    InvalidTransition,
    QueuedTurnNotFound,
    QueueFull,
    ReorderMismatch,
)

LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
EXPIRED = "outcome unknown after the claim expired"


@dataclass
class ModelTurn:
    """What is known of a queued turn."""

    text: str
    not_before: datetime | None
    created_at: datetime
    state: str = "pending"
    failure: Any = None
    outcome_unknown: bool = False
    dispatch_id: str | None = None
    evidence: set[tuple[str, int, str]] = field(default_factory=set)


@dataclass
class ModelThread:
    """A thread. Each command gives what the ledger's is to give: a value or a kind of refusal."""

    limit: int
    longest_lease: timedelta
    turns: dict[str, ModelTurn] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)  # of what is visible or in flight, in order
    keys: dict[str, tuple[Any, list[str]]] = field(default_factory=dict)
    flying: str | None = None
    owner: str = ""
    epoch: int = 0
    expires_at: datetime = LONG_AGO
    held: dict[int, tuple[str, str]] = field(default_factory=dict)
    dispatches: dict[str, int] = field(default_factory=dict)
    recovered: set[str] = field(default_factory=set)
    paused: bool = False

    # --- what is there

    def visible(self) -> list[str]:
        return [one for one in self.places if one != self.flying]

    def head(self) -> ModelTurn:
        return self.turns[self.places[0]]

    def over(self, now: datetime) -> bool:
        return not now < self.expires_at <= now + self.longest_lease

    def is_current(self, owner: str, epoch: int) -> bool:
        return self.flying is not None and (self.owner, self.epoch) == (owner, epoch)

    def is_live(self, owner: str, epoch: int, now: datetime) -> bool:
        return self.is_current(owner, epoch) and not self.over(now)

    def is_dispatching(self) -> bool:
        return self.flying is not None and self.turns[self.flying].state == "dispatching"

    def why_blocked(self, now: datetime) -> str | None:
        if self.paused:
            return "paused"
        if self.flying is not None:
            return "expired_claim" if self.over(now) else "in_flight"
        if not self.places:
            return "empty"
        head = self.head()
        if head.state == "failed":
            return "failed_head"
        return "not_yet" if head.not_before is not None and now < head.not_before else None

    # --- commands

    def may_append(self, key: str | None, content: Any, count: int) -> Any:
        """A refusal, the ids that the key stands for, or None."""
        if key is not None and key in self.keys:
            first, ids = self.keys[key]
            return ids if first == content else IdempotencyConflict
        return QueueFull if len(self.visible()) + count > self.limit else None

    def append(
        self, turn_id: str, text: str, created_at: datetime, not_before: datetime | None = None
    ) -> None:
        self.turns[turn_id] = ModelTurn(text, not_before, created_at)
        self.places.append(turn_id)

    def clear(self) -> int:
        count = len(self.places)
        for turn_id in self.places:
            self.turns[turn_id].state = "deleted"
        self.places, self.flying = [], None
        return count

    def edit(self, turn_id: str, text: str) -> Any:
        if turn_id == self.flying:
            return InvalidTransition
        if turn_id not in self.places:
            return QueuedTurnNotFound
        self.turns[turn_id].text = text
        return text

    def delete(self, turn_id: str) -> bool:
        if turn_id not in self.visible():
            return False
        self.places.remove(turn_id)
        self.turns[turn_id].state = "deleted"
        return True

    def reorder(self, ids: list[str]) -> Any:
        if sorted(ids) != sorted(self.visible()):
            return ReorderMismatch
        self.places = ([] if self.flying is None else [self.flying]) + ids
        return ids

    def claim(self, owner: str, lease: timedelta, now: datetime) -> Any:
        if self.why_blocked(now) is not None:
            return None
        self.flying, self.owner, self.epoch = self.places[0], owner, self.epoch + 1
        self.expires_at = now + lease
        self.held[self.epoch] = (owner, self.flying)
        self.turns[self.flying].state = "claimed"
        return (self.flying, self.turns[self.flying].text, owner, self.epoch, self.expires_at)

    def renew(self, owner: str, epoch: int, lease: timedelta, now: datetime) -> Any:
        if not self.is_live(owner, epoch, now):
            return ClaimLost
        self.expires_at = now + lease
        return self.expires_at

    def release(self, owner: str, epoch: int, now: datetime) -> Any:
        if not self.is_live(owner, epoch, now):
            return ClaimLost
        return InvalidTransition if self.is_dispatching() else self._land("pending")

    def start_dispatch(self, owner: str, epoch: int, dispatch_id: str, now: datetime) -> Any:
        if not self.is_live(owner, epoch, now):
            return ClaimLost
        assert self.flying is not None
        turn = self.turns[self.flying]
        if turn.state == "dispatching":
            return None if turn.dispatch_id == dispatch_id else InvalidTransition
        if dispatch_id in self.dispatches:
            return InvalidTransition
        turn.state, turn.dispatch_id = "dispatching", dispatch_id
        self.dispatches[dispatch_id] = epoch
        return None

    def ack(self, owner: str, epoch: int) -> Any:
        if not self.is_current(owner, epoch):
            return self._lost(epoch, "ack")
        return self._land("acked") if self.is_dispatching() else InvalidTransition

    def ack_dispatch(self, dispatch_id: str) -> bool:
        epoch = self.dispatches.get(dispatch_id)
        if self.is_dispatching() and epoch == self.epoch:
            self._land("acked")
            return True
        if epoch is not None and dispatch_id in self.recovered:
            self._lost(epoch, "ack_dispatch")
        return False

    def fail(self, owner: str, epoch: int, failure: Any, *, outcome_unknown: bool) -> Any:
        if not self.is_current(owner, epoch):
            return self._lost(epoch, "fail")
        return self._land("failed", failure, outcome_unknown=outcome_unknown)

    def retry(self, turn_id: str) -> Any:
        turn = self.turns[turn_id]
        if turn.state != "failed" or turn.outcome_unknown:
            return InvalidTransition
        turn.state = "pending"
        return "pending"

    def resolve(self, turn_id: str, decision: str) -> Any:
        turn = self.turns[turn_id]
        if turn.state != "failed" or not turn.outcome_unknown:
            return InvalidTransition
        turn.state, turn.outcome_unknown = ("acked" if decision == "acked" else "pending"), False
        if decision == "acked":
            self.places.remove(turn_id)
        return turn.state

    def recover(self, owner: str | None, now: datetime) -> Iterable[str]:
        if self.flying is None or not (self.over(now) or self.owner == owner):
            return []
        turn_id, turn = self.flying, self.turns[self.flying]
        if turn.state == "claimed":
            self._land("pending")
        else:
            assert turn.dispatch_id is not None
            self.recovered.add(turn.dispatch_id)
            self._land("failed", EXPIRED, outcome_unknown=True)
        return [turn_id]

    def fail_in_flight(self, failure: Any) -> int:
        if self.flying is None:
            return 0
        self._land("failed", failure, outcome_unknown=self.is_dispatching())
        return 1

    def _land(self, state: str, failure: Any = None, *, outcome_unknown: bool = False) -> None:
        assert self.flying is not None
        turn = self.turns[self.flying]
        turn.state, turn.failure, turn.outcome_unknown = state, failure, outcome_unknown
        if state == "acked":
            self.places.remove(self.flying)
        self.flying = None

    def _lost(self, epoch: int, kind: str) -> type[ClaimLost]:
        owner, turn_id = self.held[epoch]
        self.turns[turn_id].evidence.add((owner, epoch, kind))
        return ClaimLost


def ended_by(kind: str, data: dict[str, Any]) -> list[tuple[str, str]]:
    """The turns that an event ended, and how."""
    if kind == "acked" or (kind == "resolved" and data["decision"] == "acked"):
        return [(data["queued_turn_id"], "acked")]
    if kind == "deleted":
        return [(data["queued_turn_id"], "deleted")]
    if kind == "cleared":
        ids = [*data["queued_turn_ids"], data["in_flight_id"]]
        return [(turn, "deleted") for turn in ids if turn is not None]
    return []


def check(events: Iterable[Any], live: list[str]) -> None:
    """What must hold of the events of a ledger, when so many turns are visible or in flight."""
    appended: list[str] = []
    ended: list[tuple[str, str]] = []
    owners: dict[tuple[str, int], str] = {}
    last: dict[str, Any] = {}
    for event in events:
        before = last.get(event.stream_id)
        assert before is None or event.version == before.version + 1
        assert before is None or event.recorded_at >= before.recorded_at
        last[event.stream_id] = event
        category, _, kind = event.type.partition(".")
        data = json.loads(event.data)
        if category == "thread_queue":
            ended += ended_by(kind, data)
            appended += [data["queued_turn_id"]] if kind == "appended" else []
        if event.type == "thread_queue.claimed":
            owner = owners.setdefault((event.stream_id, data["epoch"]), data["owner"])
            assert owner == data["owner"]
    assert len(ended) == len({turn for turn, _ in ended}), "a turn ended twice"
    assert sorted(appended) == sorted(live + [turn for turn, _ in ended])
    assert len(appended) == len(set(appended))


@pytest.fixture
def check_events() -> Callable[[Iterable[Any], list[str]], None]:
    """Checks what must hold of the events, given the turns that are visible or in flight."""
    return check


@pytest.fixture
def new_model() -> Callable[[int, timedelta], ModelThread]:
    """Makes the model of a thread that never was, for a limit and a longest lease."""
    return ModelThread
