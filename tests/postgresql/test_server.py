"""The private server: that it is there, how it stores, and that nothing of it stays."""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import psycopg
import pytest
from sqlalchemy import create_engine, text

from tests.postgresql import keeper
from tests.postgresql.place import join
from tests.postgresql.server import PrivateServer, Server, server, shared_server

ROOT = Path(__file__).parents[2]
OWNER = """
import sys
sys.path.insert(0, sys.argv[1])
from tests.postgresql.server import server
with server() as mine:
    print(mine.folder, flush=True)
    sys.stdin.read()
"""


pytestmark = pytest.mark.usefixtures("postgresql_server")  # it says if there can be none


@pytest.fixture(scope="module")
def private() -> Iterator[PrivateServer]:
    """A server that nobody else uses."""
    with server() as started:
        yield started


@pytest.fixture
def owner() -> Iterator["subprocess.Popen[str]"]:
    """Another process that has a server, and would keep it."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", OWNER, str(ROOT)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        yield process
        process.kill()


def folder_of(owner: "subprocess.Popen[str]") -> Path:
    assert owner.stdout is not None
    folder = Path(owner.stdout.readline().strip())
    assert (folder / "data/postmaster.pid").exists()
    return folder


def setting(conninfo: str, name: str) -> str:
    with psycopg.connect(conninfo) as connection:
        row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
    assert row is not None
    return str(row[0])


def test_a_database_answers_through_its_url(postgresql_database: str) -> None:
    engine = create_engine(postgresql_database)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT 1 + 1")).scalar_one() == 2
        name = connection.execute(text("SELECT current_database()")).scalar_one()
    engine.dispose()
    assert postgresql_database.endswith(f"/{name}")


def test_a_database_answers_on_its_port_and_through_its_socket(postgresql_server: Server) -> None:
    with postgresql_server.new_database() as database:
        for conninfo in (database.conninfo, database.socket_conninfo):
            assert setting(conninfo, "server_encoding") == "UTF8"


def test_two_databases_are_separate(postgresql_server: Server) -> None:
    with postgresql_server.new_database() as one, postgresql_server.new_database() as other:
        with psycopg.connect(one.conninfo) as connection:
            connection.execute("CREATE TABLE here (number int)")
        with psycopg.connect(other.conninfo) as connection:
            assert connection.execute("SELECT to_regclass('here')").fetchone() == (None,)


def test_a_database_is_dropped_although_somebody_is_connected(postgresql_server: Server) -> None:
    with postgresql_server.new_database() as database:
        left_over = psycopg.connect(database.conninfo)
        left_over.execute("SELECT 1")
    with closing(left_over), pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(database.conninfo)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fsync", "on"),
        ("full_page_writes", "on"),
        ("synchronous_commit", "on"),
        ("max_connections", "200"),
        ("lc_collate", "C"),
        ("listen_addresses", "127.0.0.1"),
    ],
)
def test_the_server_is_set_as_in_production(
    postgresql_server: Server, name: str, value: str
) -> None:
    if name == "lc_collate":  # newer servers have it with the database
        with psycopg.connect(postgresql_server.database().conninfo) as connection:
            query = "SELECT datcollate FROM pg_database WHERE datname = 'template0'"
            assert connection.execute(query).fetchone() == (value,)
    else:
        assert setting(postgresql_server.database().conninfo, name) == value


def test_the_server_does_not_run_as_root(private: PrivateServer) -> None:
    assert (private.folder / "data").stat().st_uid != 0
    assert private.version >= (15, 0)


def test_a_second_user_of_a_run_joins_its_server(tmp_path: Path) -> None:
    with shared_server(tmp_path) as first:
        with shared_server(tmp_path) as second:
            assert (second.folder, second.port) == (first.folder, first.port)
        with psycopg.connect(first.database().conninfo) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
        kept = (first.folder / keeper.KEPT).open()
    wait_for_keeper(kept)
    assert not first.folder.exists()
    assert join(first.folder) is None


def test_a_killed_server_starts_again_with_what_was_committed(private: PrivateServer) -> None:
    with private.new_database() as database:
        with psycopg.connect(database.conninfo) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
        private.kill()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(database.conninfo)
        private.start()
        with psycopg.connect(database.conninfo) as connection:
            assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_nothing_is_left_after_the_end() -> None:
    with server() as started:
        assert (started.folder / "data/PG_VERSION").exists()
    assert not started.folder.exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(started.database().conninfo)


@pytest.mark.parametrize("death", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_if_the_owner_is_killed(
    private: PrivateServer, owner: "subprocess.Popen[str]", death: signal.Signals
) -> None:
    folder = folder_of(owner)
    kept = (folder / keeper.KEPT).open()
    owner.send_signal(death)
    owner.wait()
    wait_for_keeper(kept)
    assert not folder.exists()
    assert private.folder.exists()


def test_what_the_dead_have_left_is_cleared_away_at_the_next_start(
    private: PrivateServer, owner: "subprocess.Popen[str]"
) -> None:
    folder = folder_of(owner)
    os.kill(int((folder / keeper.KEPT).read_text()), signal.SIGKILL)
    owner.kill()
    owner.wait()
    assert keeper.listens(folder / "data")
    with server():
        assert not folder.exists()
        assert private.folder.exists()


def wait_for_keeper(kept: IO[str]) -> None:
    with kept:
        fcntl.flock(kept, fcntl.LOCK_SH)
