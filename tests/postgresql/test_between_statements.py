"""What others do between two statements of one command on inboxes or queues: nothing holds them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import turnledger
from turnledger import InboxRecovery, Ledger, MessageClaim, NotReady

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from tests.postgresql.server import Database

    Beside = Callable[[Callable[[], Any]], "Future[Any]"]

IDLE = {"can_after_turn": True, "can_steer_current_turn": False}
TURN = {"can_after_turn": False, "can_steer_current_turn": True}


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(database: Database, clock: Clock) -> Iterator[Ledger]:
    with turnledger.open(database.url, clock=clock) as opened:
        yield opened


@pytest.fixture
def beside(database: Database) -> Iterator[Beside]:
    """Do something in another thread; comes back when that waits for a lock of this one."""
    waiting = (
        "SELECT 1 FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with (
        psycopg.connect(database.conninfo, autocommit=True) as looking,
        ThreadPoolExecutor(1) as pool,
    ):

        def begin(work: Callable[[], Any]) -> Future[Any]:
            begun = pool.submit(work)
            while not begun.done() and not looking.execute(waiting).fetchone():
                pass
            return begun

        yield begin


def cursor_of(ledger: Ledger) -> Any:
    """The cursor of the block that this thread is in."""
    return ledger._backend.store.held().cursor  # type: ignore[attr-defined]


def test_recovering_all_inboxes_passes_over_one_whose_thread_is_deleted_meanwhile(
    ledger: Ledger, clock: Clock, beside: Beside
) -> None:
    for thread in ("one", "two"):
        ledger.inbox.post(thread, "hi", source="test")
        ledger.inbox.claim_next(thread, "worker", **IDLE)
    clock.now += timedelta(seconds=60)
    with ledger.transaction():
        ledger.threads.delete("one")
        recovering = beside(ledger.inbox.recover)
    assert recovering.result() == InboxRecovery(messages_expired=1)
    assert [one.content for one in ledger.inbox.undelivered("two")] == ["hi"]
    assert ledger.verify().ok


def test_recovering_all_queues_passes_over_one_whose_thread_is_deleted_meanwhile(
    ledger: Ledger, clock: Clock, beside: Beside
) -> None:
    for thread in ("one", "two"):
        ledger.queue.append(thread, {})
        ledger.queue.claim_head(thread, "worker")
    clock.now += timedelta(seconds=60)
    with ledger.transaction():
        first = "SELECT 1 FROM streams WHERE stream_id = 'thread_queue:one' FOR UPDATE"
        cursor_of(ledger).execute(first)  # so that the second one is read when it has ended
        ledger.threads.delete("two")
        recovering = beside(ledger.queue.recover)
    assert [turn.thread_id for turn in recovering.result()] == ["one"]
    assert ledger.verify().ok


@pytest.mark.parametrize("behind", [[], ["for later"]])
def test_what_is_claimed_while_the_oldest_is_looked_for_is_said_to_be_in_flight(
    ledger: Ledger, beside: Beside, behind: list[str]
) -> None:
    oldest = ledger.inbox.post("thread", "hi", source="test", delivery="steer-current-turn")
    for text in behind:
        ledger.inbox.post("thread", text, source="test")
    with ledger.transaction():
        cursor_of(ledger).execute("LOCK TABLE inbox_messages IN ACCESS EXCLUSIVE MODE")
        asking = beside(lambda: ledger.inbox.claim_next("thread", "late", **TURN))
        assert isinstance(ledger.inbox.claim_next("thread", "first", **TURN), MessageClaim)
    assert asking.result() == NotReady(message_id=oldest.message_id, reason="in_flight")
