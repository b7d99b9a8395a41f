"""Idle workers on a server are woken when there may be something to do, and only then."""

from collections.abc import Callable, Iterator

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


def test_the_first_wait_is_over_at_once_since_something_may_have_been_missed(
    ledger: Ledger,
) -> None:
    assert waiting(ledger, -1, LONG) == 0


def settled_quickly(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> int:
    with monkeypatch.context() as patch:
        patch.setattr(postgresql_waiting, "_LOOK_SECONDS", SHORT)
        return settled(ledger)
