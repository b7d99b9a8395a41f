"""`async with ledger.transaction()`: the calls of a block are committed together, or none is."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

import turnledger
from tests.conformance.asynchronous.conftest import HoldingClock
from turnledger import AsyncLedger, Claim, ClaimLost, QueueFull, Settings, StoreError
from turnledger.asynchronous.ledger import Opening


class Undo(Exception):
    """What a block raises so that nothing of it stays."""


async def texts(ledger: AsyncLedger, thread: str = "thread") -> list[str]:
    return [str((turn.submission or {})["text"]) for turn in await ledger.queue.list(thread)]


async def append(ledger: AsyncLedger, text: str, thread: str = "thread") -> None:
    await ledger.queue.append(thread, {"text": text})


def run(
    open_async: Callable[..., Opening], body: Callable[[AsyncLedger], Any], **fields: Any
) -> None:
    """Run a test on a ledger, which must be whole at the end."""

    async def main() -> None:
        async with open_async(**fields) as ledger:
            await body(ledger)
            assert (await ledger.verify()).findings == ()

    asyncio.run(main())


@asynccontextmanager
async def failing(
    ledger: AsyncLedger, kind: type[BaseException] | tuple[type[BaseException], ...]
) -> AsyncIterator[None]:
    """A block out of which an error is to come."""
    with pytest.raises(kind):
        async with ledger.transaction():
            yield


@asynccontextmanager
async def undone(ledger: AsyncLedger) -> AsyncIterator[None]:
    """A block that is undone at its end."""
    async with failing(ledger, Undo):
        yield
        raise Undo


async def lost_claim(ledger: AsyncLedger) -> Claim:
    await append(ledger, "head", "lost")
    claim = await ledger.queue.claim_head("lost", "worker")
    assert claim is not None
    await ledger.queue.start_dispatch(claim, "dispatch")
    await ledger.queue.recover("lost", owner="worker")
    return claim


async def kept(ledger: AsyncLedger) -> list[str]:
    [turn] = await ledger.queue.list("lost")
    return [one.kind for one in turn.evidence]


# --- all or nothing


def test_all_calls_of_a_block_are_there_after_it(open_async: Callable[..., Opening]) -> None:
    async def body(ledger: AsyncLedger) -> None:
        async with ledger.transaction():
            await append(ledger, "first")
            claim = await ledger.queue.claim_head("thread", "worker")
            assert claim is not None
            await ledger.queue.start_dispatch(claim, "dispatch")
            await ledger.queue.ack(claim)
            await append(ledger, "second")
            await ledger.threads.archive("other")
        assert await texts(ledger) == ["second"]
        assert await ledger.queue.why_blocked("other") == "archived"
        positions = [event.position for event in await ledger.log.read()]
        assert positions == list(range(1, 7))

    run(open_async, body)


@pytest.mark.parametrize(
    "error", [Undo, QueueFull("thread", 1, 1), asyncio.CancelledError], ids=repr
)
def test_nothing_of_a_block_is_there_that_raises(
    open_async: Callable[..., Opening], error: Any
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        await append(ledger, "before")
        async with failing(ledger, (Undo, QueueFull, asyncio.CancelledError)):
            await append(ledger, "inside")
            await append(ledger, "inside", "other")
            raise error
        assert await texts(ledger) == ["before"]
        assert await ledger.threads.get("other") is None
        await append(ledger, "after")
        assert await texts(ledger) == ["before", "after"]

    run(open_async, body)


def test_what_a_block_has_written_is_read_in_it_and_not_by_others(
    open_async: Callable[..., Opening],
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        looks: asyncio.Queue[asyncio.Future[list[str]]] = asyncio.Queue()

        async def look() -> None:
            while True:
                (await looks.get()).set_result(await texts(ledger))

        outside = asyncio.create_task(look())
        async with ledger.transaction():
            await append(ledger, "inside")
            assert await texts(ledger) == ["inside"]
            assert await ledger.queue.why_blocked("thread") is None
            assert len(await ledger.threads.list()) == 1
            seen: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
            looks.put_nowait(seen)
            assert await seen == []
        assert await texts(ledger) == ["inside"]
        outside.cancel()

    run(open_async, body)


def test_a_refusal_that_is_caught_undoes_itself_alone(open_async: Callable[..., Opening]) -> None:
    async def body(ledger: AsyncLedger) -> None:
        async with ledger.transaction():
            await append(ledger, "1")
            with pytest.raises(QueueFull):
                await append(ledger, "2")
            await append(ledger, "1", "other")
        assert await texts(ledger) == await texts(ledger, "other") == ["1"]

    run(open_async, body, max_visible_turns=1)


def test_a_block_in_a_block_is_undone_alone_or_with_the_outer_one(
    open_async: Callable[..., Opening],
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        async with ledger.transaction():
            await append(ledger, "outer")
            async with undone(ledger):
                await append(ledger, "inner, undone")
            async with ledger.transaction():
                await append(ledger, "inner")
            await append(ledger, "outer again")
        assert await texts(ledger) == ["outer", "inner", "outer again"]
        async with undone(ledger):
            async with ledger.transaction():
                await append(ledger, "inner")
            assert len(await texts(ledger)) == 4
        assert len(await texts(ledger)) == 3

    async def main() -> None:
        async with open_async(busy_timeout=2) as ledger:  # whoever waits for itself is found out
            await body(ledger)
            assert (await ledger.verify()).findings == ()

    asyncio.run(main())


def test_calls_are_recorded_under_the_name_in_force_when_they_were_made(
    open_async: Callable[..., Opening],
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        with ledger.acting_as(actor="outer"):
            async with ledger.transaction():
                await append(ledger, "1")
                with ledger.acting_as(actor="inner"):
                    await append(ledger, "2")
                await append(ledger, "3")
        actors = [event.metadata["actor"] for event in await ledger.log.read()]
        assert actors == ["outer", "inner", "outer"]

    run(open_async, body)


# --- evidence


def test_evidence_of_a_lost_claim_is_kept_once_if_the_block_is_committed(
    open_async: Callable[..., Opening],
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        claim = await lost_claim(ledger)
        before = len(await ledger.log.read())
        async with ledger.transaction():
            with pytest.raises(ClaimLost):
                await ledger.queue.ack(claim)
            await append(ledger, "inside")
        assert await kept(ledger) == ["ack"]
        assert len(await ledger.log.read()) == before + 2

    run(open_async, body)


@pytest.mark.parametrize("kind", [ClaimLost, Undo])
def test_evidence_of_a_lost_claim_stays_though_that_or_another_error_undoes_the_block(
    open_async: Callable[..., Opening], kind: type[BaseException]
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        claim = await lost_claim(ledger)
        before = len(await ledger.log.read())
        async with failing(ledger, kind):
            await append(ledger, "inside")
            with pytest.raises(ClaimLost):
                await ledger.queue.ack(claim)
            if kind is Undo:
                raise Undo
            await ledger.queue.ack(claim)
        assert await kept(ledger) == ["ack"]
        assert len(await ledger.log.read()) == before + 1

    run(open_async, body)


def test_evidence_that_outlives_its_block_says_on_whose_behalf_it_was_given(
    open_async: Callable[..., Opening],
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        claim = await lost_claim(ledger)
        async with undone(ledger):
            with ledger.acting_as(actor="alice"), pytest.raises(ClaimLost):
                await ledger.queue.ack(claim)
        [*_, event] = await ledger.log.read()
        assert (event.type, event.metadata.get("actor")) == ("evidence.kept", "alice")

    run(open_async, body)


def test_many_acks_at_once_are_part_of_a_block(open_async: Callable[..., Opening]) -> None:
    async def body(ledger: AsyncLedger) -> None:
        lost = await lost_claim(ledger)
        await append(ledger, "text")
        claim = await ledger.queue.claim_head("thread", "worker")
        assert claim is not None
        await ledger.queue.start_dispatch(claim, "dispatch")
        async with undone(ledger):
            assert await ledger.queue.ack_many([claim, lost]) == [lost]
        assert await kept(ledger) == ["ack"]
        assert await ledger.queue.why_blocked("thread") == "in_flight"
        assert await ledger.queue.ack_many([claim, lost]) == [lost]
        assert await ledger.queue.why_blocked("thread") == "empty"

    run(open_async, body)


# --- tasks


@pytest.mark.parametrize("end", ["committed", "undone"])
def test_calls_that_are_gathered_in_a_block_are_part_of_it(
    open_async: Callable[..., Opening], end: str
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        async def block() -> None:
            async with ledger.transaction():
                await asyncio.gather(*(append(ledger, str(n), f"thread {n}") for n in range(20)))
                async with asyncio.TaskGroup() as group:
                    for n in range(20, 40):
                        group.create_task(append(ledger, str(n), f"thread {n}"))
                if end == "undone":
                    raise Undo

        if end == "undone":
            with pytest.raises(Undo):
                await block()
        else:
            await block()
        expected = 40 if end == "committed" else 0
        assert len(await ledger.threads.list()) == expected

    run(open_async, body)


def test_of_gathered_calls_one_that_is_refused_undoes_the_block_or_itself(
    open_async: Callable[..., Opening],
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        async with ledger.transaction():
            calls = [append(ledger, str(n)) for n in range(5)]
            ends = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(end) for end in ends] == [type(None)] * 3 + [QueueFull] * 2
        assert await texts(ledger) == ["0", "1", "2"]
        async with failing(ledger, ExceptionGroup), asyncio.TaskGroup() as group:
            for n in range(5):
                group.create_task(append(ledger, str(n), "other"))
        assert await texts(ledger, "other") == []

    run(open_async, body, max_visible_turns=3)


@pytest.mark.parametrize("end", ["committed", "undone"])
def test_calls_of_a_task_that_was_there_before_are_no_part_of_the_block(
    open_async: Callable[..., Opening], end: str
) -> None:
    """On SQLite they wait for its end."""

    async def body(ledger: AsyncLedger) -> None:
        go = asyncio.Event()

        async def outside() -> None:
            await go.wait()
            await append(ledger, "outside", "other")

        task = asyncio.create_task(outside())

        async def block() -> None:
            async with ledger.transaction():
                await append(ledger, "inside")
                go.set()
                await asyncio.wait([task], timeout=0.05)
                await append(ledger, "inside")
                if end == "undone":
                    raise Undo

        if end == "undone":
            with pytest.raises(Undo):
                await block()
        else:
            await block()
        await task
        assert await texts(ledger, "other") == ["outside"]
        assert await texts(ledger) == (["inside"] * 2 if end == "committed" else [])

    run(open_async, body)


def test_a_task_that_outlives_its_block_is_refused(open_async: Callable[..., Opening]) -> None:
    async def body(ledger: AsyncLedger) -> None:
        over = asyncio.Event()

        async def late() -> None:
            await over.wait()
            await append(ledger, "late")

        async with ledger.transaction():
            await append(ledger, "inside")
            task = asyncio.create_task(late())
        async with ledger.transaction():
            over.set()
            with pytest.raises(StoreError, match="over"):
                await task
        assert await texts(ledger) == ["inside"]
        await append(ledger, "after")
        assert await texts(ledger) == ["inside", "after"]

    run(open_async, body)


def test_a_block_of_a_task_that_outlives_the_one_around_it_is_refused(
    open_async: Callable[..., Opening],
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        over = asyncio.Event()

        async def late() -> None:
            await over.wait()
            async with ledger.transaction():
                await append(ledger, "late")

        async with ledger.transaction():
            await append(ledger, "inside")
            task = asyncio.create_task(late())
        over.set()
        [end] = await asyncio.gather(task, return_exceptions=True)
        assert end is None or isinstance(end, StoreError)
        assert await texts(ledger) == ["inside"] + ["late"] * (end is None)

    run(open_async, body)


def test_blocks_of_many_tasks_at_once_are_each_whole(open_async: Callable[..., Opening]) -> None:
    async def body(ledger: AsyncLedger) -> None:
        async def block(number: int) -> None:
            async with ledger.transaction():
                await append(ledger, str(number), f"{number} left")
                await append(ledger, str(number), f"{number} right")
                if number % 3 == 0:
                    raise Undo

        ends = await asyncio.gather(*(block(n) for n in range(12)), return_exceptions=True)
        assert [isinstance(end, Undo) for end in ends] == [n % 3 == 0 for n in range(12)]
        for number in range(12):
            there = [await texts(ledger, f"{number} {half}") for half in ("left", "right")]
            assert there == [[] if number % 3 == 0 else [str(number)]] * 2

    run(open_async, body)


def test_blocks_on_two_ledgers_end_each_for_itself(
    open_async: Callable[..., Opening], fresh_store: Callable[[str], str]
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        settings = Settings(synchronous="NORMAL")
        async with turnledger.open_async(fresh_store("other"), settings=settings) as other:
            async with ledger.transaction():
                await append(ledger, "1")
                async with undone(other):
                    await append(other, "undone")
                    await append(ledger, "2")
                await append(other, "stays")
            assert await texts(ledger) == ["1", "2"]
            assert await texts(other) == ["stays"]

    run(open_async, body)


# --- cancelled


def test_a_block_that_is_cancelled_between_its_calls_is_undone(
    open_async: Callable[..., Opening],
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        reached = asyncio.Event()

        async def block() -> None:
            async with ledger.transaction():
                await append(ledger, "inside")
                reached.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(block())
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await texts(ledger) == []
        await append(ledger, "after")

    run(open_async, body)


def test_a_block_that_is_cancelled_in_a_call_is_undone_once_the_call_has_ended(
    open_async: Callable[..., Opening], clock: HoldingClock
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        reached = asyncio.Event()

        async def block() -> None:
            async with ledger.transaction():
                await append(ledger, "1")
                clock.hold()
                reached.set()
                await append(ledger, "2")

        task = asyncio.create_task(block())
        await reached.wait()
        await clock.reached()
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=0.02)
        assert done == set()
        clock.let_go()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await texts(ledger) == []
        await append(ledger, "after")

    run(open_async, body)


def test_a_block_that_is_cancelled_while_it_begins_leaves_the_way_free(
    open_async: Callable[..., Opening], clock: HoldingClock
) -> None:
    async def body(ledger: AsyncLedger) -> None:
        async def block() -> None:
            async with ledger.transaction():
                await append(ledger, "never")

        clock.hold()
        task = asyncio.create_task(block())
        await clock.reached()
        task.cancel()
        await asyncio.wait([task], timeout=0.02)
        clock.let_go()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await texts(ledger) == []
        async with ledger.transaction():
            await append(ledger, "after")
        assert await texts(ledger) == ["after"]

    run(open_async, body)


def test_a_block_that_is_cancelled_while_it_waits_for_another_one_never_begins(
    open_async: Callable[..., Opening],
) -> None:
    """On PostgreSQL it doesn't wait, so it may have begun: then it is undone."""

    async def body(ledger: AsyncLedger) -> None:
        go = asyncio.Event()

        async def block() -> None:
            await go.wait()
            async with ledger.transaction():
                await append(ledger, "never", "other")
                await asyncio.Event().wait()

        task = asyncio.create_task(block())  # before the block here, so that it is no part of it
        async with ledger.transaction():
            await append(ledger, "first")
            go.set()
            await asyncio.wait([task], timeout=0.02)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await texts(ledger) == ["first"]
        assert await texts(ledger, "other") == []

    run(open_async, body)


def test_a_time_out_around_a_block_undoes_it(open_async: Callable[..., Opening]) -> None:
    async def body(ledger: AsyncLedger) -> None:
        async def block() -> None:
            async with ledger.transaction():
                await append(ledger, "inside")
                await asyncio.Event().wait()

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(block(), 0.02)
        assert await texts(ledger) == []

    run(open_async, body)


# --- closing


def own_threads() -> list[str]:
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if name.startswith(("turnledger_", "turnledger-tr"))]


def test_blocks_leave_no_threads_behind(open_async: Callable[..., Opening]) -> None:
    async def body(ledger: AsyncLedger) -> None:
        for _ in range(3):
            async with ledger.transaction():
                await append(ledger, "inside")
            async with undone(ledger):
                pass

    run(open_async, body)
    for thread in threading.enumerate():
        if thread.name.startswith("turnledger-transaction"):
            thread.join(30)
    assert own_threads() == []


def test_a_closed_ledger_begins_no_block(open_async: Callable[..., Opening]) -> None:
    async def main() -> None:
        ledger = await open_async()
        await ledger.close()
        with pytest.raises(StoreError, match="closed"):
            async with ledger.transaction():
                pass

    asyncio.run(main())


@pytest.mark.parametrize("call", ["a call", "no call"])
def test_what_the_caller_of_a_block_is_told_is_true_if_the_ledger_is_closed_in_its_middle(
    open_async: Callable[..., Opening], call: str
) -> None:
    async def main() -> None:
        ledger = await open_async()

        async def close() -> None:
            await ledger.close()

        closing: asyncio.Task[None] | None = None
        told = "done"
        try:
            async with ledger.transaction():
                await append(ledger, "inside")
                closing = asyncio.create_task(close())
                await asyncio.wait([closing], timeout=0.05)
                if call == "a call":
                    await append(ledger, "inside")
        except StoreError:
            told = "refused"
        assert closing is not None
        await closing
        async with open_async(busy_timeout=2) as again:
            there = await texts(again)
            assert there == (["inside"] if told == "done" else [])
            await append(again, "after")
            assert (await again.verify()).findings == ()
        assert told == "refused" or call == "no call"

    asyncio.run(main())


def test_a_block_is_a_call_and_so_it_is_waited_for_that_was_begun_before_closing(
    open_async: Callable[..., Opening],
) -> None:
    """Its task ends it at once; nothing of it is left half done."""

    async def main() -> None:
        ledger = await open_async()
        begun = asyncio.Event()

        async def block() -> None:
            async with ledger.transaction():
                await append(ledger, "inside")
                begun.set()

        task = asyncio.create_task(block())
        await begun.wait()
        await ledger.close()
        [end] = await asyncio.gather(task, return_exceptions=True)
        async with open_async(busy_timeout=2) as again:
            assert await texts(again) == (["inside"] if end is None else [])
            await append(again, "after")

    asyncio.run(main())
