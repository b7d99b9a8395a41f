"""A cancelled command is whole or never was, and nothing goes on behind a task's back."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from tests.conformance.asynchronous.conftest import HoldingClock
from turnledger import AsyncLedger, QueueFull
from turnledger.asynchronous import ledger as door
from turnledger.asynchronous.crew import MOST_THREADS, ended
from turnledger.asynchronous.ledger import Opening

MOMENT = 0.02  # seconds in which nothing is to happen


async def still_waits(task: asyncio.Task[Any]) -> bool:
    """Whether a task isn't done a moment later."""
    done, _ = await asyncio.wait([task], timeout=MOMENT)
    return not done


async def texts(ledger: AsyncLedger, thread: str = "thread") -> list[str]:
    return [str((turn.submission or {})["text"]) for turn in await ledger.queue.list(thread)]


def test_a_command_under_way_goes_on_to_its_end_and_then_the_task_is_cancelled(
    open_async: Callable[..., Opening], clock: HoldingClock
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            clock.hold()
            task = asyncio.create_task(ledger.queue.append("thread", {"text": "whole"}))
            await clock.reached()
            for _ in range(2):
                task.cancel()
                assert await still_waits(task)
            clock.let_go()
            with pytest.raises(asyncio.CancelledError):
                await task

            assert await texts(ledger) == ["whole"]
            await ledger.queue.append("thread", {"text": "next"})
            assert await texts(ledger) == ["whole", "next"]
            assert (await ledger.verify()).ok

    asyncio.run(main())


def test_a_command_that_has_not_begun_is_withdrawn_at_once(
    open_async: Callable[..., Opening], clock: HoldingClock
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            clock.hold()
            busy = [
                asyncio.create_task(ledger.queue.append(f"thread-{n}", {"text": "busy"}))
                for n in range(MOST_THREADS)
            ]
            await clock.reached()
            task = asyncio.create_task(ledger.queue.append("thread", {"text": "withdrawn"}))
            assert await still_waits(task)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            clock.let_go()
            await asyncio.gather(*busy)

            assert await ledger.threads.get("thread") is None
            assert len(await ledger.log.read()) == MOST_THREADS

    asyncio.run(main())


def test_a_time_out_is_raised_when_the_command_has_ended(
    open_async: Callable[..., Opening], clock: HoldingClock
) -> None:
    async def impatient(ledger: AsyncLedger) -> None:
        async with asyncio.timeout(MOMENT):
            await ledger.queue.append("thread", {"text": "whole"})

    async def main() -> None:
        async with open_async() as ledger:
            clock.hold()
            task = asyncio.create_task(impatient(ledger))
            await clock.reached()
            assert await still_waits(task)
            clock.let_go()
            with pytest.raises(TimeoutError):
                await task
            assert await texts(ledger) == ["whole"]

    asyncio.run(main())


def test_a_refusal_that_comes_after_the_cancellation_is_its_cause(
    open_async: Callable[..., Opening], clock: HoldingClock
) -> None:
    async def main() -> None:
        async with open_async(max_visible_turns=1) as ledger:
            await ledger.queue.append("thread", {"text": "first"})
            clock.hold()
            task = asyncio.create_task(ledger.queue.append("thread", {"text": "second"}))
            await clock.reached()
            task.cancel()
            assert await still_waits(task)
            clock.let_go()
            with pytest.raises(asyncio.CancelledError) as caught:
                await task
            assert isinstance(caught.value.__cause__, QueueFull)
            assert await texts(ledger) == ["first"]

    asyncio.run(main())


def test_of_many_cancelled_appends_each_is_whole_or_never_was(
    open_async: Callable[..., Opening],
) -> None:
    count = 64

    async def main() -> None:
        async with open_async() as ledger:
            tasks = [
                asyncio.create_task(
                    ledger.queue.append(f"thread-{n}", {"text": n}, idempotency_key="key")
                )
                for n in range(count)
            ]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks[::2]:
                task.cancel()
            ends = await asyncio.gather(*tasks, return_exceptions=True)

            before = len(await ledger.log.read())
            for number, end in enumerate(ends):
                there = await texts(ledger, f"thread-{number}")
                assert there in ([], [str(number)])
                assert there or isinstance(end, asyncio.CancelledError)
            again = [
                await ledger.queue.append(f"thread-{n}", {"text": n}, idempotency_key="key")
                for n in range(count)
            ]
            assert sum(turn.duplicate for turn in again) == before >= count / 2
            assert len(await ledger.log.read()) == count
            assert (await ledger.verify()).ok

    asyncio.run(main())


def test_a_cancelled_opening_leaves_nothing_open(
    open_async: Callable[..., Opening], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    clock, opening = HoldingClock(), door.open_backend

    def held(*args: Any, **kwargs: Any) -> Any:
        opened.append(opening(*args, **kwargs))
        clock()
        return opened[-1]

    monkeypatch.setattr(door, "open_backend", held)

    async def main() -> None:
        clock.hold()
        task = asyncio.ensure_future(open_async())
        await clock.reached()
        task.cancel()
        assert await still_waits(task)
        clock.let_go()
        with pytest.raises(asyncio.CancelledError):
            await task
        [backend] = opened
        assert backend.store._closed

    asyncio.run(main())


def test_what_ends_as_the_task_is_cancelled_is_cancelled_all_the_same() -> None:
    async def main() -> None:
        work: Future[str] = Future()
        assert work.set_running_or_notify_cancel()
        task = asyncio.create_task(ended(work))
        assert await still_waits(task)
        work.set_result("done")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
