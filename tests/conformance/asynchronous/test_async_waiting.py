"""Waiting for a change and following the log take no thread, and end at once when cancelled."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import aclosing, suppress
from datetime import timedelta

import pytest

import turnledger
from turnledger import AsyncLedger, Cursor, Ledger, RecordedEvent, StoreUnavailable
from turnledger.asynchronous.crew import MOST_THREADS
from turnledger.asynchronous.ledger import Opening

LONG = 600.0  # seconds: longer than any test


def waiting(ledger: AsyncLedger, since: int = 0) -> asyncio.Task[int]:
    return asyncio.create_task(ledger.wait_for_change(since, LONG))


async def settled(task: asyncio.Task[int]) -> None:
    """Let a task begin to wait."""
    assert not (await asyncio.wait([task], timeout=0.05))[0]


def watches() -> int:
    return sum(thread.name == "turnledger-watch" for thread in threading.enumerate())


def test_what_another_ledger_commits_ends_every_wait(
    open_async: Callable[..., Opening], ledger: Ledger
) -> None:
    async def main() -> None:
        async with open_async() as own:
            tasks = [waiting(own) for _ in range(3 * MOST_THREADS)]
            await settled(tasks[-1])
            await own.queue.list("thread")  # there is a thread left for it
            assert watches() == 1
            await asyncio.to_thread(ledger.queue.append, "thread", {})
            assert set(await asyncio.gather(*tasks)) == {1}

    asyncio.run(main())


def test_what_is_there_already_ends_a_wait_at_once(open_async: Callable[..., Opening]) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            await ledger.queue.append("thread", {})
            assert await ledger.wait_for_change(since=0, timeout=LONG) == 1
            assert await ledger.wait_for_change(since=-5, timeout=LONG) == 1
            await ledger.queue.append("thread", {})
            assert await ledger.wait_for_change(since=1, timeout=timedelta(minutes=10)) == 2

    asyncio.run(main())


@pytest.mark.parametrize("timeout", [0, 0.01, timedelta(milliseconds=10)])
def test_a_wait_in_vain_gives_the_last_position(
    open_async: Callable[..., Opening], timeout: float | timedelta
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            await ledger.queue.append("thread", {})
            assert await ledger.wait_for_change(1, timeout) == 1
            assert await ledger.wait_for_change(7, timeout) == 1
            assert await ledger.wait_for_change(0, timeout) == 1

    asyncio.run(main())


@pytest.mark.parametrize("timeout", [-1, float("inf"), float("nan"), "soon"])
def test_a_time_out_that_is_none_is_refused(
    open_async: Callable[..., Opening], timeout: object
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            with pytest.raises(turnledger.InvalidDuration):
                await ledger.wait_for_change(0, timeout)  # type: ignore[arg-type]

    asyncio.run(main())


def test_a_cancelled_wait_ends_at_once_and_the_others_go_on(
    open_async: Callable[..., Opening],
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            kept, *tasks = [waiting(ledger) for _ in range(20)]
            await settled(kept)
            for task in tasks:
                task.cancel()
            done, _ = await asyncio.wait(tasks, timeout=5)
            assert len(done) == len(tasks)
            assert all(task.cancelled() for task in tasks)
            await ledger.queue.append("thread", {})
            assert await kept == 1
            assert not ledger._watch._waiting

    asyncio.run(main())


def test_the_thread_rests_when_nobody_waits_any_more(
    open_async: Callable[..., Opening], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(turnledger.asynchronous.watch._LOOK_SECONDS, kind, 0.01)
    resting = threading.Event()

    async def main() -> None:
        async with open_async() as ledger:
            watch = ledger._watch
            wanted = watch._wanted

            def looked() -> bool:
                if not watch._waiting:
                    resting.set()
                return wanted()

            monkeypatch.setattr(watch, "_wanted", looked)
            task = waiting(ledger)
            await settled(task)
            assert not resting.is_set()
            task.cancel()
            assert await asyncio.to_thread(resting.wait, 10)
            await ledger.queue.append("thread", {})
            assert await ledger.wait_for_change(0, LONG) == 1
        assert watches() == 0

    asyncio.run(main())


def test_a_store_that_says_no_is_heard_by_all_who_wait_and_waiting_works_again(
    open_async: Callable[..., Opening], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            watch = ledger._watch

            def refused(*_: object) -> int:
                raise StoreUnavailable("the ledger", "it is being moved")

            with monkeypatch.context() as patch:
                patch.setattr(watch._store, "wait_for_change", refused)
                tasks = [waiting(ledger), waiting(ledger)]
                ends = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(end) for end in ends] == [StoreUnavailable] * 2
            await ledger.queue.append("thread", {})
            assert await ledger.wait_for_change(0, LONG) == 1

    asyncio.run(main())


# --- following


async def following(
    ledger: AsyncLedger, count: int, after: int | Cursor = 0, types: list[str] | None = None
) -> list[RecordedEvent]:
    """The next events, so many."""
    seen: list[RecordedEvent] = []
    async with aclosing(ledger.log.follow(after, types=types)) as events:
        async for event in events:
            seen.append(event)
            if len(seen) == count:
                break
    return seen


def test_a_follower_sees_every_event_once_in_order_while_many_append(
    open_async: Callable[..., Opening], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turnledger.log, "_PAGE", 7)
    count = 64

    async def main() -> None:
        async with open_async() as ledger:
            followers = [asyncio.create_task(following(ledger, count)) for _ in range(3)]
            await asyncio.gather(*(ledger.queue.append(f"t-{n}", {}) for n in range(count)))
            for events in await asyncio.gather(*followers):
                assert [event.position for event in events] == list(range(1, count + 1))
            assert events == await ledger.log.read()

    asyncio.run(main())


def test_a_follower_goes_on_behind_a_cursor_and_sees_what_it_asked_for(
    open_async: Callable[..., Opening],
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            await ledger.queue.append_many("thread", [{"n": n} for n in range(3)])
            await ledger.queue.pause("thread", "lunch")
            first, *_ = await following(ledger, 1)
            behind = await following(ledger, 2, after=first.cursor)
            assert [event.position for event in behind] == [2, 3]
            [paused] = await following(ledger, 1, types=["thread_queue.paused"])
            assert paused.position == 4

    asyncio.run(main())


def test_a_cursor_of_another_generation_is_refused(open_async: Callable[..., Opening]) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            with pytest.raises(turnledger.OtherGeneration):
                await following(ledger, 1, after=Cursor(1, "another"))

    asyncio.run(main())


def test_a_cancelled_follower_ends_at_once_and_the_ledger_goes_on(
    open_async: Callable[..., Opening],
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            task = asyncio.create_task(following(ledger, 2))
            await ledger.queue.append("thread", {})
            await asyncio.wait([task], timeout=0.05)
            task.cancel()
            done, _ = await asyncio.wait([task], timeout=5)
            assert done
            with suppress(asyncio.CancelledError):
                await task
            assert task.cancelled()
            await ledger.queue.append("thread", {})
            assert len(await following(ledger, 2)) == 2

    asyncio.run(main())
