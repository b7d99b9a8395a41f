"""The queue's life through asyncio: the same as ever, awaited; and many tasks at once."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import freezegun
import pytest
from freezegun import freeze_time

import turnledger
from tests.conformance.asynchronous.conftest import START, HoldingClock
from turnledger.asynchronous.ledger import Opening

freezegun.configure(extend_ignore_list=["_pytest.timing"])  # pytest's own clock goes on

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
TASKS, EACH = 64, 4


def test_a_turn_goes_from_append_to_ack(
    open_async: Callable[..., Opening],
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            queue = ledger.queue
            turn = await queue.append("thread", {"text": "fix it"}, idempotency_key="key")
            again = await queue.append("thread", {"text": "fix it"}, idempotency_key="key")
            assert (again.queued_turn_id, again.duplicate) == (turn.queued_turn_id, True)

            [claim] = await queue.claim_next("worker", limit=5, lease=60)
            claim = await queue.renew(claim, timedelta(seconds=90))
            assert claim.expires_at == START + timedelta(seconds=90)
            await queue.start_dispatch(claim, "dispatch")
            assert await queue.why_blocked("thread") == "in_flight"
            await queue.ack(claim)

            done = await queue.get("thread", turn.queued_turn_id)
            assert done is not None
            assert (done.state, done.created_at) == ("acked", START)
            assert await queue.list("thread") == []
            assert (await ledger.verify()).ok

    asyncio.run(main())


def test_what_fails_or_is_over_is_settled(
    open_async: Callable[..., Opening], clock: HoldingClock
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            queue = ledger.queue
            turn, _ = await queue.append_many("thread", [{"n": 1}, {"n": 2}])
            claim = await queue.claim_head("thread", "worker")
            assert claim is not None
            await queue.fail(claim, "the model is out")
            assert (await queue.retry("thread", turn.queued_turn_id)).state == "pending"

            claim = await queue.claim_head("thread", "worker", lease=60)
            assert claim is not None
            await queue.start_dispatch(claim, "dispatch")
            clock.advance(61)
            [failed] = await queue.recover()
            assert (failed.state, failed.outcome_unknown) == ("failed", True)
            assert (await ledger.why("thread")).reason == "failed_head"
            with pytest.raises(turnledger.ClaimLost):
                await queue.ack(claim)
            await queue.resolve("thread", turn.queued_turn_id, "acked", by="somebody")
            assert [turn.submission for turn in await queue.list("thread")] == [{"n": 2}]

    asyncio.run(main())


def test_messages_go_from_post_to_confirm(
    open_async: Callable[..., Opening], clock: HoldingClock
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            inbox = ledger.inbox
            one = await inbox.post("thread", "hi", source="test")
            can = {"can_after_turn": True, "can_steer_current_turn": False}
            asked = [inbox.claim_next("thread", f"worker {n}", **can) for n in range(4)]
            answers = await asyncio.gather(*asked)
            [late] = [one for one in answers if isinstance(one, turnledger.MessageClaim)]
            assert sum(isinstance(one, turnledger.NotReady) for one in answers) == 3
            clock.advance(60)
            assert (await inbox.recover()).messages_expired == 1
            [kept] = await inbox.undelivered("thread")
            await inbox.requeue("thread", kept.message_id)
            with pytest.raises(turnledger.ClaimLost):
                await inbox.confirm(late)
            claim = await inbox.claim_next("thread", "worker", **can)
            assert isinstance(claim, turnledger.MessageClaim)
            await inbox.confirm(claim)
            done = await inbox.get("thread", one.message_id)
            assert done is not None
            assert (done.state, [piece.epoch for piece in done.evidence]) == ("confirmed", [1])
            assert (await ledger.verify()).ok

    asyncio.run(main())


def test_threads_are_listed_archived_and_deleted(open_async: Callable[..., Opening]) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            await ledger.queue.append("thread", {})
            await ledger.threads.archive("thread")
            with pytest.raises(turnledger.ThreadArchived):
                await ledger.queue.append("thread", {})
            assert [one.thread_id for one in await ledger.threads.list("archived")] == ["thread"]
            await ledger.threads.unarchive("thread")
            assert (await ledger.threads.delete("thread")).queued_turns == 1

    asyncio.run(main())


def test_what_is_known_of_the_ledger_is_known_without_waiting(
    open_async: Callable[..., Opening], store_url: str
) -> None:
    async def main() -> None:
        async with open_async(max_claims=7) as ledger:
            assert ledger.settings.max_claims == 7
            with turnledger.open(store_url) as plain:
                assert (ledger.ledger_id, ledger.generation) == (plain.ledger_id, plain.generation)

    asyncio.run(main())


def test_a_backup_is_made_or_refused_as_ever(
    open_async: Callable[..., Opening], kind: str, tmp_path: Path
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            await ledger.queue.append("thread", {"text": "kept"})
            assert {check.status for check in await ledger.doctor()} <= {"ok", "note"}
            if kind == "postgresql":
                with pytest.raises(turnledger.StoreError, match="pg_dump"):
                    await ledger.backup(tmp_path / "copy.db")
                return
            await ledger.backup(tmp_path / "copy.db")
        with turnledger.open(tmp_path / "copy.db", read_only=True) as copy:
            assert [turn.submission for turn in copy.queue.list("thread")] == [{"text": "kept"}]

    asyncio.run(main())


def test_sixty_four_tasks_append_at_once_and_each_turn_is_there_once(
    open_async: Callable[..., Opening],
) -> None:
    async def appending(ledger: turnledger.AsyncLedger, number: int) -> None:
        with ledger.acting_as(actor=f"task-{number}"):
            await ledger.queue.append("crowd", {"task": number})
            for count in range(EACH):
                await ledger.queue.append(f"thread-{number}", {"n": count})

    async def main() -> None:
        async with open_async() as ledger:
            await asyncio.gather(*(appending(ledger, number) for number in range(TASKS)))

            crowd = await ledger.queue.list("crowd")
            assert sorted(turn.submission["task"] for turn in crowd) == list(range(TASKS))
            for number in range(TASKS):
                turns = await ledger.queue.list(f"thread-{number}")
                assert [turn.submission["n"] for turn in turns] == list(range(EACH))
            events = await ledger.log.read()
            assert [event.position for event in events] == list(range(1, TASKS * (EACH + 1) + 1))
            for event in events:
                own = event.stream_id.removeprefix("thread_queue:thread-")
                number = own if own.isdecimal() else event.data["submission"]["task"]
                assert event.metadata["actor"] == f"task-{number}"
            assert (await ledger.verify()).ok

    asyncio.run(main())


def test_it_acts_for_nobody_behind_the_block_and_for_each_in_tasks_made_in_it(
    open_async: Callable[..., Opening],
) -> None:
    async def main() -> None:
        async with open_async() as ledger:
            with ledger.acting_as(actor="ann", correlation_id="c-1"):
                task = asyncio.create_task(ledger.queue.append("thread", {}))
            await ledger.queue.append("other", {})
            await task
            said = {e.stream_id: e.metadata.get("actor") for e in await ledger.log.read()}
            assert said == {"thread_queue:thread": "ann", "thread_queue:other": None}

    asyncio.run(main())


def test_a_whole_cycle_goes_by_the_frozen_clock(made: Path) -> None:
    async def main() -> None:
        async with turnledger.open_async(made) as ledger:
            turn = await ledger.queue.append("thread", {})
            assert turn.created_at == NOON
            [claim] = await ledger.queue.claim_next("worker", lease=60)
            assert claim.expires_at == NOON + timedelta(seconds=60)
            await ledger.queue.start_dispatch(claim, "dispatch")
            await ledger.queue.ack(claim)
            assert await ledger.wait_for_change(since=0, timeout=30) == 4

    with freeze_time(NOON):
        asyncio.run(main())


def test_a_wait_ends_under_a_frozen_clock_if_the_loop_has_the_real_one(made: Path) -> None:
    async def main() -> None:
        async with turnledger.open_async(made) as ledger:
            assert await ledger.wait_for_change(since=0, timeout=0.01) == 0

    with freeze_time(NOON, real_asyncio=True):
        asyncio.run(main())


@pytest.fixture
def made(tmp_path: Path, empty_ledger: bytes) -> Path:
    """An empty ledger's file."""
    path = tmp_path / "frozen.db"
    path.write_bytes(empty_ledger)
    return path
