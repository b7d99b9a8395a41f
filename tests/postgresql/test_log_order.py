"""The log while writers overlap: a follower sees every event once, in order."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import groupby, takewhile
from threading import Event
from typing import Any, NamedTuple

import psycopg
import pytest

import turnledger
from tests.postgresql.brake import HELD, Brake
from tests.postgresql.server import Database, Server
from turnledger import Ledger
from turnledger.infrastructure import numbering, postgresql_waiting
from turnledger.infrastructure.held import Held

ROUNDS, WRITERS, APPENDS, MANY, FOLLOWERS = 10, 4, 20, 5, 3
EVENTS = ROUNDS * (1 + WRITERS * (APPENDS + MANY))
END = "the end"
SECONDS = 60  # nothing here takes longer
APPEND = """
import sys, turnledger
with turnledger.open(sys.argv[1]) as ledger:
    ledger.queue.append("thread", {})
"""
_UNNUMBERED = "SELECT count(*) FROM unnumbered"
_WAITS_TO_NUMBER = """
SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'
"""

Beside = psycopg.Connection[tuple[Any, ...]]


class Seen(NamedTuple):
    """An event in the log."""

    position: int
    stream_id: str
    version: int


class Outcome(NamedTuple):
    """What readers saw while writers overlapped.

    Attributes:
        followed: By each of the followers, in its order.
        read: The ids that the plain reader saw.
        stored: Id, stream and version of what there is in the end.
        findings: What `verify` finds.
    """

    followed: list[list[Seen]]
    read: list[int]
    stored: list[tuple[int, str, int]]
    findings: tuple[object, ...]


class PlainReader:
    """Reads `id > last`, as one does where a row's number is its place in the log."""

    def __init__(self, beside: Beside) -> None:
        self._beside = beside
        self.read: list[int] = []

    def look(self) -> None:
        query = "SELECT id FROM stored_events WHERE id > %s ORDER BY id"
        last = self.read[-1] if self.read else 0
        self.read += [number for (number,) in self._beside.execute(query, (last,))]


def follow(url: str) -> list[Seen]:
    with turnledger.open(url) as ledger:
        events = takewhile(lambda each: END not in each.stream_id, ledger.log.follow())
        return [Seen(each.position, each.stream_id, each.version) for each in events]


def write(ledger: Ledger, number: int, writer: int) -> None:
    for each in range(APPENDS):
        ledger.queue.append(f"writer {writer} {each % 3}", {"round": number})
    ledger.queue.append_many(f"writer {writer} many", [{"round": number}] * MANY)


def write_around_held_rows(ledger: Ledger, brake: Brake, reader: PlainReader) -> None:
    """In each round, one row is held back while all the others are committed and read."""
    with ThreadPoolExecutor() as pool:
        for number in range(ROUNDS):
            with brake.holding():
                held = pool.submit(ledger.queue.append, HELD, {"round": number})
                brake.wait()
                list(pool.map(partial(write, ledger, number), range(WRITERS)))
                reader.look()
            held.result(SECONDS)
    reader.look()


@pytest.fixture
def beside(database: Database) -> Iterator[Beside]:
    """A connection of nobody's."""
    with psycopg.connect(database.conninfo, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def outcome(postgresql_server: Server) -> Iterator[Outcome]:
    """Followers and the plain reader beside the same writers."""
    with ExitStack() as stack:
        database = stack.enter_context(postgresql_server.new_database())
        ledger = stack.enter_context(turnledger.open(database.url))
        beside = stack.enter_context(psycopg.connect(database.conninfo, autocommit=True))
        pool = stack.enter_context(ThreadPoolExecutor(FOLLOWERS))
        followers = [pool.submit(follow, database.url) for _ in range(FOLLOWERS)]
        reader = PlainReader(beside)
        try:
            write_around_held_rows(ledger, Brake(beside), reader)
        finally:
            ledger.queue.append(END, {})
        query = "SELECT id, stream_id, version FROM stored_events WHERE stream_id NOT LIKE %s"
        stored = beside.execute(query, (f"%{END}",)).fetchall()
        seen = [follower.result(SECONDS) for follower in followers]
        yield Outcome(seen, reader.read, stored, ledger.verify().findings)


def test_every_follower_sees_every_event_once_and_positions_have_no_gaps(outcome: Outcome) -> None:
    expected = {(stream_id, version) for _, stream_id, version in outcome.stored}
    assert len(expected) == EVENTS
    for followed in outcome.followed:
        assert [each.position for each in followed] == list(range(1, EVENTS + 1))
        assert {(each.stream_id, each.version) for each in followed} == expected
        assert followed == outcome.followed[0]
    assert outcome.findings == ()


def test_a_follower_sees_the_events_of_a_stream_in_their_order(outcome: Outcome) -> None:
    followed = sorted(outcome.followed[0], key=lambda each: each.stream_id)  # which is stable
    lengths = Counter(stream_id for _, stream_id, _ in outcome.stored)
    for stream_id, events in groupby(followed, lambda each: each.stream_id):
        assert [each.version for each in events] == list(range(1, lengths[stream_id] + 1))


def test_control_a_plain_reader_misses_every_row_that_was_held_back(outcome: Outcome) -> None:
    held = {number for number, stream_id, _ in outcome.stored if stream_id.endswith(HELD)}
    assert len(held) == ROUNDS
    assert {number for number, _, _ in outcome.stored} - set(outcome.read) == held


def test_a_later_version_is_numbered_later_though_its_transaction_began_earlier(
    ledger: Ledger, beside: Beside
) -> None:
    """`claim_next` has begun with one thread when the other gets an event, and claims that too."""
    ledger.queue.append("held", {})
    ledger.queue.append("other", {})
    brake = Brake(beside)
    with ThreadPoolExecutor(1) as pool:
        with brake.holding():
            claims = pool.submit(ledger.queue.claim_next, "worker", limit=2)
            brake.wait()
            ledger.queue.append("other", {})
            assert [event.position for event in ledger.log.read()] == [1, 2, 3]
        assert [claim.thread_id for claim in claims.result(SECONDS)] == ["held", "other"]
    ages = """SELECT age(xmin) FROM stored_events WHERE stream_id LIKE '%other' ORDER BY version"""
    [_, (appended,), (claimed,)] = beside.execute(ages).fetchall()
    assert claimed > appended
    others = [event for event in ledger.log.read() if event.stream_id.endswith("other")]
    assert [event.version for event in others] == [1, 2, 3]
    assert [event.position for event in ledger.log.read()] == [1, 2, 3, 4, 5]


def test_a_transaction_in_another_database_doesnt_hold_the_log_back(
    ledger: Ledger, postgresql_server: Server
) -> None:
    with psycopg.connect(postgresql_server.database().conninfo) as elsewhere:
        elsewhere.execute("SELECT pg_current_xact_id()")
        turn = ledger.queue.append("thread", {})
        [event] = ledger.log.read()
        assert (event.position, event.data["queued_turn_id"]) == (1, turn.queued_turn_id)


def test_an_open_transaction_in_the_same_database_doesnt_hold_the_log_back_either(
    ledger: Ledger, database: Database, beside: Beside
) -> None:
    ledger.queue.append("before", {})
    with psycopg.connect(database.conninfo) as here:
        here.execute("SELECT pg_current_xact_id()")
        for number in range(3):
            ledger.queue.append(f"thread {number}", {})
        assert [event.position for event in ledger.log.read()] == [1, 2, 3, 4]
        assert beside.execute(_UNNUMBERED).fetchone() == (0,)
        here.rollback()


def test_positions_that_a_dead_reader_was_giving_are_given_by_the_next_one(
    ledger: Ledger, database: Database, beside: Beside
) -> None:
    ledger.queue.append_many("thread", [{}] * 3)
    reader = psycopg.connect(database.conninfo)
    reader.execute(numbering.LOCK.encode())
    reader.execute(numbering._NUMBER.encode())
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit(ledger.log.read)
        while not beside.execute(_WAITS_TO_NUMBER).fetchall():
            assert not read.done()
        beside.execute("SELECT pg_terminate_backend(%s)", (reader.info.backend_pid,))
        assert [event.position for event in read.result(SECONDS)] == [1, 2, 3]
    reader.close()


def test_a_commit_in_another_process_wakes_a_waiting_one(
    ledger: Ledger, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, wait = Event(), postgresql_waiting._wait

    def noted(seconds: float, held: Held) -> None:
        waits.set()
        wait(seconds, held)

    monkeypatch.setattr(postgresql_waiting, "_LOOK_SECONDS", 10 * SECONDS)
    monkeypatch.setattr(postgresql_waiting, "_wait", noted)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ledger.wait_for_change, 0, 2 * SECONDS)
        assert waits.wait(SECONDS)
        subprocess.run([sys.executable, "-c", APPEND, database.url], check=True)
        assert waiting.result(SECONDS) == 1
