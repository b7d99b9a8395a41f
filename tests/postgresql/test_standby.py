"""The pair of servers: what was committed outlives its primary, again and again."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psycopg
import pytest
from sqlalchemy import create_engine, text

from tests.postgresql.fixtures import started
from tests.postgresql.standby import StandbyPair, standby_pair

FAIL_OVERS = 3


@pytest.fixture(scope="module")
def pair() -> Iterator[StandbyPair]:
    """One pair for all tests here, each of which leaves it whole."""
    with ExitStack() as stack:
        yield started(stack, standby_pair())


def test_what_was_committed_is_there_after_every_fail_over(pair: StandbyPair) -> None:
    conninfo = pair.database().conninfo
    with psycopg.connect(conninfo) as connection:
        connection.execute("CREATE TABLE kept (number int)")
    for number in range(FAIL_OVERS):
        with psycopg.connect(conninfo) as connection:
            connection.execute("INSERT INTO kept VALUES (%s)", (number,))
        pair.fail_over()
        with psycopg.connect(conninfo) as connection:
            kept = connection.execute("SELECT number FROM kept ORDER BY number").fetchall()
        assert kept == [(each,) for each in range(number + 1)]


def test_the_standby_is_synchronous_and_takes_no_writes(pair: StandbyPair) -> None:
    with psycopg.connect(pair.primary_conninfo) as connection:
        query = "SELECT application_name, sync_state FROM pg_stat_replication"
        assert connection.execute(query).fetchall() == [("standby", "sync")]
    with (
        psycopg.connect(pair.other_conninfo) as connection,
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
    ):
        connection.execute("CREATE TABLE refused ()")


def test_a_commit_waits_for_the_standby(pair: StandbyPair) -> None:
    with (
        psycopg.connect(pair.other_conninfo, autocommit=True) as standby,
        psycopg.connect(pair.primary_conninfo, autocommit=True) as writer,
        psycopg.connect(pair.primary_conninfo, autocommit=True) as observer,
        ThreadPoolExecutor() as pool,
    ):
        standby.execute("SELECT pg_wal_replay_pause()")
        writer.execute("SET synchronous_commit = remote_apply")
        commit = pool.submit(writer.execute, "CREATE TABLE waited_for ()")
        waiting = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        while not observer.execute(waiting).fetchall():
            assert not commit.done()
        standby.execute("SELECT pg_wal_replay_resume()")
        commit.result(60)


def test_the_promoted_standby_takes_writes_while_it_is_alone(pair: StandbyPair) -> None:
    engine = create_engine(pair.database().url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE alone AS SELECT 1 AS number"))
    pair.kill_primary()
    pair.promote()
    engine.dispose()  # its connections are to the dead one
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO alone VALUES (2)"))
    pair.rebuild()
    with psycopg.connect(pair.other_conninfo) as standby:
        assert standby.execute("SELECT sum(number) FROM alone").fetchone() == (3,)
    engine.dispose()
