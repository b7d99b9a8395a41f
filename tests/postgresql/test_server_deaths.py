"""The server dies and comes back: nothing is lost, nothing is there twice, no call fails."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest

import turnledger
from tests.postgresql.fixtures import started
from tests.postgresql.lost_answers import COMMANDS, outline
from tests.postgresql.proxy import Moment, proxy
from tests.postgresql.server import Database, PrivateServer, server
from turnledger import Ledger

DOWN_SECONDS = 2


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateServer]:
    """A server that may be killed."""
    with ExitStack() as stack:
        yield started(stack, server())


@pytest.fixture
def database(private: PrivateServer) -> Iterator[Database]:
    """A database of its own."""
    with private.new_database() as made:
        turnledger.open(made.url).close()
        yield made


def events(database: Database) -> list[str]:
    with psycopg.connect(database.conninfo) as connection:
        rows = connection.execute("SELECT type FROM stored_events ORDER BY stream_id, version")
        return [str(kind) for (kind,) in rows]


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("append", b"INSERT INTO stored_events"),
        ("claim_next of several", b"COMMIT"),
        ("archive", b"COMMIT"),
        ("edit", b"COMMIT"),
    ],
)
def test_a_command_outlasts_a_server_that_is_down_for_two_seconds(
    private: PrivateServer, database: Database, name: str, words: bytes, moment: Moment
) -> None:
    case, back = COMMANDS[name], threading.Timer(DOWN_SECONDS, private.start)

    def die() -> None:
        private.kill()
        back.start()

    with proxy(private.port) as between, turnledger.open(between.url(database.url)) as ledger:
        expected = outline(case.act(ledger, "one", case.prepare(ledger, "one")))
        once = events(database)
        prepared = case.prepare(ledger, "two")
        between.order(lambda request: words in request, moment, die)
        assert outline(case.act(ledger, "two", prepared)) == expected
        back.join()
        assert between.cuts == 1
        assert ledger.verify().findings == ()
    assert sorted(events(database)) == sorted(once * 2)


@pytest.mark.parametrize("role", ["a backend", "the announcer", "the checkpointer"])
def test_the_death_of_any_of_the_servers_processes_under_load_costs_nothing(
    private: PrivateServer, database: Database, role: str
) -> None:
    """The server then throws out all connections, and recovers."""
    which = {
        "a backend": "application_name = 'turnledger'",
        "the announcer": "application_name = 'turnledger announcer'",
        "the checkpointer": "backend_type = 'checkpointer'",
    }
    half_way = threading.Event()
    with turnledger.open(database.url) as ledger:
        threads = [
            threading.Thread(target=load, args=(ledger, f"thread {one}", half_way.set))
            for one in range(4)
        ]
        for thread in threads:
            thread.start()
        assert half_way.wait(60)
        kill_one(private, which[role])
        for thread in threads:
            thread.join()
        for one in range(4):
            numbers = [turn.submission for turn in ledger.queue.list(f"thread {one}")]
            assert numbers == [{"number": number} for number in range(40)]
        assert ledger.verify().findings == ()
        assert len(ledger.log.read()) == 160


def load(ledger: Ledger, thread: str, half_way: Callable[[], None]) -> None:
    for number in range(40):
        ledger.queue.append(thread, {"number": number})
        if number == 20:
            half_way()


def kill_one(private: PrivateServer, which: str) -> None:
    query = f"SELECT pid FROM pg_stat_activity WHERE {which} ORDER BY query_start DESC LIMIT 1"
    with psycopg.connect(private.database().conninfo) as connection:
        found = connection.execute(query.encode()).fetchone()
    assert found is not None
    os.kill(found[0], signal.SIGKILL)  # the server then throws out this connection as well
