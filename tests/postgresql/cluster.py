"""One PostgreSQL server: its data, its port, its start, and its death."""

import os
import random
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.postgresql.binaries import Binaries, Unavailable
from tests.postgresql.keeper import listens

HOST = "127.0.0.1"
SUPERUSER = "postgres"
# Below what systems hand out to clients. A client that calls a dead server's port could be given
# that very port as its own, and would then be connected to itself.
PORTS = range(10_000, 32_000)
TRIES = 5  # another program may take a port between the look and the start
SETTINGS = """
listen_addresses = '{host}'
unix_socket_directories = '{folder}'
max_connections = 200
shared_buffers = 32MB
fsync = on
full_page_writes = on
synchronous_commit = on
"""


class Cluster:
    """A server and its data.

    Attributes:
        data: The data directory.
        log: The file that the server logs to.
        port: Where it listens, also when it is started again.
    """

    def __init__(self, binaries: Binaries, name: str = "data") -> None:
        self._binaries = binaries
        self.data = binaries.folder / name
        self.log = binaries.folder / f"{name}.log"
        self.port = free_port()

    def create(self) -> None:
        """Make an empty database system, in which everybody who can reach it is trusted."""
        self._binaries.run(
            "initdb",
            *("--pgdata", self.data, "--username", SUPERUSER, "--auth", "trust"),
            *("--encoding", "UTF8", "--locale", "C"),
            *("--no-sync", "--no-instructions"),
        )
        with (self.data / "postgresql.conf").open("a") as file:
            file.write(SETTINGS.format(host=HOST, folder=self._binaries.folder))

    def copy(self, source: "Cluster", name: str) -> None:
        """Become a standby: take a copy of a running server, which knows the standby by a name."""
        if self.data.exists():
            shutil.rmtree(self.data)
        self._binaries.run(
            "pg_basebackup",
            *("--dbname", f"{source.conninfo('postgres')} application_name={name}"),
            *("--pgdata", self.data, "--checkpoint", "fast", "--wal-method", "stream"),
            *("--write-recovery-conf", "--create-slot", "--slot", name, "--no-sync"),
        )

    def start(self) -> None:
        """Start it, and wait until it takes connections.

        Raises:
            Unavailable: It doesn't start; the end of its log is in the error.
        """
        options = ("--pgdata", self.data, "--log", self.log, "--options", f"-p {self.port}")
        try:
            self._binaries.run("pg_ctl", "start", "--wait", "--silent", *options)
        except Unavailable as error:
            said = self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""
            raise Unavailable(f"{error}\n{said}") from None

    def start_anywhere(self) -> None:
        """Start it for the first time, on another port if its own was taken meanwhile."""
        for _ in range(TRIES - 1):
            with suppress(Unavailable):
                return self.start()
            self.port = free_port()
        return self.start()

    def kill(self) -> None:
        """Kill its processes, as a crash of the machine would."""
        lines = (self.data / "postmaster.pid").read_text().split("\n")
        postmaster, shared_memory = int(lines[0]), lines[6].split()[-1]
        os.kill(postmaster, signal.SIGSTOP)  # once it has stopped, there won't be another child
        stopped, children = False, [0]
        while children or not stopped:
            found = list(processes())
            stopped = any(one.id == postmaster and one.stopped for one in found)
            children = [one.id for one in found if one.parent == postmaster and one.lives]
            for child in children:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
        os.kill(postmaster, signal.SIGKILL)
        while listens(self.data):
            pass
        for left_over in (self.data / "postmaster.pid", self._socket_lock):
            left_over.unlink()  # nobody may have buried the process yet: its id would count
        if remover := shutil.which("ipcrm"):  # the one thing that the system keeps of the dead
            subprocess.run([remover, "-m", shared_memory], check=False, capture_output=True)

    @property
    def _socket_lock(self) -> Path:
        return self.data.parent / f".s.PGSQL.{self.port}.lock"

    def conninfo(self, database: str) -> str:
        """How libpq connects to a database."""
        return f"host={HOST} port={self.port} user={SUPERUSER} dbname={database}"


class Process(NamedTuple):
    """A process of this machine."""

    id: int
    parent: int
    state: str

    @property
    def lives(self) -> bool:
        """Whether it is more than an entry that its parent hasn't read yet."""
        return self.state[0] not in "ZX"

    @property
    def stopped(self) -> bool:
        """Whether it was told to stand still, and does."""
        return self.state[0] in "Tt"


def processes(system: Path = Path("/proc")) -> Iterator[Process]:
    """All processes, as the system's files list them, or `ps` where there are none."""
    if (system / "self/stat").exists():
        for path in system.glob("[0-9]*/stat"):
            with suppress(OSError):  # it has ended meanwhile
                state, parent, *_ = path.read_text().rpartition(")")[2].split()
                yield Process(int(path.parent.name), int(parent), state)
        return
    command = ["ps", "-A", "-o", "pid=,ppid=,stat="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        process, parent, state = line.split()
        yield Process(int(process), int(parent), state)


def free_port() -> int:
    """A port on which nothing listens."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with suppress(OSError):
                probe.bind((HOST, port))
                return port
