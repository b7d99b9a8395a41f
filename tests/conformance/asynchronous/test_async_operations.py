"""`operations.once` with async bodies, and the recovery scan as a task."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import (
    AsyncLedger,
    InvalidPayload,
    NoEffect,
    OperationSettled,
    OutcomeUnknown,
    Recovered,
    RunClaim,
    StoreError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.asynchronous.conftest import HoldingClock
    from turnledger.asynchronous.ledger import Opening

    Door = Callable[..., Opening]


async def started(ledger: AsyncLedger, owner: str = "one") -> RunClaim:
    claim = await ledger.runs.start("run", "item", "action", owner, 60)
    assert claim is not None
    return claim


async def stands(ledger: AsyncLedger, key: str = "key") -> tuple[str, str]:
    operation = await ledger.operations.get(key)
    assert operation is not None
    return operation.execution, operation.effect


class Effect:
    """An async body that counts its calls."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.calls = 0
        self._error = error

    async def __call__(self) -> Any:
        self.calls += 1
        await asyncio.wait([asyncio.ensure_future(asyncio.to_thread(str))])
        if self._error is not None:
            raise self._error
        return {"id": 5}


def test_an_async_body_is_awaited_once(open_async: Door) -> None:
    async def work() -> None:
        async with open_async() as ledger:
            claim, body = await started(ledger), Effect()
            for _ in range(2):
                result = await ledger.operations.once(claim, "key", "send", {"n": 1}, body)
                assert result == {"id": 5}
            assert body.calls == 1
            assert await stands(ledger) == ("quiescent", "applied")
            plain = await ledger.operations.once(claim, "plain", "send", None, lambda: 7)
            assert plain == 7

    asyncio.run(work())


@pytest.mark.parametrize(
    ("error", "effect", "refusal"),
    [
        (ValueError("no"), "unknown", OutcomeUnknown),
        (NoEffect("declined"), "failed_no_effect", OperationSettled),
    ],
)
def test_an_async_body_that_raises_is_recorded(
    open_async: Door, error: Exception, effect: str, refusal: Any
) -> None:
    async def work() -> None:
        async with open_async() as ledger:
            claim, body = await started(ledger), Effect(error)
            with pytest.raises(type(error)):
                await ledger.operations.once(claim, "key", "send", {}, body)
            assert await stands(ledger) == ("quiescent", effect)
            with pytest.raises(refusal):
                await ledger.operations.once(claim, "key", "send", {}, body)
            assert body.calls == 1

    asyncio.run(work())


def test_a_task_that_is_cancelled_in_its_body_leaves_an_unknown_effect(open_async: Door) -> None:
    async def work() -> None:
        async with open_async() as ledger:
            claim, begun = await started(ledger), asyncio.Event()

            async def body() -> None:
                begun.set()
                await asyncio.Event().wait()

            task = asyncio.create_task(ledger.operations.once(claim, "key", "send", {}, body))
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await stands(ledger) == ("quiescent", "unknown")

    asyncio.run(work())


def test_a_task_that_is_cancelled_before_its_body_has_no_effect(
    open_async: Door, clock: HoldingClock
) -> None:
    async def work() -> None:
        async with open_async() as ledger:
            claim, body = await started(ledger), Effect()
            clock.hold()
            task = asyncio.create_task(ledger.operations.once(claim, "key", "send", {}, body))
            await clock.reached()
            task.cancel()
            clock.let_go()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert body.calls == 0
            assert await stands(ledger) == ("quiescent", "failed_no_effect")

    asyncio.run(work())


@pytest.mark.parametrize("others", [0, 8], ids=["at once", "once a thread is free"])
def test_a_body_that_returned_is_recorded_also_if_its_task_is_cancelled(
    open_async: Door, clock: HoldingClock, others: int
) -> None:
    async def work() -> None:
        async with open_async() as ledger:
            claim, returning, busy = await started(ledger), asyncio.Event(), list[Any]()

            async def body() -> str:
                clock.hold()
                for number in range(others):
                    append = ledger.queue.append(f"thread {number}", {})
                    busy.append(asyncio.create_task(append))
                if others:
                    await clock.reached()
                returning.set()
                return "result"

            task = asyncio.create_task(ledger.operations.once(claim, "key", "send", {}, body))
            await returning.wait()
            await clock.reached()
            task.cancel()
            clock.let_go()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asyncio.gather(*busy)
            assert await stands(ledger) == ("quiescent", "applied")

    asyncio.run(work())


@pytest.mark.parametrize("error", [NoEffect, asyncio.CancelledError])
def test_what_a_body_raises_goes_on_also_if_it_cant_be_recorded(
    open_async: Door, error: type[BaseException]
) -> None:
    async def work() -> None:
        async with open_async() as ledger, open_async() as other:
            claim, closed = await started(ledger), asyncio.Event()

            async def body() -> None:
                await other.close()
                closed.set()
                if error is NoEffect:
                    raise NoEffect
                await asyncio.Event().wait()

            task = asyncio.create_task(other.operations.once(claim, "key", "send", {}, body))
            await closed.wait()
            if error is not NoEffect:
                task.cancel()
            with pytest.raises(error):
                await task
            assert await stands(ledger) == ("running", "pending")

    asyncio.run(work())


def test_what_is_no_body_is_refused_before_anything_is_recorded(open_async: Door) -> None:
    async def work() -> None:
        async with open_async() as ledger:
            claim, body = await started(ledger), Effect()()
            with pytest.raises(InvalidPayload, match="body"):
                await ledger.operations.once(claim, "key", "send", {}, body)  # type: ignore[arg-type]
            body.close()
            assert await ledger.operations.get("key") is None

    asyncio.run(work())


# --- the scan


def test_a_task_scans_until_it_is_stopped(open_async: Door, clock: HoldingClock) -> None:
    async def work() -> None:
        async with open_async() as ledger:
            claim = await started(ledger)
            await ledger.operations.create_and_claim(claim, "key", "send", {}, automatic=False)
            assert await ledger.recovery.run_once() == Recovered()
            await ledger.recovery.start(every=0.01)
            await ledger.recovery.start(every=0.01)
            clock.advance(60)
            position = 0
            while (await stands(ledger))[0] == "running":
                position = await ledger.wait_for_change(position, 30)
            await ledger.recovery.stop()
            await ledger.recovery.stop()
            assert len(asyncio.all_tasks()) == 1
            await ledger.recovery.start(every=0.01)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(work())


def test_a_scan_that_makes_no_sense_isnt_started(open_async: Door) -> None:
    async def work() -> None:
        async with open_async() as ledger:
            with pytest.raises(InvalidPayload):
                await ledger.recovery.start(inbox_mode="never")  # type: ignore[arg-type]
        with pytest.raises(StoreError, match="closed"):
            await ledger.recovery.start()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(work())


def test_a_scan_whose_event_loop_is_gone_doesnt_hold_up_the_close(open_async: Door) -> None:
    async def begin() -> AsyncLedger:
        ledger = await open_async()
        await ledger.recovery.start()
        return ledger

    ledger = asyncio.run(begin())
    asyncio.run(ledger.close())
