"""given(events).then(rows): the read models' statements on their tables, in memory.

Events of a queue, of a thread's life and of evidence go into streams of their own. The n-th event
is recorded n thousand microseconds after 1970.

`work` is a real ledger, for what isn't in those tables: what is in flight, and the views.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.schema import CreateIndex, CreateTable

import turnledger
from turnledger import Claim, Ledger
from turnledger.domain.event import Envelope, Event, Unknown
from turnledger.infrastructure.statement import DIALECTS, SQLITE
from turnledger.projections.plan import TABLES, Execute, Plan, receipt_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Row = dict[str, Any]
Rows = dict[str, list[Row]]

NINE = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
THREAD = "thread"
STREAMS = {
    "thread": f"thread:{THREAD}",
    "thread_queue": f"thread_queue:{THREAD}",
    "evidence": f"evidence:thread_queue:{THREAD}",
    "inbox": f"inbox:{THREAD}",
    "timer": f"timer:{THREAD}",
    "evidence.kept_of_message": f"evidence:inbox:{THREAD}",
}
PLAN = Plan(DIALECTS[SQLITE])


@dataclass(frozen=True)
class Recorded:
    """An event with what is recorded beside it."""

    event: Event | Unknown
    metadata: dict[str, Any]
    thread: str = THREAD


def envelopes(events: tuple[Event | Unknown | Recorded, ...]) -> list[Envelope]:
    """The events with their places."""
    versions: dict[str, int] = {}
    placed: list[Envelope] = []
    for number, one in enumerate(events, 1):
        said = one if isinstance(one, Recorded) else Recorded(one, {})
        topic = said.event.topic if isinstance(said.event, Unknown) else said.event.TOPIC
        of_topic = STREAMS.get(topic) or STREAMS[topic.partition(".")[0]]
        stream_id = of_topic.removesuffix(THREAD) + said.thread
        versions[stream_id] = version = versions.get(stream_id, 0) + 1
        placed.append(Envelope(stream_id, version, said.event, number * 1_000, said.metadata))
    return placed


def project(execute: Execute, envelope: Envelope) -> None:
    """Do to the tables what the recorder does when it writes an event."""
    stream_id, version, event, recorded_at, metadata = envelope
    PLAN.run(execute, stream_id, version, event, recorded_at)
    receipt = receipt_in(metadata)
    if receipt is not None:
        PLAN.keep(execute, receipt, stream_id, version, recorded_at)


class Given:
    """The read models after some events."""

    def __init__(self, *events: Event | Unknown | Recorded) -> None:
        self.rows: Rows = {}
        with closing(sqlite3.connect(":memory:")) as database:
            for table in TABLES:
                database.execute(str(CreateTable(table).compile(dialect=DIALECTS[SQLITE])))
                for index in table.indexes:
                    database.execute(str(CreateIndex(index).compile(dialect=DIALECTS[SQLITE])))
            for envelope in envelopes(events):
                project(database.execute, envelope)
            for table in TABLES:
                names = [column.name for column in table.columns]
                found = database.execute(f"SELECT * FROM {table.name}").fetchall()
                self.rows[table.name] = [dict(zip(names, row, strict=True)) for row in found]

    def then(self, **expected: list[Row]) -> None:
        """The tables hold these rows, bit for bit; those that aren't named are empty."""
        for name, found in self.rows.items():
            assert [*map(repr, found)] == [*map(repr, expected.get(name, []))], name
        assert set(expected) <= set(self.rows)


class Expect:
    """Rows in few words: a turn as it is after `appended`, but for what is said."""

    def turn(self, turn: str = "a", order: int = 0, *, at: int = 1, **said: Any) -> Row:
        """A row of the queued turns.

        Args:
            turn: Its id.
            order: Its queue_order.
            at: The number of the event that appended it, in the ledger and in its stream.
            said: What has changed since; `last` is the number of the event that changed it.
        """
        last = said.pop("last", at)
        row: Row = {
            "thread_id": THREAD,
            "queued_turn_id": turn,
            "queue_order": order,
            "submission_version": at,
            "appended_version": at,
            "state": "pending",
            "failure": None,
            "altered": 0,
            "outcome_unknown": 0,
            "dispatch_id": None,
            "evidence": "[]",
            "attempts": 0,
            "claims": 0,
            "not_before": None,
            "created_at": 1_767_603_600_000_000,
            "updated_at": last * 1_000,
            "version": last,
        }
        assert set(said) <= set(row)
        return {**row, **said}

    def message(self, message: str = "a", arrival: int = 0, *, at: int = 1, **said: Any) -> Row:
        """A row of the messages, as it is after `posted`, but for what is said; see `turn`."""
        last = said.pop("last", at)
        row: Row = {
            "thread_id": THREAD,
            "message_id": message,
            "arrival": arrival,
            "posted_version": at,
            "queued_at": 1_767_603_600_000_000,
            "source": "test",
            "delivery": "after-turn",
            "state": "pending",
            "reason": None,
            "claims": 0,
            "deliveries": 0,
            "owner": None,
            "epoch": None,
            "expires_at": None,
            "evidence": "[]",
            "created_at": 1_767_603_600_000_000,
            "updated_at": last * 1_000,
            "version": last,
        }
        assert set(said) <= set(row)
        return {**row, **said}

    def dispatched(self, turn: str = "a", dispatch: str = "d", *, epoch: int = 1) -> Row:
        """A row of the dispatches."""
        held = {"owner": "worker", "epoch": epoch}
        return {"thread_id": THREAD, "dispatch_id": dispatch, "queued_turn_id": turn, **held}


class Clock:
    """A clock that stands at nine until it is moved."""

    def __init__(self) -> None:
        self.now = NINE

    def __call__(self) -> datetime:
        return self.now

    def after(self, seconds: int, microseconds: int = 0) -> None:
        self.now = NINE + timedelta(seconds=seconds, microseconds=microseconds)


class Work:
    """A ledger with a queue of two, and a second one beside it; its tables as they are stored."""

    THREAD = "a thread: thread_queue:\u00e9"

    def __init__(self, path: Path, ledger: Ledger, clock: Clock) -> None:
        self.path, self.ledger, self.queue, self.clock = path, ledger, ledger.queue, clock
        for thread in (self.THREAD, "beside"):
            for turn in ("a", "b"):
                self.queue.append(thread, {"text": turn}, queued_turn_id=turn)

    def claim(self) -> Claim:
        claim = self.queue.claim_head(self.THREAD, "worker", 60)
        assert claim is not None
        return claim

    def dispatched(self) -> Claim:
        claim = self.claim()
        self.queue.start_dispatch(claim, "d")
        return claim

    def rows(self, query: str, *arguments: object) -> list[Row]:
        with closing(sqlite3.connect(self.path)) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(query, arguments)]


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A new ledger at rest, as bytes: making one takes much longer than opening one."""
    made = tmp_path_factory.mktemp("template") / "ledger.db"
    turnledger.open(made).close()
    return made.read_bytes()


@pytest.fixture(scope="session", name="given")
def _given() -> type[Given]:
    return Given


@pytest.fixture(scope="session", name="expect")
def _expect() -> Expect:
    return Expect()


@pytest.fixture(scope="session", name="recorded")
def _recorded() -> type[Recorded]:
    return Recorded


@pytest.fixture
def work(tmp_path: Path, template: bytes) -> Iterator[Work]:
    path, clock = tmp_path / "ledger.db", Clock()
    path.write_bytes(template)
    with turnledger.open(path, clock=clock) as ledger:
        yield Work(path, ledger, clock)
        assert ledger.verify().ok
