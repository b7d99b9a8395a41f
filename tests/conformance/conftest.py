"""What the conformance tests share: a fresh ledger, a clock that the test sets, a host.

Another store comes in through `store_url` and `Store`, and nowhere else.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import turnledger
from turnledger import Claim, Ledger, QueuedTurn, Settings

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


class StoredEvent(NamedTuple):
    """A row of the events table, but for its hash."""

    position: int
    stream_id: str
    version: int
    type: str
    schema_version: int
    data: str
    metadata: str
    recorded_at: Any


class Store:
    """The store as it lies there, read and damaged beside turnledger."""

    def __init__(self, url: str) -> None:
        self._path = url.removeprefix("sqlite:///")

    def rows(self, statement: str, *arguments: object) -> list[tuple[Any, ...]]:
        """What a query gives."""
        with closing(sqlite3.connect(self._path)) as connection:
            return connection.execute(statement, arguments).fetchall()

    def columns(self, table: str) -> set[str]:
        """The names of a table's columns."""
        return {name for (name,) in self.rows("SELECT name FROM pragma_table_info(?)", table)}

    def events(self, after: int = 0) -> list[StoredEvent]:
        """Every event behind a position, in order."""
        statement = f"SELECT {', '.join(StoredEvent._fields)} FROM events"
        rows = self.rows(f"{statement} WHERE position > ? ORDER BY position", after)
        return [StoredEvent(*row) for row in rows]

    def damage(self, statement: str, *arguments: object) -> None:
        """Change what is stored, which a ledger never does."""
        with closing(sqlite3.connect(self._path)) as connection, connection:
            triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            for (name,) in connection.execute(triggers).fetchall():
                connection.execute(f'DROP TRIGGER "{name}"')
            changed = connection.execute(statement, arguments).rowcount
        assert changed == 1


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


@pytest.fixture(scope="session")
def empty_ledger(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """An empty ledger, to begin with: copying one is faster than making it."""
    path = tmp_path_factory.mktemp("empty") / "ledger.db"
    turnledger.open(path).close()
    return path.read_bytes()


@pytest.fixture
def new_store_url(tmp_path: Path) -> str:
    """Where no ledger is yet."""
    return f"sqlite:///{tmp_path / 'ledger.db'}"


@pytest.fixture
def fresh_store(tmp_path: Path, empty_ledger: bytes) -> Callable[[str], str]:
    """Makes an empty ledger under a name."""

    def making(name: str) -> str:
        path = tmp_path / f"{name}.db"
        path.write_bytes(empty_ledger)
        return f"sqlite:///{path}"

    return making


@pytest.fixture
def store_url(fresh_store: Callable[[str], str]) -> str:
    """Where the test's ledger lies."""
    return fresh_store("ledger")


@pytest.fixture
def store_at() -> Callable[[str], Store]:
    """Gives the store at a place, beside turnledger."""
    return Store


@pytest.fixture
def store(new_store_url: str) -> Store:
    """The store of the test's ledger, beside turnledger."""
    return Store(new_store_url)


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
