"""A whole ledger on SQLite in one process, which can be repeated and crashed at any statement.

Its clock is set, and the names that it makes come of the calls alone.

The store is the real one, on a real file. A crash drops the process's side of it, connection and
all, in the middle of whatever it was doing; the next call finds the file as it lies there.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

from turnledger.domain.payload import decode
from turnledger.domain.retry_policy import RetryPolicy
from turnledger.domain.settings import Settings
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.migration import migrate
from turnledger.infrastructure.schema import TABLES
from turnledger.infrastructure.sqlite import SqliteStore
from turnledger.ledger import Ledger
from turnledger.proving.calls import Step, carry_out
from turnledger.proving.rules import Happened
from turnledger.verify import Verification, verify

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
SETTINGS = Settings(
    max_visible_turns=6,
    max_timers=4,
    max_claims=3,
    max_lease=timedelta(hours=1),
    retry_policy=RetryPolicy(max_attempts=4, base=timedelta(seconds=20), factor=1, jitter=0),
    synchronous="NORMAL",  # a crash of a process loses no page that was written
)

Moment = Literal["before", "after"]
_BEHIND = "SELECT position, stream_id, type, data, recorded_at FROM events WHERE position > ?"
Snapshot = sqlite3.Connection
Tables = dict[str, list[tuple[Any, ...]]]


class Crash(BaseException):
    """The process is gone."""


class Point(NamedTuple):
    """Where to crash.

    Attributes:
        statement: The how-manieth of the call, from 1 on.
        moment: Before or after it.
    """

    statement: int
    moment: Moment


class Driver:
    """The cursor of a connection: counts statements, and crashes at one of them."""

    def __init__(self, cursor: sqlite3.Cursor, world: "World") -> None:
        """Take the driver's own cursor."""
        self._cursor, self._world = cursor, world

    def __getattr__(self, name: str) -> Any:
        """All else is the driver's."""
        return getattr(self._cursor, name)

    def __iter__(self) -> Iterator[Any]:
        """The rows of the last statement."""
        return iter(self._cursor)

    def execute(self, *given: Any) -> sqlite3.Cursor:
        """Run a statement, unless the process is gone by then."""
        return self._run(self._cursor.execute, *given)

    def executemany(self, *given: Any) -> sqlite3.Cursor:
        """Likewise, for many rows."""
        return self._run(self._cursor.executemany, *given)

    def _run(self, call: Any, *given: Any) -> sqlite3.Cursor:
        world = self._world
        world.must_live()
        world.statements += 1
        if world.point == (world.statements, "before"):
            world.crash()
        done: sqlite3.Cursor = call(*given)
        if world.point == (world.statements, "after"):
            world.crash()
        return done


class World:
    """A ledger's file, and the one process that works on it.

    Attributes:
        ledger: The process's, just now.
        statements: How many the last call ran.
        point: Where the next call crashes, if it does.
        crashes: How often it crashed so far.
    """

    def __init__(self, folder: Path) -> None:
        """Make an empty ledger in a folder."""
        self._path = folder / "simulated.db"
        self._now = START
        self._is_gone = False
        self._number, self._names = 0, 0
        self.statements, self.point, self.crashes = 0, None, 0
        self._store = SqliteStore(self._path, SETTINGS)
        migrate(self._store)
        self.ledger = self._opened()
        self._empty = self.snapshot()
        self._beside = self._store.connect()  # so that no crash is the end of the last connection
        self._beside.execute("SELECT * FROM ledger").fetchall()

    statements: int
    point: Point | None
    crashes: int

    def clock(self) -> datetime:
        """What every clock shows."""
        return self._now

    def _name(self) -> str:
        """A name that comes of the call alone, in the form of a UUIDv7."""
        self._names += 1
        return f"{self._number:08x}-0000-7000-8000-{self._names:012x}"

    def _opened(self) -> Ledger:
        backend = Backend(self._store, self.clock, SETTINGS)
        vars(backend)["new_id"] = self._name
        held = self._store.held()
        if not isinstance(held.cursor, Driver):
            held.cursor = Driver(held.cursor, self)
        return Ledger(backend)

    def crash(self) -> None:
        """End the process here and now.

        Raises:
            Crash: Always.
        """
        self._is_gone = True
        raise Crash

    def must_live(self) -> None:
        """Let nothing be done any more, if the process is gone.

        Raises:
            Crash: It is.
        """
        if self._is_gone:
            raise Crash

    def restart(self) -> None:
        """A new process on the same file."""
        self.crashes += 1
        self._is_gone = False
        with suppress(sqlite3.Error):
            self._store.close()
        self._store = SqliteStore(self._path, SETTINGS)
        self.ledger = self._opened()

    def now(self, step: Step) -> datetime:
        """When a step is taken."""
        return START + timedelta(seconds=step.seconds)

    def call(self, step: Step, point: Point | None = None) -> str | None:
        """Take a step.

        Args:
            step: The call.
            point: Where to crash in it.

        Returns:
            Its answer; None if there was none, since the process crashed. There is a new one then.
        """
        self._now = self.now(step)
        self._number, self._names = step.number + 1, 0
        self.statements, self.point = 0, point
        try:
            return carry_out(self.ledger, step, START)
        except Crash:
            self.point = None
            self.restart()
            return None
        finally:
            self.point = None

    # --- the file

    def snapshot(self) -> Snapshot:
        """The database as it is now."""
        copy = sqlite3.connect(":memory:")
        self._store.held().driver.backup(copy)
        return copy

    def put_back(self, snapshot: Snapshot | None = None) -> None:
        """Make the file what it was; default an empty ledger."""
        held = self._store.held()
        held.driver.rollback()  # what a mistake may have left
        (snapshot or self._empty).backup(held.driver)

    def tables(self) -> Tables:
        """Every row of every table."""
        cursor = self._store.held().driver.cursor()
        found: Tables = {}
        for name in ("events", "streams", *(table.name for table in TABLES)):
            found[name] = cursor.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()  # noqa: S608
        return found

    def last_committed(self) -> int:
        """The position of the last event."""
        row = self._store.held().driver.execute("SELECT max(position) FROM events").fetchone()
        return row[0] or 0

    def events(self, after: int) -> list[Happened]:
        """The events behind a position."""
        rows = self._store.held().driver.execute(_BEHIND, (after,)).fetchall()
        return [
            Happened(position, stream, kind, decode(data), recorded_at)
            for position, stream, kind, data, recorded_at in rows
        ]

    def verify(self) -> Verification:
        """See `Ledger.verify`."""
        return verify(self._store)

    def close(self) -> None:
        """End the process in good order."""
        self._beside.close()
        self._store.close()
