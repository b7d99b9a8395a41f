"""A small ledger whose figures are worked out by hand, and the host that acts by chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.conformance.audit.conftest import new_host
from turnledger import Delay, Ledger

if TYPE_CHECKING:
    from tests.conformance.conftest import Clock

__all__ = ["new_host"]


@pytest.fixture
def worked(open_ledger: Callable[..., Ledger], clock: Clock) -> Ledger:
    """A morning of 261 seconds in a thread, and one of a work item behind it.

    | second | thread                         | waited | ran | by |
    |--------|--------------------------------|--------|-----|----|
    |      0 | a and b are appended; a timer  |        |     |    |
    |     10 | a is claimed, sent at 12       |     10 |     | w1 |
    |     20 | a is acked                     |        |  10 | w1 |
    |     30 | b is claimed                   |     30 |     | w2 |
    |     40 | and released                   |        |  10 | w2 |
    |     45 | b is claimed, and sent         |      5 |     | w1 |
    |    130 | the timer of 100 fires         |        |     |    |
    |    200 | the lease was over: it failed, |        | 155 | w1 |
    |        | outcome unknown; resolved       |        |     |    |
    |    260 | b is claimed, and sent         |     60 |     | w1 |
    |    261 | b is acked; c comes and goes   |        |   1 | w1 |
    """
    ledger = open_ledger()
    queue, start = ledger.queue, clock.now

    def at(second: float) -> None:
        clock.now = start
        clock.advance(second)

    for name in ("a", "b"):
        queue.append("t", {"text": name}, queued_turn_id=name)
    ledger.timers.create("t", Delay(seconds=100), {"text": "x"}, timer_id="x")
    at(10)
    claim = queue.claim_head("t", "w1", 60)
    assert claim is not None
    at(12)
    queue.start_dispatch(claim, "d1")
    at(20)
    queue.ack(claim)
    at(30)
    claim = queue.claim_head("t", "w2", 60)
    assert claim is not None
    at(40)
    queue.release(claim)
    at(45)
    claim = queue.claim_head("t", "w1", 60)
    assert claim is not None
    queue.start_dispatch(claim, "d2")
    at(130)
    ledger.timers.fire_due("scheduler")
    at(200)
    queue.recover()
    queue.resolve("t", "b", "retry", by="ann")
    at(260)
    claim = queue.claim_head("t", "w1", 60)
    assert claim is not None
    queue.start_dispatch(claim, "d3")
    at(261)
    queue.ack(claim)
    queue.append("t", {"text": "c"}, queued_turn_id="c")
    queue.delete("t", "c")
    return ledger


@pytest.fixture
def worked_item(open_ledger: Callable[..., Ledger], clock: Clock) -> Ledger:
    """A work item: a turn whose first dispatch nobody answers for, and two operations.

    The turn waits 4 s and runs 100 s until it is recovered, waits 6 s and runs 1 s until it fails.
    One operation waits 3 s and runs 2 s; the other waits 5 s, and is orphaned after 95 s.
    """
    ledger = open_ledger()
    coordinator = ledger.coordinator
    coordinator.begin("item", {"text": "x"}, turn_id="turn")
    clock.advance(4)
    claim = coordinator.claim("turn", "w1")
    assert claim is not None
    coordinator.prepare(claim, {"ask": 1})
    coordinator.start_dispatch(claim, 1)
    clock.advance(100)
    coordinator.recover()
    clock.advance(6)
    claim = coordinator.claim("turn", "w2")
    assert claim is not None
    clock.advance(1)
    coordinator.fail(claim, "no")

    run = ledger.runs.start("run", "item", "action", "w1", 60)
    assert run is not None
    about = {"run_id": "run", "work_item_id": "item", "action_id": "action"}
    for key in ("good", "bad"):
        ledger.operations.create(
            key, **about, operation_type="send", payload={}, replay_policy="safe"
        )
    clock.advance(3)
    ledger.operations.claim(run, "good")
    clock.advance(2)
    ledger.operations.complete(run, "good", "applied", {})
    ledger.operations.claim(run, "bad")
    clock.advance(95)
    ledger.operations.recover()
    return ledger
