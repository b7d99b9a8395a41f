"""Opening in two ways, and closing, which waits for what is under way."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import turnledger
from tests.conformance.asynchronous.conftest import HoldingClock
from turnledger import StoreError
from turnledger.asynchronous.crew import MOST_THREADS
from turnledger.asynchronous.ledger import Opening


def own_threads() -> list[str]:
    """The ledgers' threads, but for one that has just closed a ledger, and ends."""
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if name.startswith(("turnledger_", "turnledger-watch"))]


def test_it_is_opened_by_await_and_by_a_block(open_async: Callable[..., Opening]) -> None:
    async def main() -> None:
        ledger = await open_async()
        await ledger.queue.append("thread", {"n": 1})
        await ledger.close()
        async with open_async() as ledger:
            await ledger.queue.append("thread", {"n": 2})
        async with await open_async() as ledger:
            turns = await ledger.queue.list("thread")
        assert [turn.submission for turn in turns] == [{"n": 1}, {"n": 2}]

    asyncio.run(main())


def test_closing_ends_all_of_its_threads(open_async: Callable[..., Opening]) -> None:
    async def main() -> None:
        before = own_threads()
        async with open_async() as ledger:
            await asyncio.gather(*(ledger.queue.append(f"thread-{n}", {}) for n in range(32)))
            assert await ledger.wait_for_change(0, timeout=30) > 0
            assert 1 < len(own_threads()) - len(before) <= MOST_THREADS + 1
        assert own_threads() == before

    asyncio.run(main())


def test_one_command_after_the_other_takes_few_threads(open_async: Callable[..., Opening]) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            for number in range(10):
                await ledger.queue.append("thread", {"n": number})
            assert len(own_threads()) < MOST_THREADS

    asyncio.run(main())


def noted(submit: Callable[..., object], hops: list[object]) -> Callable[..., object]:
    """A pool's submit, which says what was submitted."""
    return lambda *a: hops.append(a) or submit(*a)


def test_a_command_is_at_most_one_hop_to_a_thread(
    open_async: Callable[..., Opening], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            hops: list[object] = []
            for pool in (ledger._crew._threads, ledger._crew._writer):
                monkeypatch.setattr(pool, "submit", noted(pool.submit, hops))
            await ledger.queue.append_many("thread", [{}, {}], idempotency_key="key")
            await ledger.queue.claim_next("worker")
            assert len(hops) in {1, 2}  # the second may find the thread still at work

    asyncio.run(main())


def test_closing_waits_for_what_is_under_way_and_for_what_was_asked_before(
    open_async: Callable[..., Opening], clock: HoldingClock
) -> None:
    count = 3 * MOST_THREADS

    async def main() -> None:
        ledger = await open_async()
        clock.hold()
        tasks = [asyncio.create_task(ledger.queue.append("thread", {})) for _ in range(count)]
        await clock.reached()
        closings = [asyncio.create_task(ledger.close()) for _ in range(2)]
        done, _ = await asyncio.wait(closings, timeout=0.05)
        assert not done
        with pytest.raises(StoreError, match="was closed"):
            await ledger.queue.append("thread", {})
        clock.let_go()
        await asyncio.gather(*closings)
        assert all(task.done() for task in tasks)
        assert len({turn.queued_turn_id for turn in await asyncio.gather(*tasks)}) == count
        await ledger.close()  # once more does no harm

    asyncio.run(main())


def test_a_cancelled_closing_closes_all_the_same(
    open_async: Callable[..., Opening], clock: HoldingClock
) -> None:
    async def main() -> None:
        before = own_threads()
        ledger = await open_async()
        clock.hold()
        task = asyncio.create_task(ledger.queue.append("thread", {}))
        await clock.reached()
        closing = asyncio.create_task(ledger.close())
        await asyncio.wait([closing], timeout=0.02)
        closing.cancel()
        await asyncio.wait([closing], timeout=0.02)
        assert not closing.done()
        clock.let_go()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert (await task).state == "pending"
        assert own_threads() == before

    asyncio.run(main())


def test_those_who_wait_are_told_that_it_was_closed(open_async: Callable[..., Opening]) -> None:
    async def first(ledger: turnledger.AsyncLedger) -> None:
        async for _ in ledger.log.follow():
            return

    async def main() -> None:
        ledger = await open_async()
        waiting = [
            asyncio.create_task(ledger.wait_for_change(0, 600)),
            asyncio.create_task(first(ledger)),
        ]
        await asyncio.wait(waiting, timeout=0.05)
        await ledger.close()
        for task in waiting:
            with pytest.raises(StoreError, match="was closed"):
                await task
        with pytest.raises(StoreError, match="was closed"):
            await ledger.wait_for_change(0, 600)

    asyncio.run(main())


def test_what_can_not_be_opened_leaves_no_thread(tmp_path: Path) -> None:
    async def main() -> None:
        before = own_threads()
        with pytest.raises(StoreError):
            await turnledger.open_async(tmp_path / "no" / "such" / "folder" / "ledger.db")
        with pytest.raises(turnledger.InvalidPayload):
            async with turnledger.open_async("nonsense://x"):
                pass
        assert own_threads() == before

    asyncio.run(main())


def test_a_read_only_one_reads_and_refuses_to_write(
    open_async: Callable[..., Opening], store_url: str
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            await ledger.queue.append("thread", {})
        async with turnledger.open_async(store_url, read_only=True) as ledger:
            assert len(await ledger.queue.list("thread")) == 1
            with pytest.raises(turnledger.StoreReadOnly):
                await ledger.queue.append("thread", {})

    asyncio.run(main())
