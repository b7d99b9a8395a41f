"""A worker for a function, in threads and in tasks: what is recorded of whatever it does."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import turnledger
from turnledger import (
    AsyncTurnInHand,
    AsyncWorker,
    Happening,
    Health,
    InvalidInput,
    NoEffect,
    RetryPolicy,
    TurnInHand,
    Worker,
)
from turnledger.worker.threads import WorkerStopped

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock, Host
    from turnledger import Ledger

QUICKLY = RetryPolicy(max_attempts=3, base=timedelta(milliseconds=10))
AnyTurn = TurnInHand | AsyncTurnInHand
Run = Any


@pytest.fixture(params=["threads", "tasks"])
def run(
    request: pytest.FixtureRequest, ledger: Ledger, store_url: str, clock: Clock
) -> Callable[..., Health]:
    """Runs a worker until nothing is left to do; the function is one for threads."""

    def in_threads(function: Any, **given: Any) -> Health:
        worker = Worker(ledger, function, retry=QUICKLY, **given)
        worker.run(once=True)
        return worker.health()

    def in_tasks(function: Any, **given: Any) -> Health:
        async def awaited(turn: AsyncTurnInHand) -> None:
            ended = function(turn)
            if ended is not None:
                await ended

        async def main() -> Health:
            async with turnledger.open_async(store_url, clock=clock) as own:
                worker = AsyncWorker(own, awaited, retry=QUICKLY, **given)
                await worker.run(once=True)
                return worker.health()

        return asyncio.run(main())

    return in_threads if request.param == "threads" else in_tasks


def nothing(turn: AnyTurn) -> None:
    del turn


def test_a_function_that_returns_has_done_the_turn(host: Host, run: Run) -> None:
    turns = [host.append(str(n), thread=f"thread {n}")[0] for n in range(5)]
    health = run(nothing, concurrency=3)
    assert [host.turn(one, f"thread {n}").state for n, one in enumerate(turns)] == ["acked"] * 5
    assert health.counts == {"begun": 5, "acked": 5}
    assert (health.in_hand, health.is_running) == (0, False)


def test_the_dispatch_is_recorded_before_the_call(host: Host, ledger: Ledger, run: Run) -> None:
    [only] = host.append("only")
    seen: list[str] = []
    run(lambda turn: seen.append(str(turn.dispatch_id)))
    [started] = ledger.log.read(types=["thread_queue.dispatch_started"])
    assert seen == [started.data["dispatch_id"]] == [f"{only}-1"]


def test_what_breaks_has_an_unknown_outcome_and_isnt_tried_again(host: Host, run: Run) -> None:
    first, second = host.append("first", "second")

    def breaking(turn: AnyTurn) -> None:
        raise RuntimeError(turn.queued_turn_id)

    health = run(breaking)
    failed = host.turn(first)
    assert (failed.state, failed.outcome_unknown) == ("failed", True)
    assert failed.failure == f"RuntimeError: {first}"
    assert host.turn(second).state == "pending"
    assert health.counts == {"begun": 1, "unknown": 1}


def test_what_had_no_effect_is_tried_again_after_a_pause(host: Host, run: Run) -> None:
    [only] = host.append("only")
    pauses: list[float] = []

    def third_time(turn: AnyTurn) -> None:
        if turn.attempts < 2:
            raise NoEffect

    def report(happening: Happening) -> None:
        if happening.kind == "retrying":
            pauses.append(happening.seconds)

    health = run(third_time, report=report)
    assert (host.turn(only).state, host.turn(only).attempts) == ("acked", 2)
    assert health.counts == {"begun": 3, "retrying": 2, "acked": 1}
    assert pauses == [QUICKLY.wait(n, only).total_seconds() for n in (1, 2)]


def test_a_poison_turn_stops_and_says_so(
    host: Host, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = host.append("first", "second")

    def refusing(turn: AnyTurn) -> None:
        del turn
        raise NoEffect

    with caplog.at_level(logging.ERROR, "turnledger"):
        health = run(refusing)
    failed = host.turn(first)
    assert (failed.state, failed.outcome_unknown, failed.attempts) == ("failed", False, 2)
    assert failed.failure["attempt"] == 3
    assert "isn't tried again before somebody retries it" in failed.failure["gave_up"]
    assert health.counts == {"begun": 3, "retrying": 2, "gave_up": 1}
    assert host.turn(second).state == "pending"
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    facts = vars(record)
    assert (facts["queued_turn_id"], facts["kind"], facts["attempt"]) == (first, "gave_up", 3)


def test_a_function_that_dispatches_itself_has_no_effect_before(host: Host, run: Run) -> None:
    early, late = host.append("early", thread="a")[0], host.append("late", thread="b")[0]

    def breaking(turn: AnyTurn) -> Any:
        if turn.thread_id == "a":
            raise RuntimeError
        return dispatching_and_breaking(turn)

    def dispatching_and_breaking(turn: AnyTurn) -> Any:
        if isinstance(turn, AsyncTurnInHand):
            return breaking_later(turn)
        turn.dispatch()
        raise RuntimeError

    async def breaking_later(turn: AsyncTurnInHand) -> None:
        await turn.dispatch()
        raise RuntimeError

    health = run(breaking, dispatch=False)
    assert (host.turn(early, "a").outcome_unknown, host.turn(early, "a").attempts) == (False, 2)
    assert (host.turn(late, "b").outcome_unknown, host.turn(late, "b").attempts) == (True, 0)
    assert health.counts["gave_up"] == health.counts["unknown"] == 1


def test_a_function_may_settle_the_turn_itself(host: Host, run: Run) -> None:
    [only] = host.append("only")
    health = run(lambda turn: turn.fail({"status": 400}))
    assert (host.turn(only).state, host.turn(only).failure) == ("failed", {"status": 400})
    assert health.counts == {"begun": 1, "failed": 1}


def test_a_lost_claim_is_no_reason_to_stop(host: Host, ledger: Ledger, run: Run) -> None:
    host.append("taken", thread="a")
    [other] = host.append("other", thread="b")

    def taking(turn: AnyTurn) -> None:
        if turn.thread_id == "a":
            ledger.queue.fail_in_flight("a", "taken away")

    health = run(taking)
    assert host.turn(other, "b").state == "acked"
    assert health.counts["lost"] == 1


def test_whoever_is_told_cant_stop_a_worker(
    host: Host, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    [only] = host.append("only")

    def report(_: Happening) -> None:
        raise RuntimeError("the report is broken")

    run(nothing, report=report)
    assert host.turn(only).state == "acked"
    assert "the report of acked turn" in caplog.text


def test_a_worker_that_is_stopped_ends_what_it_has_in_hand(host: Host, ledger: Ledger) -> None:
    first, second = host.append("first", "second")
    begun, going_on = threading.Event(), threading.Event()

    def working(turn: TurnInHand) -> None:
        del turn
        begun.set()
        assert going_on.wait(30)

    worker = Worker(ledger, working)
    thread = threading.Thread(target=worker.run)
    thread.start()
    assert begun.wait(30)
    assert (worker.health().is_running, worker.health().in_hand) == (True, 1)
    worker.stop()
    going_on.set()
    thread.join(30)
    assert not thread.is_alive()
    assert [host.turn(one).state for one in (first, second)] == ["acked", "pending"]


def test_after_the_grace_period_what_is_known_is_recorded_and_the_function_can_write_nothing(
    host: Host, ledger: Ledger
) -> None:
    [only] = host.append("only")
    begun, going_on, ended = threading.Event(), threading.Event(), threading.Event()
    late: list[Exception] = []

    def working(turn: TurnInHand) -> None:
        begun.set()
        assert going_on.wait(30)
        try:
            turn.ack()
        except turnledger.ClaimLost as error:
            late.append(error)
        ended.set()

    worker = Worker(ledger, working)
    thread = threading.Thread(target=worker.run, kwargs={"grace": 0.1})
    thread.start()
    assert begun.wait(30)
    worker.stop()
    thread.join(30)
    assert not thread.is_alive()
    failed = host.turn(only)
    assert (failed.state, failed.outcome_unknown) == ("failed", True)
    assert str(failed.failure).startswith(WorkerStopped.__name__)
    going_on.set()
    assert ended.wait(30)
    assert len(late) == 1
    assert host.turn(only).state == "failed"


def test_a_pause_before_another_attempt_ends_with_the_worker(host: Host, ledger: Ledger) -> None:
    [only] = host.append("only")
    pausing = threading.Event()

    def refusing(turn: TurnInHand) -> None:
        del turn
        raise NoEffect

    def report(happening: Happening) -> None:
        if happening.kind == "retrying":
            pausing.set()

    slowly = RetryPolicy(max_attempts=3, base=timedelta(minutes=5))
    worker = Worker(ledger, refusing, retry=slowly, report=report)
    thread = threading.Thread(target=worker.run)
    thread.start()
    assert pausing.wait(30)
    worker.stop()
    thread.join(30)
    assert not thread.is_alive()
    assert (host.turn(only).state, host.turn(only).attempts) == ("pending", 1)


def test_what_cant_be_is_refused(ledger: Ledger) -> None:
    with pytest.raises(InvalidInput):
        Worker(ledger, "no function")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput):
        Worker(ledger, nothing, concurrency=0)
