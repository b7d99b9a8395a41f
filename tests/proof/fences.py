"""Claims that were lost: whatever they are shown for, and whatever the clocks say, nothing changes.

An owner claims, and another one takes the thing over. Then the first one comes back, with the
clock an hour behind or a day ahead, and tries all that it could do. And owners of another process
are stopped (SIGSTOP) for twice their lease, while somebody recovers what they held.
"""

import os
import signal
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

import turnledger
from turnledger import ClaimLost, Ledger

LEASE, STOPPED = 0.2, 0.4  # seconds, in real time
JUMPS = (-3_600, 0, 86_400)
_CONTEXT = get_context("spawn")

Tries = Iterator[tuple[str, Callable[[], Any]]]


class _Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def _queue(ledger: Ledger, clock: _Clock, name: str) -> Tries:
    queue = ledger.queue
    queue.append(name, {})
    old: Any = queue.claim_head(name, "old", 60)
    clock.now += timedelta(seconds=61)
    queue.recover(name)
    new: Any = queue.claim_head(name, "new", 60)
    yield "renew", lambda: queue.renew(old)
    yield "release", lambda: queue.release(old)
    yield "start_dispatch", lambda: queue.start_dispatch(old, "d")
    queue.start_dispatch(new, "new")
    yield "ack", lambda: queue.ack(old)
    yield "fail", lambda: queue.fail(old, "no")


def _inbox(ledger: Ledger, clock: _Clock, name: str) -> Tries:
    inbox, can = ledger.inbox, {"can_after_turn": True, "can_steer_current_turn": True}
    inbox.post(name, "hi", source="test")
    old: Any = inbox.claim_next(name, "old", **can)
    clock.now += timedelta(seconds=61)
    inbox.recover(name, mode="at_least_once")
    inbox.claim_next(name, "new", **can)
    yield "confirm", lambda: inbox.confirm(old)
    yield "release", lambda: inbox.release(old)


def _turn(ledger: Ledger, clock: _Clock, name: str) -> Tries:
    turns = ledger.coordinator
    old: Any = turns.begin(name, "hi", turn_id=name, owner="old").claim
    attempt = turns.prepare(old, "ask")
    clock.now += timedelta(seconds=61)
    turns.claim(name, "new")
    yield "renew", lambda: turns.renew(old)
    yield "release", lambda: turns.release(old)
    yield "prepare", lambda: turns.prepare(old, "ask")
    yield "start_dispatch", lambda: turns.start_dispatch(old, 1)
    yield "respond", lambda: turns.respond(old, 1, attempt.request_hash, "answer")
    yield "refuse", lambda: turns.refuse(old, 1, "no", retryable=True)
    yield "reject", lambda: turns.reject(old, 1, "bad")
    yield "complete", lambda: turns.complete(old, "done")
    yield "fail", lambda: turns.fail(old, "no")
    yield "ack", lambda: turns.ack(old)


def _run(ledger: Ledger, clock: _Clock, name: str) -> Tries:
    runs = ledger.runs
    old: Any = runs.start(name, "item", "act", "old")
    clock.now += timedelta(seconds=61)
    runs.start(name, "item", "act", "new")
    yield "renew", lambda: runs.renew(old)
    yield "finish", lambda: runs.finish(old)
    yield "create_and_claim", lambda: ledger.operations.create_and_claim(old, name, "send", {})


def _refused(ledger: Ledger, clock: _Clock, name: str, jump: int) -> tuple[int, int]:
    """How many commands there were, and how many were refused and changed nothing."""
    tried = refused = 0
    for kind in (_queue, _inbox, _turn, _run):
        for _, attempt in kind(ledger, clock, f"{name} {kind.__name__}"):
            before, at = _changes(ledger), clock.now
            clock.now += timedelta(seconds=jump)
            tried += 1
            try:
                attempt()
            except ClaimLost:
                refused += _changes(ledger) == before
            clock.now = at
    return tried, refused


def _changes(ledger: Ledger) -> int:
    """How many events there are that aren't evidence."""
    page, count = ledger.log.read(limit=100_000), 0
    for event in page:
        count += not event.type.startswith("evidence.")
    return count


def _held(path: str, ready: Any, told: Any) -> None:
    """An owner that is stopped with a dispatch in its hands, and comes back too late."""
    with turnledger.open(path) as ledger:
        claim: Any = ledger.queue.claim_head("stopped", "old", LEASE)
        ledger.queue.start_dispatch(claim, f"d{claim.epoch}")
        ready.release()
        os.kill(os.getpid(), signal.SIGSTOP)
        said = []
        for attempt in (ledger.queue.ack, ledger.queue.renew, ledger.queue.release):
            try:
                attempt(claim)
            except ClaimLost:
                said.append(attempt.__name__)
        told.put(said)


def _stopped(path: str) -> bool:
    """Whether an owner that was stopped is refused all, and its report is kept."""
    ready, told = _CONTEXT.Semaphore(0), _CONTEXT.SimpleQueue()
    with turnledger.open(path) as ledger:
        turn = ledger.queue.append("stopped", {})
        owner = _CONTEXT.Process(target=_held, args=(path, ready, told), daemon=True)
        owner.start()
        ready.acquire(timeout=60)
        Event().wait(STOPPED)  # nobody sets it
        [recovered] = ledger.queue.recover("stopped")
        ledger.queue.resolve("stopped", turn.queued_turn_id, "retry", by="test")
        taken: Any = ledger.queue.claim_head("stopped", "new")
        os.kill(owner.pid or 0, signal.SIGCONT)
        said = told.get()
        owner.join()
        ledger.queue.start_dispatch(taken, f"d{taken.epoch}")
        ledger.queue.ack(taken)
        now: Any = ledger.queue.get("stopped", turn.queued_turn_id)
        kept = [(one.owner, one.kind) for one in now.evidence]
        whole = recovered.outcome_unknown and now.state == "acked" and ledger.verify().ok
        return whole and said == ["ack", "renew", "release"] and kept == [("old", "ack")]


def fences(rounds: int) -> dict[str, Any]:
    """So many rounds with clocks that jump, and a tenth as many with owners that are stopped."""
    tried = refused = 0
    with TemporaryDirectory(prefix="turnledger-fences-") as folder:
        for number in range(rounds):
            clock = _Clock()
            with turnledger.open(Path(folder) / f"{number}.db", clock=clock) as ledger:
                for jump in JUMPS:
                    counts = _refused(ledger, clock, f"jump {jump}", jump)
                    tried, refused = tried + counts[0], refused + counts[1]
        stops = max(1, rounds // 10)
        returned = sum(_stopped(str(Path(folder) / f"s{number}.db")) for number in range(stops))
    good = tried == refused and returned == stops
    said = {"tried": tried, "refused": refused, "stopped": stops, "refused when back": returned}
    return {**said, "control": "the mutants of the fence", "good": good}
