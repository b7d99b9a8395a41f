"""The past and the history, awaited."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import turnledger
from turnledger import StoreReadOnly

if TYPE_CHECKING:
    from turnledger import AsyncLedger


def test_the_past_is_asked_like_the_present(store_url: str) -> None:
    async def main(ledger: AsyncLedger) -> None:
        for number in range(3):
            await ledger.queue.append("t", {"n": number})
        async with ledger.as_of(2) as past:
            turns = await asyncio.gather(*(past.queue.list("t") for _ in range(20)))
            assert [len(found) for found in turns] == [2] * 20
            with pytest.raises(StoreReadOnly):
                await past.queue.append("t", {})
            with pytest.raises(StoreReadOnly):
                async with past.transaction():
                    pass
            assert await past.wait_for_change(0, 0) == 2
        scoped = await ledger.as_of(3, thread_id="other")
        assert await scoped.threads.list() == []
        await scoped.close()
        assert len(await ledger.queue.list("t")) == 3

    run(store_url, main)


def test_what_follows_the_past_gets_what_is_there_and_can_be_cancelled(store_url: str) -> None:
    async def main(ledger: AsyncLedger) -> None:
        for number in range(3):
            await ledger.queue.append("t", {"n": number})
        async with ledger.as_of(2) as past:
            following = past.log.follow()
            assert [(await anext(following)).position for _ in range(2)] == [1, 2]
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(following), 0.2)

    run(store_url, main)


def test_a_history_is_awaited(store_url: str) -> None:
    async def main(ledger: AsyncLedger) -> None:
        await ledger.queue.append("t", {})
        await ledger.inbox.post("t", 1, source="host")
        events = await ledger.history(thread_id="t")
        assert [event.type for event in events] == ["thread_queue.appended", "inbox.posted"]

    run(store_url, main)


def test_a_past_that_cant_be_leaves_nothing_open(store_url: str) -> None:
    async def main(ledger: AsyncLedger) -> None:
        with pytest.raises(turnledger.InvalidInput, match="the last one is 0"):
            await ledger.as_of(1)

    run(store_url, main)


def run(url: str, main: Any) -> None:
    async def opened() -> None:
        async with turnledger.open_async(url) as ledger:
            await main(ledger)

    asyncio.run(opened())
