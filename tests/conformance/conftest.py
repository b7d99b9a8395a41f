"""What the conformance tests share: a fresh ledger, a clock that the test sets, a host.

Everything is run on every store, from here; see stores.py.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import turnledger
from tests.conformance.stores import (
    Store,
    StoredEvent,
    empty_database,
    empty_ledger,
    fresh_store,
    kind,
    postgresql_server,
    store_at,
)
from turnledger import Claim, Ledger, QueuedTurn, Settings

__all__ = [
    "Store",
    "StoredEvent",
    "empty_database",
    "empty_ledger",
    "fresh_store",
    "kind",
    "postgresql_server",
    "store_at",
]

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
THREAD = "thread"


class Clock:
    """A clock that stands until the test moves it."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        """Move it, backwards too."""
        self.now += timedelta(seconds=seconds)


class Host:
    """What a host does with a thread, in few words. Submissions are {"text": …}."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def append(self, *texts: str, thread: str = THREAD) -> list[str]:
        """Append turns one by one; returns their ids."""
        queue = self.ledger.queue
        return [queue.append(thread, {"text": text}).queued_turn_id for text in texts]

    def texts(self, thread: str = THREAD) -> list[str]:
        """The texts of the visible queue, in order."""
        return [self.text(turn) for turn in self.ledger.queue.list(thread)]

    def text(self, turn: QueuedTurn | Claim) -> str:
        """The text of a turn, which can be read."""
        assert turn.submission is not None
        return str(turn.submission["text"])

    def turn(self, queued_turn_id: str, thread: str = THREAD) -> QueuedTurn:
        """A turn that is known."""
        turn = self.ledger.queue.get(thread, queued_turn_id)
        assert turn is not None
        return turn

    def claim(self, owner: str = "worker", *, thread: str = THREAD, lease: float = 60) -> Claim:
        """Claim a head that is there."""
        claim = self.ledger.queue.claim_head(thread, owner, lease)
        assert claim is not None
        return claim

    def dispatch(
        self, dispatch_id: str = "dispatch", owner: str = "worker", *, thread: str = THREAD
    ) -> Claim:
        """Claim a head that is there, and start a dispatch."""
        claim = self.claim(owner, thread=thread)
        self.ledger.queue.start_dispatch(claim, dispatch_id)
        return claim

    def hand_made(self, owner: str, epoch: int, thread: str = THREAD) -> Claim:
        """A claim as the command line puts it together."""
        generation = self.ledger.generation
        return Claim(thread_id=thread, owner=owner, epoch=epoch, generation=generation)


@pytest.fixture
def new_store_url(fresh_store: Callable[[str], str]) -> str:
    """Where no ledger is yet."""
    return fresh_store("ledger")


@pytest.fixture
def store_url(fresh_store: Callable[[str], str]) -> str:
    """Where the test's ledger lies."""
    return fresh_store("ledger")


@pytest.fixture(name="store_at")
def _store_at() -> Callable[[str], Store]:
    """Gives the store at a place, beside turnledger."""
    return store_at


@pytest.fixture
def store(new_store_url: str) -> Store:
    """The store of the test's ledger, beside turnledger."""
    return store_at(new_store_url)


@pytest.fixture
def clock() -> Clock:
    """The clock of the test's ledgers."""
    return Clock()


@pytest.fixture
def open_ledger(store_url: str, clock: Clock) -> Iterator[Callable[..., Ledger]]:
    """Opens the test's ledger, again and again if wished; takes fields of Settings."""
    opened: list[Ledger] = []

    def opening(**fields: Any) -> Ledger:
        settings = Settings(**{"synchronous": "NORMAL", **fields})  # nobody cuts the power here
        opened.append(turnledger.open(store_url, clock=clock, settings=settings))
        return opened[-1]

    yield opening
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(open_ledger: Callable[..., Ledger]) -> Ledger:
    """A fresh ledger with the default limits."""
    return open_ledger()


@pytest.fixture
def host(ledger: Ledger) -> Host:
    """A host of that ledger."""
    return Host(ledger)
