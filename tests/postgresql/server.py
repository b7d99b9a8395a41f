"""A private PostgreSQL server for tests, and databases in it.

It stores durably, as one in production does. Whatever becomes of the processes that use it, it is
stopped and removed: see keeper.py.
"""

import fcntl
import json
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg

from tests.postgresql import keeper, lending
from tests.postgresql.binaries import (
    Account,
    Binaries,
    find,
    other_account,
    unavailable_if_the_system_refuses,
)
from tests.postgresql.cluster import HOST, SUPERUSER, Cluster
from tests.postgresql.place import Place, join, new_place


class Database(NamedTuple):
    """How to reach a database.

    Attributes:
        url: For SQLAlchemy.
        conninfo: For libpq and psycopg.
        socket_conninfo: The same, through the server's socket.
    """

    url: str
    conninfo: str
    socket_conninfo: str


class Server:
    """A running server, seen from outside.

    Attributes:
        port: Its port on 127.0.0.1.
        folder: Where all that belongs to it is, its socket too.
    """

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self._free: list[str] = []
        self._schema = ""

    def database(self, name: str = "postgres") -> Database:
        """How to reach a database that is there."""
        rest = f"port={self.port} user={SUPERUSER} dbname={name}"
        return Database(
            f"postgresql+psycopg://{SUPERUSER}@{HOST}:{self.port}/{name}",
            f"host={HOST} {rest}",
            f"host={self.folder} {rest}",
        )

    @contextmanager
    def new_database(self, template: str = "template0") -> Generator[Database]:
        """A copy of a database, dropped at the end, whoever is still connected to it."""
        name = f"test_{secrets.token_hex(8)}"
        self._execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY wal_log")
        try:
            yield self.database(name)
        finally:
            self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    @contextmanager
    def lent_database(self, template: str) -> Generator[Database]:
        """Likewise a copy of a database without any rows; others have used it, and will."""
        if self._free:
            name = self._free.pop()
        else:
            name = f"lent_{secrets.token_hex(8)}"
            self._execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY wal_log")
            self._schema = self._schema or lending.schema(self.database(name).conninfo)
        try:
            yield self.database(name)
        finally:
            if lending.emptied(self.database(name).conninfo, self._schema):
                self._free.append(name)
            else:
                self._execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _execute(self, statement: str) -> None:
        with psycopg.connect(self.database().conninfo, autocommit=True) as connection:
            connection.execute(statement.encode())


class PrivateServer(Server):
    """A running server that nobody else uses, so that a test may kill it.

    Attributes:
        cluster: The server from inside: its data, its log.
        version: Major and minor.
    """

    def __init__(self, cluster: Cluster, version: tuple[int, int]) -> None:
        super().__init__(cluster.data.parent, cluster.port)
        self.cluster = cluster
        self.version = version

    def kill(self) -> None:
        """Kill all of its processes."""
        self.cluster.kill()

    def start(self) -> None:
        """Start it again, on the same port."""
        self.cluster.start()


@contextmanager
def server() -> Generator[PrivateServer]:
    """A server of one's own; at the end it is stopped, and its folder gone.

    Raises:
        Unavailable: None can be started here.
    """
    place, started = _started()
    try:
        yield started
    finally:
        place.leave(wait=True)


@contextmanager
def shared_server(run_folder: Path) -> Generator[Server]:
    """The server of a test run: the first process that wants it starts it, the others join.

    Args:
        run_folder: A folder that the processes of the run have in common.

    Raises:
        Unavailable: None can be started here.
    """
    note = run_folder / "postgresql.json"
    with (run_folder / "postgresql.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        place, found = _joined(note) or _started()
        note.write_text(json.dumps({"folder": str(found.folder), "port": found.port}))
    try:
        yield found
    finally:
        place.leave()


def binaries_at(place: Place, account: Account | None) -> Binaries:
    """The programs for servers at a place; its keeper learns which one stops them."""
    binaries = find(place.folder, account)
    (place.folder / keeper.CONTROL).symlink_to(binaries.bin / "pg_ctl")
    return binaries


def _joined(note: Path) -> tuple[Place, Server] | None:
    """The server of a note, if it is still there."""
    if not note.exists():
        return None
    noted = json.loads(note.read_text())
    found = Server(Path(noted["folder"]), noted["port"])
    place = join(found.folder)
    return None if place is None else (place, found)


def _started() -> tuple[Place, PrivateServer]:
    """A new server."""
    with unavailable_if_the_system_refuses():
        account = other_account()
        place = new_place(account)
        try:
            binaries = binaries_at(place, account)
            cluster = Cluster(binaries)
            cluster.create()
            cluster.start_anywhere()
        except BaseException:
            place.leave(wait=True)
            raise
    return place, PrivateServer(cluster, binaries.version)
