"""What the tests of verify share: a small ledger in which all has happened, to be damaged."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

import turnledger
from turnledger import ClaimLost, Ledger, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from turnledger import Claim, Finding, Verification

Row = dict[str, Any]


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def claimed(ledger: Ledger, thread: str, owner: str = "worker") -> Claim:
    """A claim of a head that is there."""
    claim = ledger.queue.claim_head(thread, owner, 60)
    assert claim is not None
    return claim


def work(ledger: Ledger, clock: Clock) -> None:
    """Leave rows of every kind in every table; thread `flying` has a turn in flight."""
    queue = ledger.queue
    for number in range(4):
        clock.advance(1)
        queue.append(
            "busy", {"n": number}, queued_turn_id=f"busy {number}", idempotency_key=str(number)
        )
        queue.append("flying", {"n": number}, queued_turn_id=f"flying {number}")
    done = claimed(ledger, "busy")
    queue.start_dispatch(done, "first")
    queue.ack(done)
    queue.delete("busy", "busy 1")
    late = claimed(ledger, "busy", "late")
    queue.start_dispatch(late, "second")
    clock.advance(60)
    queue.recover()
    with pytest.raises(ClaimLost):
        queue.fail(late, {"too": "late"})
    queue.edit("busy", "busy 3", {"n": "new"})
    queue.start_dispatch(claimed(ledger, "flying"), "third")
    queue.append_many("paused", [{}, {}], idempotency_key="many")
    queue.pause("paused", "by hand")
    ledger.threads.archive("archived")
    queue.append("ended", {"n": 1}, not_before=clock.now)
    ledger.threads.delete("ended")
    later = clock.now + timedelta(hours=1)
    queue.append("later", {"n": 1}, not_before=later, queued_turn_id="later 0")
    mail(ledger, clock)
    for number in range(3):
        delay = {"kind": "delay", "seconds": 3_600}
        ledger.timers.create("mail", delay, {"n": number}, timer_id=f"timer {number}")
    ledger.timers.pause("mail", "timer 1")
    ledger.timers.delete("mail", "timer 2")
    coordinate(ledger, clock)
    operate(ledger, clock)


def mail(ledger: Ledger, clock: Clock) -> None:
    """Leave a message of every kind in the inbox `mail`; the last one, `mail 4`, waits."""
    inbox, can = ledger.inbox, {"can_after_turn": True, "can_steer_current_turn": False}
    for number in range(5):
        key = {"message_id": f"mail {number}", "idempotency_key": f"mail {number}"}
        inbox.post("mail", {"n": number}, source="host", **key)
    late: Any = inbox.claim_next("mail", "late", **can, lease=1)
    clock.advance(1)
    inbox.recover()
    with pytest.raises(ClaimLost):
        inbox.confirm(late)
    done: Any = inbox.claim_next("mail", "worker", **can)
    inbox.confirm(done)
    inbox.delete("mail", "mail 2")
    inbox.claim_next("mail", "worker", **can)
    ledger.threads.fork("mail", "forked")


def coordinate(ledger: Ledger, clock: Clock) -> None:
    """Leave coordinator turns with attachments, and with attempts that aren't over."""
    coordinator = ledger.coordinator
    for number in range(3):
        begun = coordinator.begin(
            "item",
            number,
            turn_id=f"coordinated {number}",
            idempotency_key=f"coordinated {number}",
            owner="one",
            attachments=[b"an attachment"],
        )
        claim = begun.claim
        assert claim is not None
        attempt = coordinator.prepare(claim, {"n": number})
        coordinator.start_dispatch(claim, 1)
        if number == 1:
            coordinator.respond(claim, 1, attempt.request_hash, "answer")
            coordinator.reject(claim, 1, "no good")
            coordinator.prepare(claim, "again")
    clock.advance(1)
    coordinator.cancel("coordinated 2", "not wanted")


def operate(ledger: Ledger, clock: Clock) -> None:
    """Leave runs and operations of all kinds, with evidence."""
    runs, operations = ledger.runs, ledger.operations
    for run_id in ("going on", "interrupted"):
        claim = runs.start(run_id, "item", "action", "one", 60)
        assert claim is not None
        for key in ("done", "running", "orphaned", "decided"):
            name = key if run_id == "interrupted" else f"{run_id} {key}"
            operations.create_and_claim(claim, name, "send", {"n": key}, automatic=False)
        about = {"run_id": run_id, "work_item_id": "item", "action_id": "action"}
        operations.create(f"{run_id} waiting", **about, operation_type="send", payload=None)
        operations.complete(claim, f"{run_id} done", "applied", {"n": 1})
        clock.advance(1)
    finished = runs.start("finished", "item", "action", "one", 60)
    assert finished is not None
    runs.finish(finished, {"ok": True})
    runs.interrupt("interrupted", "why")
    operations.complete(claim, "orphaned", "applied", "too late")
    operations.recover()
    operations.resolve("decided", "confirm_not_applied", by="me", evidence="seen")
    with pytest.raises(ClaimLost):
        runs.finish(claim, "too late")


class File:
    """A ledger's file, looked at and damaged beside turnledger while nobody has it open."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path, self.clock = path, clock

    def open(self) -> Ledger:
        settings = Settings(synchronous="NORMAL")
        return turnledger.open(self.path, clock=self.clock, settings=settings)

    def verify(self) -> Verification:
        with self.open() as ledger:
            try:
                return ledger.verify()
            except Exception as error:  # noqa: BLE001 - whatever it raises, it ought not to
                crash = f"verify raised {type(error).__name__}: {error}"
        pytest.fail(crash)

    def findings(self) -> tuple[Finding, ...]:
        """What verify finds; that it isn't ok is part of it."""
        verification = self.verify()
        assert not verification.ok
        return verification.findings

    def first_bad(self) -> int:
        """The position that verify names first."""
        first = self.findings()[0]
        assert (first.where, first.row) == ("events", None)
        assert first.position is not None
        return first.position

    def rows(self, statement: str, *arguments: object) -> list[Row]:
        with closing(sqlite3.connect(self.path)) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(statement, arguments)]

    def damage(self, statement: str, *arguments: object) -> None:
        """Change what is stored, which a ledger never does."""
        with closing(sqlite3.connect(self.path)) as database, database:
            database.execute("PRAGMA synchronous = OFF")
            triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger'"
            for (name,) in database.execute(triggers).fetchall():
                database.execute(f'DROP TRIGGER "{name}"')
            assert database.execute(statement, arguments).rowcount > 0

    def event(self, position: int) -> Row:
        [row] = self.rows("SELECT * FROM events WHERE position = ?", position)
        return row

    @property
    def last(self) -> int:
        """The last position."""
        return int(self.rows("SELECT max(position) AS last FROM events")[0]["last"])

    def insert(self, table: str, row: Row) -> None:
        marks = ", ".join("?" for _ in row)
        self.damage(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", *row.values())

    @staticmethod
    def chained(previous: bytes, row: Row) -> bytes:
        """The hash of an event behind another one: each stored part with its length before it."""
        names = ("stream_id", "version", "type", "schema_version", "recorded_at")
        parts = [str(row[name]).encode() for name in (*names, "metadata", "data")]
        sized = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return hashlib.sha256(previous + sized).digest()

    def forge(self, stream_id: str, kind: str, data: dict[str, Any], **said: Any) -> int:
        """Append an event as a ledger would, with hash and head row; returns its position."""
        stream = self.rows("SELECT * FROM events WHERE stream_id = ? ORDER BY version", stream_id)
        row: Row = {
            "position": self.last + 1,
            "stream_id": stream_id,
            "version": len(stream) + 1,
            "type": kind,
            "schema_version": 1,
            "data": json.dumps(data),
            "metadata": '{"command":{"name":"forged","id":"forged","arguments":{}}}',
            "recorded_at": self.rows("SELECT max(recorded_at) AS last FROM events")[0]["last"],
            **said,
        }
        previous = stream[-1]["hash"] if stream else bytes(32)
        row["hash"] = self.chained(previous, row)
        self.insert("events", row)
        columns = {name: row[name] for name in ("version", "recorded_at", "hash")}
        changed = ", ".join(f"{name} = ?" for name in columns)
        if stream:
            statement = f"UPDATE streams SET {changed} WHERE stream_id = ?"
            self.damage(statement, *columns.values(), stream_id)
        return int(row["position"])


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The ledger at rest, as bytes."""
    path, clock = tmp_path_factory.mktemp("template") / "ledger.db", Clock()
    with turnledger.open(path, clock=clock) as ledger:
        work(ledger, clock)
    assert not path.with_name("ledger.db-wal").exists()
    return path.read_bytes()


@pytest.fixture
def file(tmp_path: Path, template: bytes) -> File:
    """The ledger, for this test alone; its clock goes on where the work ended."""
    path, clock = tmp_path / "ledger.db", Clock()
    path.write_bytes(template)
    clock.advance(65)
    return File(path, clock)


@pytest.fixture
def ledger(file: File) -> Iterator[Ledger]:
    """The ledger, open: for tests that damage nothing."""
    with file.open() as opened:
        yield opened
