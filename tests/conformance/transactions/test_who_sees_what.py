"""Inside a block its commands are seen; outside, not before its end. Nobody joins unasked."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

import pytest

import turnledger
from tests.conformance.transactions.conftest import Undo, failing, until_done_or_waiting
from turnledger import LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from tests.conformance.conftest import Host, Store
    from turnledger import Ledger


# --- inside


def test_what_a_block_has_written_is_read_in_it(ledger: Ledger, host: Host) -> None:
    host.append("before")
    with ledger.transaction():
        [turn] = host.append("inside")
        assert host.texts() == ["before", "inside"]
        assert host.turn(turn).state == "pending"
        claim = host.claim()
        assert host.text(claim) == "before"
        assert ledger.queue.why_blocked("thread") == "in_flight"
        assert ledger.why("thread").reason == "in_flight"
        summary = ledger.threads.get("thread")
        assert summary is not None
        assert (summary.state, summary.owner, summary.waiting) == ("in_flight", "worker", 1)
        ledger.threads.archive("other")
        assert [each.thread_id for each in ledger.threads.list()] == ["other", "thread"]
        ledger.queue.release(claim)
        assert [host.text(each) for each in ledger.queue.claim_next("worker", limit=5)] == [
            "before"
        ]


def test_a_ledger_can_be_verified_within_a_block(ledger: Ledger, host: Host) -> None:
    host.append("before")
    with ledger.transaction():
        host.append("inside")
        host.dispatch()
        assert ledger.verify().findings == ()
    assert ledger.verify().findings == ()


def test_the_log_can_be_read_within_a_block(ledger: Ledger, host: Host) -> None:
    """What is committed stands in it; on PostgreSQL the block's own events have no place yet."""
    host.append("before")
    with ledger.transaction():
        host.append("inside")
        events = ledger.log.read()
        assert [event.position for event in events] in ([1], [1, 2])
    assert [event.position for event in ledger.log.read()] == [1, 2]


def test_what_an_undone_block_had_written_is_not_read_after_it(ledger: Ledger, host: Host) -> None:
    with ledger.transaction():
        with failing(ledger, Undo):
            [turn] = host.append("inner")
            assert host.turn(turn).state == "pending"
            raise Undo
        assert ledger.queue.get("thread", turn) is None
        assert ledger.threads.get("thread") is None


# --- outside


def test_other_threads_and_connections_see_nothing_of_a_block_before_its_end(
    ledger: Ledger, host: Host, store: Store, pool: ThreadPoolExecutor
) -> None:
    host.append("before")
    with ledger.transaction():
        [turn] = host.append("inside")
        ledger.queue.pause("thread", "why not")
        assert pool.submit(host.texts).result() == ["before"]
        assert pool.submit(ledger.queue.get, "thread", turn).result() is None
        assert pool.submit(ledger.queue.why_blocked, "thread").result() is None
        assert len(pool.submit(ledger.log.read).result()) == 1
        assert store.rows("SELECT count(*) FROM queued_turns") == [(1,)]
    assert pool.submit(host.texts).result() == ["before", "inside"]
    assert pool.submit(ledger.queue.why_blocked, "thread").result() == "paused"
    assert store.rows("SELECT count(*) FROM queued_turns") == [(2,)]


def test_whoever_waits_for_a_change_is_told_of_a_blocks_end_and_not_of_its_middle(
    ledger: Ledger, host: Host, pool: ThreadPoolExecutor
) -> None:
    host.append("before")
    with ledger.transaction():
        host.append("inside", "inside")
        assert pool.submit(ledger.wait_for_change, 1, 0).result() == 1
    assert pool.submit(ledger.wait_for_change, 1, 30).result() == 3


# --- who joins


@pytest.mark.parametrize("end", ["committed", "undone"])
def test_a_command_of_another_thread_is_no_part_of_a_block(
    ledger: Ledger, host: Host, pool: ThreadPoolExecutor, end: str
) -> None:
    def block() -> Any:
        with ledger.transaction():
            host.append("block")
            command = pool.submit(host.append, "thread", thread="other")
            until_done_or_waiting(ledger, command)
            if end == "undone":
                raise Undo(command)
        return command

    if end == "undone":
        with pytest.raises(Undo) as caught:
            block()
        command = caught.value.args[0]
    else:
        command = block()
    assert len(command.result()) == 1
    assert host.texts("other") == ["thread"]
    assert host.texts() == ([] if end == "undone" else ["block"])
    assert ledger.verify().findings == ()


def test_a_thread_that_is_given_the_blocks_context_is_no_part_of_it(
    ledger: Ledger, host: Host, pool: ThreadPoolExecutor
) -> None:
    with failing(ledger, Undo):
        host.append("block")
        context = copy_context()
        command = pool.submit(lambda: context.run(host.append, "thread", thread="other"))
        until_done_or_waiting(ledger, command)
        raise Undo
    command.result()
    assert host.texts("other") == ["thread"]
    assert host.texts() == []


def outcome(command: Callable[[], object]) -> str:
    try:
        command()
    except LedgerError as error:
        return error.code
    return "done"


def test_a_command_of_another_task_of_the_same_thread_is_refused_rather_than_mixed_in(
    ledger: Ledger, host: Host
) -> None:
    async def main() -> str:
        go, gone = asyncio.Event(), asyncio.Event()

        async def other() -> str:
            await go.wait()
            try:
                return outcome(lambda: host.append("task", thread="other"))
            finally:
                gone.set()

        task = asyncio.create_task(other())
        with failing(ledger, Undo):
            host.append("block")
            go.set()
            await gone.wait()
            raise Undo
        return await task

    assert asyncio.run(main()) == "store_unavailable"
    assert host.texts() == host.texts("other") == []
    host.append("after")
    assert host.texts() == ["after"]
    assert ledger.verify().findings == ()


def test_a_block_of_another_task_of_the_same_thread_is_refused_rather_than_mixed_in(
    ledger: Ledger, host: Host
) -> None:
    async def main() -> str:
        go, gone = asyncio.Event(), asyncio.Event()

        def block() -> None:
            with ledger.transaction():
                host.append("task", thread="other")

        async def other() -> str:
            await go.wait()
            try:
                return outcome(block)
            finally:
                gone.set()

        task = asyncio.create_task(other())
        with ledger.transaction():
            host.append("block")
            go.set()
            await gone.wait()
        return await task

    assert asyncio.run(main()) == "store_unavailable"
    assert host.texts() == ["block"]
    assert host.texts("other") == []


def test_a_context_that_outlives_its_block_is_no_part_of_it_any_more(
    ledger: Ledger, host: Host, store: Store
) -> None:
    """It is a task that was made in the block, say. What it is told must be true."""
    with ledger.transaction():
        host.append("block")
        context = copy_context()
    said = outcome(lambda: context.run(host.append, "late", thread="other"))
    assert host.texts("other") == (["late"] if said == "done" else [])
    assert store.rows("SELECT count(*) FROM queued_turns") == [(1 + (said == "done"),)]
    host.append("after")
    assert host.texts() == ["block", "after"]
    assert ledger.verify().findings == ()


def test_a_context_that_outlives_its_block_is_no_part_of_the_next_one(
    ledger: Ledger, host: Host
) -> None:
    with ledger.transaction():
        host.append("first block")
        context = copy_context()
    with failing(ledger, Undo):
        host.append("second block")
        said = outcome(lambda: context.run(host.append, "late", thread="other"))
        raise Undo
    assert host.texts() == ["first block"]
    assert host.texts("other") == (["late"] if said == "done" else [])
    assert ledger.verify().findings == ()


def test_a_context_whose_block_failed_is_no_part_of_it_any_more(
    ledger: Ledger, host: Host, store: Store
) -> None:
    with failing(ledger, Undo):
        host.append("block")
        context = copy_context()
        raise Undo
    said = outcome(lambda: context.run(host.append, "late", thread="other"))
    assert store.rows("SELECT count(*) FROM queued_turns") == [(int(said == "done"),)]
    assert ledger.verify().findings == ()


def test_a_block_that_is_thrown_away_half_way_is_undone(ledger: Ledger, host: Host) -> None:
    block = ledger.transaction()
    block.__enter__()
    host.append("half way")
    del block
    host.append("after", thread="other")
    assert host.texts() == []
    assert host.texts("other") == ["after"]
    assert ledger.verify().findings == ()


# --- idempotency keys


def test_a_key_that_was_used_before_in_the_block_gives_the_first_result(
    ledger: Ledger, store: Store
) -> None:
    with ledger.transaction():
        first = ledger.queue.append("thread", {"n": 1}, idempotency_key="key")
        again = ledger.queue.append("thread", {"n": 1}, idempotency_key="key")
        with pytest.raises(turnledger.IdempotencyConflict):
            ledger.queue.append("thread", {"n": 2}, idempotency_key="key")
    after = ledger.queue.append("thread", {"n": 1}, idempotency_key="key")
    assert {first.queued_turn_id} == {again.queued_turn_id, after.queued_turn_id}
    assert [turn.duplicate for turn in (first, again, after)] == [False, True, True]
    assert len(store.events()) == 1


def test_a_key_that_was_used_before_the_block_gives_the_first_result_in_it(
    ledger: Ledger, store: Store
) -> None:
    first = ledger.queue.append_many("thread", [{"n": 1}, {"n": 2}], idempotency_key="key")
    with ledger.transaction():
        ledger.queue.append("thread", {"n": 3})
        again = ledger.queue.append_many("thread", [{"n": 1}, {"n": 2}], idempotency_key="key")
    assert [turn.queued_turn_id for turn in again] == [turn.queued_turn_id for turn in first]
    assert all(turn.duplicate for turn in again)
    assert len(store.events()) == 3


def test_a_key_that_was_used_in_an_undone_block_is_free(ledger: Ledger, store: Store) -> None:
    with failing(ledger, Undo):
        ledger.queue.append("thread", {"n": 1}, idempotency_key="key", queued_turn_id="id")
        raise Undo
    turn = ledger.queue.append("thread", {"n": 2}, idempotency_key="key", queued_turn_id="id")
    assert (turn.duplicate, turn.queue_order) == (False, 0)
    assert len(store.events()) == 1


def test_a_whole_block_can_be_done_again_under_its_keys(ledger: Ledger, store: Store) -> None:
    def block() -> list[str]:
        with ledger.transaction():
            turns = [
                ledger.queue.append(thread, {"n": 1}, idempotency_key="key") for thread in "abc"
            ]
        return [turn.queued_turn_id for turn in turns]

    assert block() == block()
    assert len(store.events()) == 3
