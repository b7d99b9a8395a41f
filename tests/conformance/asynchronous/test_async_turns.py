"""The loop of a worker for asyncio: many turns at a time, and bodies that are cancelled in time."""

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.conformance.asynchronous.conftest import HoldingClock
from turnledger import (
    AsyncLedger,
    AsyncTurnInHand,
    ClaimLost,
    Ledger,
    QueuedTurn,
    StoreUnavailable,
)
from turnledger.asynchronous.ledger import Opening

Open = Callable[..., Opening]
LONG = 600.0
COUNT = 100


class Broken(Exception):
    """What a body raises."""


async def first(ledger: AsyncLedger, **given: Any) -> AsyncTurnInHand:
    return await anext(ledger.turns(**given))


async def forever() -> None:
    await asyncio.Event().wait()


async def head(ledger: AsyncLedger) -> QueuedTurn:
    [turn] = await ledger.queue.list("thread")
    return turn


def test_a_hundred_turns_run_at_the_same_time_in_one_process(open_async: Open) -> None:
    async def main() -> None:
        together, running, most = asyncio.Event(), 0, 0

        async def body(turn: AsyncTurnInHand) -> None:
            nonlocal running, most
            async with turn:
                await turn.dispatch()
                running += 1
                most = max(most, running)
                if running == COUNT:
                    together.set()
                await together.wait()
                running -= 1
                await turn.ack()

        async with open_async() as ledger, asyncio.TaskGroup() as tasks:
            appends = (ledger.queue.append(f"t-{n}", {}) for n in range(COUNT + 20))
            await asyncio.gather(*appends)
            async for turn in ledger.turns(limit=COUNT, once=True):
                tasks.create_task(body(turn))
            assert most == COUNT
            assert await ledger.threads.list(state="pending") == []
            assert (await ledger.verify()).ok

    asyncio.run(main())


async def do_nothing(turn: AsyncTurnInHand) -> None:
    del turn


async def dispatch(turn: AsyncTurnInHand) -> None:
    await turn.dispatch()


async def break_early(turn: AsyncTurnInHand) -> None:
    del turn
    raise Broken


async def break_late(turn: AsyncTurnInHand) -> None:
    await turn.dispatch()
    raise Broken


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (do_nothing, "pending"),
        (break_early, "pending"),
        (dispatch, "failed"),
        (break_late, "failed"),
    ],
)
def test_a_turn_that_is_left_is_released_or_its_outcome_is_unknown(
    open_async: Open, body: Callable[[AsyncTurnInHand], Awaitable[None]], state: str
) -> None:
    async def work(ledger: AsyncLedger) -> None:
        async with await first(ledger) as turn:
            await body(turn)

    async def main() -> None:
        async with open_async() as ledger:
            await ledger.queue.append("thread", {})
            [raised] = await asyncio.gather(work(ledger), return_exceptions=True)
            assert isinstance(raised, Broken) is (body in (break_early, break_late))
            left = await head(ledger)
            assert (left.state, left.outcome_unknown) == (state, state == "failed")

    asyncio.run(main())


@pytest.mark.parametrize("dispatched", [False, True])
def test_a_body_that_is_cancelled_from_outside_records_what_is_known(
    open_async: Open, *, dispatched: bool
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            await ledger.queue.append("thread", {})
            running = asyncio.Event()

            async def body() -> None:
                async with await first(ledger) as turn:
                    if dispatched:
                        await turn.dispatch()
                    running.set()
                    await forever()

            task = asyncio.create_task(body())
            await running.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await head(ledger)).state == ("failed" if dispatched else "pending")

    asyncio.run(main())


@pytest.mark.parametrize("dispatched", [False, True])
def test_a_lost_claim_cancels_the_body(
    open_async: Open, ledger: Ledger, clock: HoldingClock, *, dispatched: bool
) -> None:
    async def main() -> None:
        async with open_async() as own:
            await own.queue.append("thread", {})
            seen: list[str] = []

            async def body() -> None:
                async with await first(own, lease=0.3) as turn:
                    if dispatched:
                        await turn.dispatch()
                    clock.advance(3_600)
                    await asyncio.to_thread(ledger.queue.recover)
                    try:
                        await forever()
                    except asyncio.CancelledError:
                        seen.append("cancelled")
                        raise

            with pytest.raises(ClaimLost):
                await asyncio.wait_for(body(), 30)
            assert seen == ["cancelled"]
            left = await head(own)
            assert left.state == ("failed" if dispatched else "pending")
            assert [piece.kind for piece in left.evidence] == ["fail"] * dispatched

    asyncio.run(main())


def test_a_worker_that_was_too_slow_can_write_nothing(
    open_async: Open, ledger: Ledger, clock: HoldingClock
) -> None:
    async def body(own: AsyncLedger) -> None:
        async with await first(own) as turn:
            clock.advance(3_600)
            await asyncio.to_thread(ledger.queue.recover)
            count = len(await own.log.read())
            for command in (turn.dispatch, turn.release, turn.dispatch):
                with pytest.raises(ClaimLost):
                    await command()
            assert len(await own.log.read()) == count
            assert turn.is_lost

    async def main() -> None:
        async with open_async() as own:
            await own.queue.append("thread", {})
            with pytest.raises(ClaimLost):
                await body(own)

    asyncio.run(main())


def test_a_waiting_worker_is_woken_by_what_another_process_appends(
    open_async: Open, ledger: Ledger
) -> None:
    async def main() -> None:
        async with open_async() as own, own.turns() as turns:
            appending = threading.Timer(0.2, lambda: ledger.queue.append("thread", {"n": 1}))
            appending.start()
            turn = await asyncio.wait_for(anext(turns), 30)
            assert turn.submission == {"n": 1}
            await turn.release()
            appending.join()

    asyncio.run(main())


def test_stopping_ends_the_iteration_of_a_waiting_worker(open_async: Open) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            turns = ledger.turns()
            asyncio.get_running_loop().call_later(0.1, turns.stop)
            assert [turn async for turn in turns] == []

    asyncio.run(main())


def test_claims_of_a_cancelled_wait_are_given_back_at_the_close(
    open_async: Open, clock: HoldingClock
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            await ledger.queue.append("thread", {})
            turns = ledger.turns()
            clock.hold()
            task = asyncio.create_task(anext(turns))  # type: ignore[arg-type]
            await clock.reached()
            task.cancel()
            clock.let_go()
            with pytest.raises(asyncio.CancelledError):
                await task
            await turns.close()
            assert (await head(ledger)).state == "pending"

    asyncio.run(main())


def test_the_messages_for_the_running_turn_come_until_it_is_settled(open_async: Open) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            await ledger.queue.append("thread", {})
            seen: list[Any] = []
            got = asyncio.Event()

            async def follow(turn: AsyncTurnInHand) -> None:
                async for message in turn.steering(follow=True):
                    seen.append(message.content)
                    got.set()

            async with await first(ledger) as turn:
                await turn.dispatch()
                assert [message async for message in turn.steering()] == []
                task = asyncio.create_task(follow(turn))
                await ledger.inbox.post(
                    "thread", "left", source="user", delivery="steer-current-turn"
                )
                await asyncio.wait_for(got.wait(), 30)
                await turn.ack()
                await asyncio.wait_for(task, 30)
            assert seen == ["left"]
            assert await ledger.inbox.list("thread") == []

    asyncio.run(main())


def test_a_worker_goes_on_when_the_store_said_no_for_a_while(
    open_async: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            await ledger.queue.append("thread", {})
            turns = ledger.turns()
            look, refusals = turns._plan.pace.look, iter([True, True, False])

            def looking() -> Any:
                if next(refusals, False):
                    raise StoreUnavailable("the store", "it is being moved")
                return look()

            monkeypatch.setattr(turns._plan.pace, "look", looking)
            turn = await asyncio.wait_for(anext(turns), 30)
            await turn.release()

    asyncio.run(main())


@pytest.mark.parametrize("grace", [0.1, LONG])
def test_a_signal_ends_the_claiming_and_after_the_grace_period_the_bodies(
    open_async: Open, grace: float
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            await ledger.queue.append("thread", {})
            await ledger.queue.append("thread-2", {})
            done = []
            async for turn in ledger.turns(stop_on=signal.SIGTERM, grace=grace):
                async with turn:
                    await turn.dispatch()
                    os.kill(os.getpid(), signal.SIGTERM)
                    if grace == LONG:
                        await turn.ack()
                    else:
                        await forever()
                done.append(turn.result)
            assert done == (["acked"] if grace == LONG else ["failed"])
            assert [turn.state for turn in await ledger.queue.list("thread-2")] == ["pending"]

    asyncio.run(main())
