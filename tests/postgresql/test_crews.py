"""Many processes on one server: some are killed, some lose their connections all the time."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

import turnledger
from tests.postgresql.crew import Worker, told
from tests.postgresql.server import Database
from turnledger import Ledger

TERMINATE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND application_name LIKE 'turnledger%'
"""
PAUSE_SECONDS = 0.05

Begin = Callable[..., list[Worker]]


@pytest.fixture
def begin(database: Database, tmp_path: Path) -> Iterator[Begin]:
    """Starts workers, who then wait for `go`: begin(how many, role, number, first one's number)."""
    with ExitStack() as stack:

        def beginning(count: int, role: str, number: int = 1, *, first: int = 0) -> list[Worker]:
            crew = []
            for one in range(first, first + count):
                errors = tmp_path / f"errors {one}"
                crew.append(Worker(database.url, role, f"worker {one}", number, errors))
                stack.callback(crew[-1].close)
            for worker in crew:
                worker.hear()  # that it is ready
            return crew

        yield beginning


def go(crew: list[Worker]) -> None:
    for worker in crew:
        worker.go()


def filled(ledger: Ledger, threads: int, turns: int) -> dict[str, list[int]]:
    """Fill threads with turns; returns their numbers."""
    numbers = list(range(turns))
    for one in range(threads):
        ledger.queue.append_many(f"thread {one:02}", [{"number": number} for number in numbers])
    return {f"thread {one:02}": numbers for one in range(threads)}


@contextmanager
def storm(database: Database) -> Iterator[list[int]]:
    """End all of the ledgers' connections, again and again; gives how many it were each time."""
    over, ended = threading.Event(), []

    def rage() -> None:
        with psycopg.connect(database.conninfo, autocommit=True) as connection:
            while not over.wait(PAUSE_SECONDS):
                ended.append(len(connection.execute(TERMINATE).fetchall()))

    with ThreadPoolExecutor() as pool:
        raging = pool.submit(rage)
        try:
            yield ended
        finally:
            over.set()
            raging.result()


@pytest.mark.parametrize(
    ("workers", "turns", "most"), [(4, 4, 1), (4, 4, 10), (12, 2, 1)], ids=["4", "4 x 10", "12"]
)
def test_each_turn_of_25_threads_is_acked_once_and_in_order(
    ledger: Ledger, begin: Begin, workers: int, turns: int, most: int
) -> None:
    expected = filled(ledger, 25, turns)
    crew = begin(workers, "drain", most)
    go(crew)
    for worker in crew:
        worker.finish()
    assert told(crew, "acked") == expected
    assert [thread.state for thread in ledger.threads.list()] == ["idle"] * 25
    assert ledger.verify().findings == ()
    kinds = [event.type for event in ledger.log.read(limit=10_000)]
    assert len(kinds) == 25 + 3 * 25 * turns + 25 * (turns - 1)


def test_nothing_is_lost_or_twice_in_a_storm_of_broken_connections(
    database: Database, ledger: Ledger, begin: Begin
) -> None:
    expected = filled(ledger, 8, 8)
    crew = begin(4, "drain")
    for one in range(4):
        ledger.queue.pause(f"mine {one}", "so that no worker takes anything out")
    with storm(database) as ended, ThreadPoolExecutor() as pool:
        go(crew)
        threads = [pool.submit(append_and_edit, ledger, f"mine {one}") for one in range(4)]
        for worker in crew:
            worker.finish()
        for thread in threads:
            thread.result()
    assert sum(ended) > 50
    assert told(crew, "acked") == expected
    for one in range(4):
        assert [turn.submission for turn in ledger.queue.list(f"mine {one}")] == [
            {"number": number, "edited": True} for number in range(12)
        ]
    assert ledger.verify().findings == ()
    settled, mine = 8 + 8 * 8 * 3 + 8 * 7, 4 + 4 * 12 * 2
    assert len(ledger.log.read(limit=10_000)) == settled + mine


def append_and_edit(ledger: Ledger, thread: str) -> None:
    for number in range(12):
        turn = ledger.queue.append(thread, {"number": number})
        ledger.queue.edit(thread, turn.queued_turn_id, {"number": number, "edited": True})
        assert len(ledger.queue.list(thread)) == number + 1
        assert ledger.queue.why_blocked(thread) == "paused"
        assert ledger.log.read(limit=1)[0].position == 1


def test_workers_that_are_killed_lose_nothing_and_do_nothing_twice(
    ledger: Ledger, begin: Begin
) -> None:
    expected = filled(ledger, 10, 8)
    crew = begin(4, "drain")
    go(crew)
    for worker in crew[:3]:
        worker.hear(11)
        worker.kill()
    crew[3].finish()
    sent = {(thread, number) for worker in crew for thread, _, number in worker.words("sent")}
    for worker in crew[:3]:
        for turn in ledger.queue.recover(owner=worker.owner):
            if turn.state == "failed":
                assert turn.submission is not None
                known = (turn.thread_id, turn.submission["number"]) in sent
                decision = "acked" if known else "retry"
                ledger.queue.resolve(turn.thread_id, turn.queued_turn_id, decision, by="test")
    last = begin(1, "drain", first=4)
    go(last)
    last[0].finish()
    assert told([*crew, *last], "sent") == expected
    assert [thread.state for thread in ledger.threads.list()] == ["idle"] * 10
    assert ledger.verify().findings == ()


def test_processes_that_open_an_empty_database_at_once_make_one_ledger(
    database: Database, begin: Begin
) -> None:
    crew = begin(4, "opened")
    go(crew)
    for worker in crew:
        worker.finish()
    with turnledger.open(database.url) as ledger:
        ids = [ledger.ledger_id, ledger.generation]
        assert [worker.words("opened") for worker in crew] == [[ids]] * 4
        assert len(ledger.queue.list("thread")) == 4
        assert ledger.verify().findings == ()
    with psycopg.connect(database.conninfo) as connection:
        assert connection.execute("SELECT count(*) FROM ledger").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
