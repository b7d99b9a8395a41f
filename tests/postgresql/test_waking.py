"""Idle workers on a server are woken when there may be something to do, and only then."""

from collections.abc import Callable, Iterator
from queue import Queue
from threading import Thread

import psycopg
import pytest

import turnledger
from tests.postgresql.server import Database
from turnledger import Delay, Ledger
from turnledger.infrastructure import postgresql_waiting

LONG, SHORT = 30.0, 0.2  # seconds
QUIET: dict[str, Callable[[Ledger], object]] = {
    "a turn behind a head": lambda ledger: ledger.queue.append("thread", {}),
    "a claim": lambda ledger: ledger.queue.claim_head("thread", "worker"),
    "another aggregate": lambda ledger: ledger.coordinator.begin("item", "hi"),
}


def in_a_block(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.queue.append("a", {})
        ledger.coordinator.begin("item", "hi")


WORK: dict[str, Callable[[Ledger], object]] = {
    "a turn": lambda ledger: ledger.queue.append("other", {}),
    "a timer": lambda ledger: ledger.timers.create("other", Delay(seconds=9), "x", client_id="c"),
    "a message": lambda ledger: ledger.inbox.post("other", "hi", source="user"),
    "turns in a block": in_a_block,
}


@pytest.fixture
def other(database: Database, ledger: Ledger) -> Iterator[Ledger]:
    """Another process's, in which a thread's head is waiting."""
    ledger.queue.append("thread", {})
    with turnledger.open(database.url) as opened:
        yield opened


def waiting(ledger: Ledger, seen: int, seconds: float) -> int:
    return ledger._backend.store.wait_for_work(seen, seconds)


def settled(ledger: Ledger) -> int:
    """Begin to listen; what was announced before is heard."""
    seen = waiting(ledger, -1, LONG)
    while (heard := waiting(ledger, seen, SHORT)) > seen:
        seen = heard
    return seen


@pytest.mark.parametrize("command", WORK.values(), ids=WORK)
def test_what_may_be_work_wakes_an_idle_worker(
    ledger: Ledger,
    other: Ledger,
    command: Callable[[Ledger], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(postgresql_waiting, "_LOOK_SECONDS", LONG)
    seen = settled_quickly(ledger, monkeypatch)
    command(other)
    assert waiting(ledger, seen, LONG) > seen


@pytest.mark.parametrize("command", QUIET.values(), ids=QUIET)
def test_other_commits_let_it_sleep(
    ledger: Ledger, other: Ledger, command: Callable[[Ledger], object]
) -> None:
    seen, position = settled(ledger), other.wait_for_change(0, 0)
    command(other)
    assert ledger.wait_for_change(position, LONG) > position
    assert waiting(ledger, seen, SHORT) == seen


def woken_by(ledger: Ledger, seen: int) -> str:
    """The stream that is said to have ended a wait."""
    assert waiting(ledger, seen, LONG) > seen
    return ledger._backend.store.last_told()


@pytest.mark.parametrize("thread_id", ["plain", 'it\'s "quoted" \\ $1 {}', "日本語" * 85])
def test_an_idle_worker_is_told_where_there_is_something_to_do(
    ledger: Ledger, other: Ledger, thread_id: str
) -> None:
    seen = settled(ledger)
    other.queue.append(thread_id, {})
    assert woken_by(ledger, seen) == f"thread_queue:{thread_id}"


def test_what_was_told_is_forgotten_at_the_next_wait(ledger: Ledger, other: Ledger) -> None:
    seen = settled(ledger)
    other.queue.append("elsewhere", {})
    assert woken_by(ledger, seen)
    assert waiting(ledger, seen + 1, SHORT) == seen + 1
    assert not ledger._backend.store.last_told()


def test_a_worker_takes_the_turn_that_woke_it_and_then_the_one_that_waits_longest(
    ledger: Ledger, database: Database
) -> None:
    turns = ledger.turns()
    given: Queue[str] = Queue()

    def work() -> None:
        for turn in turns:
            with turn:
                turn.dispatch()
                turn.ack()
            given.put(turn.thread_id)

    worker = Thread(target=work)
    worker.start()
    with turnledger.open(database.url) as other:
        for number in range(12):
            other.queue.append(f"thread {number}", {"text": "a"})
            assert given.get(timeout=LONG) == f"thread {number}"
        with other.transaction():
            for number in range(5):
                other.queue.append(f"at once {number}", {"text": "a"})
        assert {given.get(timeout=LONG) for _ in range(5)} == {f"at once {n}" for n in range(5)}
    turns.stop()
    worker.join(LONG)
    assert not worker.is_alive()


def test_a_worker_that_is_woken_where_it_can_read_nothing_takes_what_else_there_is(
    ledger: Ledger, database: Database
) -> None:
    turns = ledger.turns()
    taken: Queue[str] = Queue()

    def work() -> None:
        for turn in turns:
            with turn:
                turn.dispatch()
                turn.ack()
            taken.put(turn.thread_id)

    with turnledger.open(database.url) as other:
        other.queue.append("unreadable", {"text": "a"})
        other.queue.pause("unreadable", "for now")
        with psycopg.connect(database.conninfo, autocommit=True) as connection:
            connection.execute("ALTER TABLE stored_events DISABLE TRIGGER USER")
            connection.execute("UPDATE stored_events SET data = 'no JSON' WHERE version = 1")
        worker = Thread(target=work)
        worker.start()
        other.queue.resume("unreadable")
        other.queue.append("readable", {"text": "b"})
        assert taken.get(timeout=LONG) == "readable"
    turns.stop()
    worker.join(LONG)
    assert not worker.is_alive()


def test_the_first_wait_is_over_at_once_since_something_may_have_been_missed(
    ledger: Ledger,
) -> None:
    assert waiting(ledger, -1, LONG) == 0


def settled_quickly(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> int:
    with monkeypatch.context() as patch:
        patch.setattr(postgresql_waiting, "_LOOK_SECONDS", SHORT)
        return settled(ledger)
