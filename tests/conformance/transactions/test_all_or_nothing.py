"""A block of commands is committed together at its end, or nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import turnledger
from tests.conformance.transactions.conftest import Undo, failing, until_done_or_waiting
from tests.postgresql.lost_answers import COMMANDS, outline
from turnledger import Ledger, StoreReadOnly

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

    from tests.conformance.conftest import Clock, Host, Store

EVIDENCE = {name for name in COMMANDS if "lost" in name or "recovered" in name}
THREAD = "thread 1"


def act(ledger: Ledger, name: str, prepared: Any, thread: str = THREAD) -> Any:
    """What a command of many gives; a refusal by its name."""
    try:
        return outline(COMMANDS[name].act(ledger, thread, prepared))
    except turnledger.LedgerError as error:
        return type(error).__name__


def shape(store: Store, after: int) -> list[tuple[str, int, str]]:
    return [(event.stream_id, event.version, event.type) for event in store.events(after)]


# --- any command


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_gives_and_leaves_the_same_inside_a_block_as_alone(
    ledger: Ledger, other_ledger: Ledger, store: Store, store_at: Callable[[str], Store], name: str
) -> None:
    beside = store_at(other_ledger._backend.store.url)
    expected = act(other_ledger, name, COMMANDS[name].prepare(other_ledger, THREAD))
    prepared = COMMANDS[name].prepare(ledger, THREAD)
    with ledger.transaction():
        found = act(ledger, name, prepared)
    assert found == expected
    assert shape(store, 0) == shape(beside, 0)
    assert ledger.verify().findings == ()


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_undone_with_its_block_but_for_evidence_and_can_be_given_again(
    ledger: Ledger, store: Store, name: str
) -> None:
    prepared = COMMANDS[name].prepare(ledger, THREAD)
    before = store.events()
    with failing(ledger, Undo):
        found = act(ledger, name, prepared)
        raise Undo
    kept = store.events()[len(before) :]
    assert store.events()[: len(before)] == before
    assert [event.type for event in kept] == (["evidence.kept"] if name in EVIDENCE else [])
    assert act(ledger, name, prepared) == found
    assert ledger.verify().findings == ()


# --- a block


def test_all_commands_of_a_block_are_there_after_it(ledger: Ledger, host: Host) -> None:
    with ledger.transaction():
        [first] = host.append("first", thread="a")
        host.append("second", thread="b")
        claim = host.dispatch(thread="a")
        ledger.queue.ack(claim)
        ledger.threads.archive("c")
    assert host.turn(first, "a").state == "acked"
    assert host.texts("b") == ["second"]
    assert ledger.queue.why_blocked("c") == "archived"
    assert ledger.verify().findings == ()


@pytest.mark.parametrize("error", [Undo, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_nothing_of_a_block_is_there_whatever_it_raises(
    ledger: Ledger, host: Host, store: Store, error: type[BaseException]
) -> None:
    host.append("before")
    before = store.events()
    with failing(ledger, error):
        host.append("inside")
        host.append("inside", thread="other")
        raise error
    assert store.events() == before
    host.append("after")
    assert host.texts() == ["before", "after"]
    assert ledger.verify().findings == ()


def test_a_block_that_is_left_by_return_is_committed(ledger: Ledger, host: Host) -> None:
    def leave() -> str:
        with ledger.transaction():
            host.append("inside")
            return "left"

    assert leave() == "left"
    assert host.texts() == ["inside"]


def test_an_empty_block_changes_nothing(ledger: Ledger, host: Host, store: Store) -> None:
    with ledger.transaction():
        pass
    with failing(ledger, Undo):
        raise Undo
    assert store.events() == []
    host.append("after")
    assert host.texts() == ["after"]


def test_the_events_of_a_block_have_positions_one_after_the_other_in_its_order(
    ledger: Ledger, host: Host, store: Store
) -> None:
    host.append("before")
    with ledger.transaction():
        host.append("1", thread="b")
        host.append("2", thread="a")
        ledger.queue.append_many("c", [{"text": "3"}, {"text": "4"}])
        host.claim(thread="a")
        ledger.queue.pause("b", "why not")
    kept = store.events(1)
    assert [event.position for event in kept] == list(range(2, 8))
    assert [event.stream_id.partition(":")[2] for event in kept] == ["b", "a", "c", "c", "a", "b"]
    assert [event.position for event in ledger.log.read()] == list(range(1, 8))


def test_each_command_of_a_block_reads_the_clock_for_itself(
    ledger: Ledger, host: Host, clock: Clock
) -> None:
    with ledger.transaction():
        [first] = host.append("first")
        clock.advance(5)
        [second] = host.append("second")
        claim = host.claim(lease=10)
        clock.advance(11)
        with pytest.raises(turnledger.ClaimLost):
            ledger.queue.renew(claim)
    assert (host.turn(second).created_at - host.turn(first).created_at).total_seconds() == 5


def test_a_block_may_change_as_many_threads_as_it_likes(ledger: Ledger, host: Host) -> None:
    names = [f"thread {number:03}" for number in range(120)]
    with ledger.transaction():
        for name in names:
            host.append("text", thread=name)
    assert [thread.thread_id for thread in ledger.threads.list()] == names
    with failing(ledger, Undo):
        for name in names:
            ledger.threads.delete(name)
        raise Undo
    assert [thread.thread_id for thread in ledger.threads.list("pending")] == names


def test_a_whole_life_within_one_block_leaves_all_its_events(ledger: Ledger, host: Host) -> None:
    with ledger.transaction():
        [turn] = host.append("only")
        claim = ledger.queue.renew(host.claim(), 90)
        ledger.queue.start_dispatch(claim, "first")
        ledger.queue.fail(claim, "no")
        ledger.queue.retry("thread", turn)
        ledger.queue.ack(host.dispatch("second"))
    assert [event.type.partition(".")[2] for event in ledger.log.read()] == [
        *("appended", "claimed", "renewed", "dispatch_started", "failed", "retried"),
        *("claimed", "dispatch_started", "acked"),
    ]
    assert ledger.verify().findings == ()


def test_a_block_on_a_ledger_that_is_open_for_reading_only_is_refused(
    host: Host, store_url: str
) -> None:
    host.append("before")
    with turnledger.open(store_url, read_only=True) as reader:
        with pytest.raises(StoreReadOnly), reader.transaction():
            pass
        assert len(reader.queue.list("thread")) == 1


def test_a_block_on_a_closed_ledger_is_refused(ledger: Ledger) -> None:
    ledger.close()
    with pytest.raises(turnledger.StoreError), ledger.transaction():
        pass


# --- nested


def test_a_block_in_a_block_is_committed_with_the_outer_one(
    ledger: Ledger, host: Host, store: Store
) -> None:
    with ledger.transaction():
        host.append("outer")
        with ledger.transaction():
            host.append("inner")
        assert store.rows("SELECT 1 FROM streams") == []
        host.append("after")
    assert host.texts() == ["outer", "inner", "after"]


def test_a_block_in_a_block_is_undone_alone_if_its_error_is_caught(
    ledger: Ledger, host: Host
) -> None:
    with ledger.transaction():
        host.append("outer")
        with failing(ledger, Undo):
            host.append("inner")
            host.append("inner", thread="other")
            raise Undo
        host.append("after")
    assert host.texts() == ["outer", "after"]
    assert ledger.threads.get("other") is None
    assert ledger.verify().findings == ()


def test_a_block_in_a_block_is_undone_with_the_outer_one(
    ledger: Ledger, host: Host, store: Store
) -> None:
    with failing(ledger, Undo):
        with ledger.transaction():
            host.append("inner")
        raise Undo
    assert store.events() == []


def test_of_blocks_three_deep_the_one_in_the_middle_takes_the_innermost_with_it(
    ledger: Ledger, host: Host
) -> None:
    with ledger.transaction():
        host.append("1")
        with failing(ledger, Undo):
            host.append("2")
            with ledger.transaction():
                host.append("3")
            with failing(ledger, Undo):
                host.append("4")
                raise Undo
            assert host.texts() == ["1", "2", "3"]
            raise Undo
        assert host.texts() == ["1"]
        host.append("5")
    assert host.texts() == ["1", "5"]
    assert ledger.verify().findings == ()


# --- two ledgers


def test_blocks_on_two_ledgers_end_each_for_itself(
    ledger: Ledger, other_ledger: Ledger, host: Host
) -> None:
    with ledger.transaction():
        host.append("one")
        with failing(other_ledger, Undo):
            host.append("one again")
            other_ledger.queue.append("thread", {"text": "other"})
            raise Undo
        other_ledger.queue.append("thread", {"text": "later"})
    assert host.texts() == ["one", "one again"]
    assert [turn.submission for turn in other_ledger.queue.list("thread")] == [{"text": "later"}]


def test_a_command_to_another_ledger_stays_though_the_block_is_undone(
    ledger: Ledger, other_ledger: Ledger, host: Host
) -> None:
    with failing(ledger, Undo):
        host.append("undone")
        other_ledger.queue.append("thread", {"text": "stays"})
        assert len(other_ledger.queue.list("thread")) == 1
        raise Undo
    assert host.texts() == []
    assert len(other_ledger.queue.list("thread")) == 1


def test_a_block_within_one_of_another_ledger_finds_its_own_again(
    ledger: Ledger, other_ledger: Ledger, host: Host
) -> None:
    with failing(ledger, Undo), other_ledger.transaction():
        with ledger.transaction():
            host.append("undone")
        other_ledger.queue.append("thread", {"text": "undone"})
        raise Undo
    assert host.texts() == []
    assert other_ledger.queue.list("thread") == []


def test_a_command_through_a_second_door_to_the_same_ledger_is_no_part_of_the_block(
    open_ledger: Callable[..., Ledger], pool: ThreadPoolExecutor
) -> None:
    """On SQLite it waits for the file, and so is given by another thread."""
    ledger, second = open_ledger(), open_ledger()
    with failing(ledger, Undo):
        ledger.queue.append("a", {"text": "undone"})
        begun = pool.submit(second.queue.list, "a")
        assert begun.result() == []
        command = pool.submit(second.queue.append, "b", {"text": "stays"})
        if ledger._backend.store.writer is None:
            until_done_or_waiting(ledger, command)
        raise Undo
    assert command.result().queue_order == 0
    assert ledger.queue.list("a") == []
    assert len(ledger.queue.list("b")) == 1
