"""Commands that tasks give at the same time share a transaction on SQLite; each has its own end."""

import asyncio
import contextlib
import sqlite3
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

import turnledger
from tests.conformance.asynchronous.conftest import START, HoldingClock
from turnledger import AsyncLedger, ClaimLost, QueueFull, Settings, StoreFull, StoreUnavailable
from turnledger.asynchronous import crew
from turnledger.asynchronous.ledger import Opening

Call = Coroutine[Any, Any, Any]

CALLS = 8
LARGE = {"text": "x" * 900_000}


class StoppingClock(HoldingClock):
    """A clock at whose so-manyth reading something happens; counted from the last hold."""

    def __init__(self) -> None:
        super().__init__()
        self.readings = 0
        self.at_reading: dict[int, Callable[[], object]] = {}

    def __call__(self) -> Any:
        now = super().__call__()
        self.readings += 1
        self.at_reading.get(self.readings, bool)()
        return now

    def hold(self) -> None:
        super().hold()
        self.readings = 0


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, all calls are carried out in one go."""
    monkeypatch.setattr(crew, "LONGEST_SECONDS", 600.0)


@pytest.fixture
def clock() -> StoppingClock:
    return StoppingClock()


@pytest.fixture
def open_file(tmp_path: Path, empty_ledger: bytes, clock: StoppingClock) -> Callable[..., Opening]:
    """Opens a ledger on SQLite; takes fields of Settings."""
    path = tmp_path / "ledger.db"
    path.write_bytes(empty_ledger)

    def opening(**fields: Any) -> Opening:
        settings = Settings(**{"synchronous": "NORMAL", **fields})
        return turnledger.open_async(path, clock=clock, settings=settings)

    return opening


def commits(ledger: AsyncLedger) -> int:
    """How many transactions this process has committed in the ledger's file."""
    done: int = ledger._crew.backend.store.log._commits  # type: ignore[attr-defined]
    return done


def as_writer(ledger: AsyncLedger, work: Callable[[Any], object]) -> None:
    """Do something with the connection on which commands are carried out."""
    store: Any = ledger._crew.backend.store
    ledger._crew._writer.submit(lambda: work(store.held())).result()


async def together(ledger: AsyncLedger, clock: HoldingClock, *calls: Call) -> list[Any]:
    """Make calls while a first one is under way; an error is a result, too."""
    tasks = await called(ledger, clock, *calls)
    clock.let_go()
    return await asyncio.gather(*tasks, return_exceptions=True)


async def called(
    ledger: AsyncLedger, clock: HoldingClock, *calls: Call
) -> list["asyncio.Task[Any]"]:
    """Make calls while a first one is under way, which is held by the clock."""
    clock.hold()
    first = asyncio.create_task(ledger.queue.append("first", {}))
    await clock.reached()
    tasks = [asyncio.create_task(call) for call in calls]
    while len(ledger._crew._calls) != len(tasks):
        await asyncio.wait([first], timeout=0)
    return tasks


def appends(ledger: AsyncLedger, count: int = CALLS, thread: str = "thread {}") -> list[Call]:
    return [ledger.queue.append(thread.format(n), {"n": n}) for n in range(count)]


async def numbers(ledger: AsyncLedger, thread: str = "thread") -> list[int]:
    return [(turn.submission or {})["n"] for turn in await ledger.queue.list(thread)]


def test_commands_that_are_called_at_the_same_time_share_a_transaction(
    open_file: Callable[..., Opening], clock: StoppingClock
) -> None:
    async def main() -> None:
        async with open_file() as ledger:
            before = commits(ledger)
            turns = await together(ledger, clock, *appends(ledger))
            assert [turn.submission for turn in turns] == [{"n": n} for n in range(CALLS)]
            assert commits(ledger) - before == 2
            assert (await ledger.verify()).findings == ()

    asyncio.run(main())


def test_they_are_carried_out_in_the_order_of_calling(
    open_file: Callable[..., Opening], clock: StoppingClock
) -> None:
    async def main() -> None:
        async with open_file() as ledger:
            turns = await together(ledger, clock, *appends(ledger, thread="thread"))
            assert [turn.queue_order for turn in turns] == list(range(CALLS))
            assert await numbers(ledger) == list(range(CALLS))

    asyncio.run(main())


def test_a_lone_command_waits_for_nobody(open_file: Callable[..., Opening]) -> None:
    """However long a group may be waited for: here it would be ten minutes."""

    async def main() -> None:
        async with open_file() as ledger:
            before = commits(ledger)
            for call in appends(ledger, 3, "thread"):
                async with asyncio.timeout(60):
                    await call
            assert commits(ledger) - before == 3

    asyncio.run(main())


def test_after_a_while_no_more_commands_are_taken_into_a_transaction(
    open_file: Callable[..., Opening], clock: StoppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew, "LONGEST_SECONDS", -1.0)

    async def main() -> None:
        async with open_file() as ledger:
            before = commits(ledger)
            turns = await together(ledger, clock, *appends(ledger, thread="thread"))
            assert [turn.queue_order for turn in turns] == list(range(CALLS))
            assert commits(ledger) - before == 1 + CALLS

    asyncio.run(main())


def test_nobody_is_answered_before_the_commit(
    open_file: Callable[..., Opening], clock: StoppingClock
) -> None:
    reached, checked = threading.Event(), threading.Event()
    seen: list[int] = []

    def stop_at_commit(statement: str) -> None:
        if statement == "COMMIT":
            seen.append(clock.readings)
            if clock.readings == 2 + CALLS:  # the first call's, the block's, and one for each
                reached.set()
                assert checked.wait(30)

    async def main() -> None:
        async with open_file() as ledger:
            as_writer(ledger, lambda held: held.driver.set_trace_callback(stop_at_commit))
            tasks = await called(ledger, clock, *appends(ledger))
            clock.let_go()
            assert await asyncio.to_thread(reached.wait, 30)
            done, _ = await asyncio.wait(tasks, timeout=0)
            assert done == set()
            assert await ledger.threads.get("thread 0") is None
            checked.set()
            await asyncio.gather(*tasks)
            assert len(seen) == 2

    asyncio.run(main())


@pytest.mark.parametrize("place", [0, 3, CALLS - 1])
def test_a_refused_command_does_no_harm_to_its_neighbours(
    open_file: Callable[..., Opening], clock: StoppingClock, place: int
) -> None:
    async def main() -> None:
        async with open_file(max_visible_turns=1) as ledger:
            await ledger.queue.append(f"thread {place}", {})
            before = commits(ledger)
            ends = await together(ledger, clock, *appends(ledger))
            refused = [n for n, end in enumerate(ends) if isinstance(end, BaseException)]
            assert refused == [place]
            assert type(ends[place]) is QueueFull
            assert commits(ledger) - before == 2
            assert (await ledger.verify()).findings == ()

    asyncio.run(main())


def test_a_clock_that_fails_once_fails_one_command(
    open_file: Callable[..., Opening], clock: StoppingClock
) -> None:
    def fail() -> None:
        raise LookupError

    async def main() -> None:
        async with open_file() as ledger:
            clock.at_reading[2 + 4] = fail
            ends = await together(ledger, clock, *appends(ledger))
            kinds = [type(end) for end in ends if isinstance(end, BaseException)]
            assert kinds == [LookupError]
            assert isinstance(ends[3], LookupError)
            assert len(await ledger.log.read()) == CALLS
            assert (await ledger.verify()).findings == ()

    asyncio.run(main())


def test_each_is_recorded_under_the_name_of_its_task(
    open_file: Callable[..., Opening], clock: StoppingClock
) -> None:
    async def main() -> None:
        async def named(number: int, call: Call) -> None:
            with ledger.acting_as(actor=f"actor {number}"):
                await call

        async with open_file() as ledger:
            calls = [named(n, call) for n, call in enumerate(appends(ledger))]
            await together(ledger, clock, *calls)
            actors = [event.metadata.get("actor") for event in await ledger.log.read()]
            assert actors == [None, *(f"actor {n}" for n in range(CALLS))]

    asyncio.run(main())


def test_each_reads_the_clock_for_itself(
    open_file: Callable[..., Opening], clock: StoppingClock
) -> None:
    async def main() -> None:
        async with open_file() as ledger:
            for reading in range(2, CALLS + 3):
                clock.at_reading[reading] = lambda: clock.advance(1)
            turns = await together(ledger, clock, *appends(ledger))
            seconds = [(turn.created_at - START).total_seconds() for turn in turns]
            assert seconds == list(range(1, CALLS + 1))

    asyncio.run(main())


def test_the_same_key_given_by_all_at_once_is_carried_out_once(
    open_file: Callable[..., Opening], clock: StoppingClock
) -> None:
    async def main() -> None:
        async with open_file() as ledger:
            calls = [ledger.queue.append("thread", {}, idempotency_key="key") for _ in range(CALLS)]
            turns = await together(ledger, clock, *calls)
            assert [turn.duplicate for turn in turns] == [False] + [True] * (CALLS - 1)
            assert len(await ledger.log.read()) == 2

    asyncio.run(main())


def test_evidence_of_a_lost_claim_is_kept_once_when_its_ack_was_one_of_many(
    open_file: Callable[..., Opening], clock: StoppingClock
) -> None:
    async def main() -> None:
        async with open_file() as ledger:
            queue = ledger.queue
            turn = await queue.append("lost", {})
            claim = await queue.claim_head("lost", "worker")
            assert claim is not None
            await queue.start_dispatch(claim, "dispatch")
            await queue.recover("lost", owner="worker")
            calls = [*appends(ledger, 2), queue.ack(claim), *appends(ledger, 2), queue.ack(claim)]
            ends = await together(ledger, clock, *calls)
            assert [type(ends[place]) for place in (2, 5)] == [ClaimLost] * 2
            known = await queue.get("lost", turn.queued_turn_id)
            assert known is not None
            assert [one.kind for one in known.evidence] == ["ack"]
            assert (await ledger.verify()).findings == ()

    asyncio.run(main())


# --- the whole transaction is lost


@pytest.mark.parametrize("place", [0, 3, CALLS - 1])
def test_if_the_disk_is_full_for_one_command_the_others_are_carried_out(
    open_file: Callable[..., Opening], clock: StoppingClock, place: int
) -> None:
    def fill(held: Any) -> None:
        pages = held.cursor.execute("PRAGMA page_count").fetchone()[0] + 100
        held.cursor.execute(f"PRAGMA max_page_count={pages}").fetchall()

    async def main() -> None:
        async with open_file() as ledger:
            as_writer(ledger, fill)
            small = appends(ledger, CALLS - 1)
            calls = [*small[:place], ledger.queue.append("large", LARGE), *small[place:]]
            ends = await together(ledger, clock, *calls)
            errors = [type(end) for end in ends if isinstance(end, BaseException)]
            assert errors == [StoreFull]
            assert isinstance(ends[place], StoreFull)
            assert len(await ledger.log.read()) == CALLS
            assert (await ledger.verify()).findings == ()

    asyncio.run(main())


def test_if_their_commit_is_refused_each_is_carried_out_alone_and_once(
    open_file: Callable[..., Opening], clock: StoppingClock
) -> None:
    """SQLite asks before it prepares a statement: a way to refuse one commit, and no other."""
    asked: list[str] = []

    def ask(action: int, what: str | None, *_rest: object) -> int:
        if action == sqlite3.SQLITE_TRANSACTION and what == "COMMIT" and not asked:
            asked.append(what)
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    async def main() -> None:
        async with open_file() as ledger:
            store: Any = ledger._crew.backend.store
            clock.at_reading[3] = lambda: store.held().driver.set_authorizer(ask)  # in the group
            before = commits(ledger)
            ends = await together(ledger, clock, *appends(ledger))
            assert [end for end in ends if isinstance(end, BaseException)] == []
            assert asked == ["COMMIT"]
            assert commits(ledger) - before == 1 + CALLS
            assert len(await ledger.log.read()) == 1 + CALLS
            assert (await ledger.verify()).findings == ()

    asyncio.run(main())


def test_if_the_store_is_busy_for_too_long_all_are_told_so_and_nothing_was_done(
    open_file: Callable[..., Opening], clock: StoppingClock, tmp_path: Path
) -> None:
    async def main() -> None:
        async with open_file(busy_timeout=0.05) as ledger:
            tasks = await called(ledger, clock, *appends(ledger))
            clock.let_go()
            with contextlib.closing(
                sqlite3.connect(tmp_path / "ledger.db", isolation_level=None, timeout=30)
            ) as other:
                other.execute("BEGIN IMMEDIATE")
                ends = await asyncio.gather(*tasks, return_exceptions=True)
                other.execute("ROLLBACK")
            there = [event.stream_id.partition(":")[2] for event in await ledger.log.read()]
            for number, end in enumerate(ends):
                refused = isinstance(end, BaseException)
                assert not refused or type(end) is StoreUnavailable
                assert (f"thread {number}" in there) is not refused
            await ledger.queue.append("after", {})
            assert (await ledger.verify()).findings == ()

    asyncio.run(main())


# --- cancelled


def test_a_command_of_a_group_that_is_cancelled_before_it_has_begun_is_withdrawn(
    open_file: Callable[..., Opening], clock: StoppingClock
) -> None:
    async def main() -> None:
        async with open_file() as ledger:
            tasks = await called(ledger, clock, *appends(ledger))
            for task in tasks[::2]:
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            clock.let_go()
            await asyncio.gather(*tasks[1::2])
            there = [event.stream_id.partition(":")[2] for event in await ledger.log.read()]
            assert there == ["first", *(f"thread {n}" for n in range(1, CALLS, 2))]

    asyncio.run(main())


def test_if_all_of_a_group_are_cancelled_nothing_of_it_is_done(
    open_file: Callable[..., Opening], clock: StoppingClock
) -> None:
    async def main() -> None:
        async with open_file() as ledger:
            before = commits(ledger)
            tasks = await called(ledger, clock, *appends(ledger))
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            clock.let_go()
            await ledger.queue.append("after", {})
            assert commits(ledger) - before == 2
            assert len(await ledger.log.read()) == 2

    asyncio.run(main())


def test_a_command_of_a_group_that_is_cancelled_when_it_has_begun_is_carried_out_with_the_others(
    open_file: Callable[..., Opening], clock: StoppingClock
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def stop() -> None:
        reached.set()
        assert go_on.wait(30)

    async def main() -> None:
        async with open_file() as ledger:
            clock.at_reading[2 + 3] = stop  # in the third of them
            tasks = await called(ledger, clock, *appends(ledger))
            clock.let_go()
            assert await asyncio.to_thread(reached.wait, 30)
            for task in tasks[:4]:  # three have begun
                task.cancel()
            await asyncio.wait(tasks, timeout=0.02)
            assert [task.done() for task in tasks[:4]] == [False] * 3 + [True]
            go_on.set()
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            cancelled = [isinstance(end, asyncio.CancelledError) for end in ends]
            assert cancelled == [True] * 4 + [False] * (CALLS - 4)
            there = [event.stream_id.partition(":")[2] for event in await ledger.log.read()]
            assert there == ["first", *(f"thread {n}" for n in range(CALLS) if n != 3)]
            assert (await ledger.verify()).findings == ()

    asyncio.run(main())


def test_closing_waits_for_a_group_that_was_called_before(
    open_file: Callable[..., Opening], clock: StoppingClock
) -> None:
    async def main() -> None:
        ledger = await open_file()
        tasks = await called(ledger, clock, *appends(ledger))
        closing = asyncio.create_task(ledger.close())
        await asyncio.wait([closing], timeout=0.02)
        with pytest.raises(turnledger.StoreError, match="closed"):
            await ledger.queue.append("too late", {})
        clock.let_go()
        await closing
        ends = await asyncio.gather(*tasks)
        assert [end.submission for end in ends] == [{"n": n} for n in range(CALLS)]
        async with open_file() as again:
            assert len(await again.log.read()) == 1 + CALLS

    asyncio.run(main())


# --- on both stores


def test_a_thousand_commands_at_once_each_have_their_own_end(
    open_async: Callable[..., Opening],
) -> None:
    async def main() -> None:
        async with open_async(max_visible_turns=50) as ledger:
            calls = [ledger.queue.append(f"thread {n % 10}", {"n": n}) for n in range(1000)]
            ends = await asyncio.gather(*calls, return_exceptions=True)
            turns = [end for end in ends if not isinstance(end, BaseException)]
            assert {type(end) for end in ends if isinstance(end, BaseException)} == {QueueFull}
            assert len(turns) == 500
            for number in range(10):
                there = await ledger.queue.list(f"thread {number}")
                mine = [turn for turn in turns if turn.thread_id == f"thread {number}"]
                assert there == sorted(mine, key=lambda turn: turn.queue_order)
            assert (await ledger.verify()).findings == ()

    asyncio.run(main())
