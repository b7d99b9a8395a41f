"""What a ledger writes, statement by statement and then write by write.

The statements of a real ledger on a real file are taken down, with their pragmas and checkpoints.
They are then run again by apsw, whose SQLite writes through a file system of ours that takes down
every write, sync, truncation and removal. (The store's own SQLite can't be told to do so.)
"""

import itertools
import sqlite3
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

import apsw

from turnledger import Ledger, Settings
from turnledger.infrastructure import sqlite_connection, write_ahead_log
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.clock import host_clock
from turnledger.infrastructure.migration import migrate
from turnledger.infrastructure.sqlite import SqliteStore

CHECKPOINT_COMMITS = 12  # so that some fall into a short recording
_numbers = itertools.count()
READS = ("SELECT", "WITH", "--")


class Setting(NamedTuple):
    """How a store writes.

    Attributes:
        name: For people.
        synchronous: The setting.
        shared: The name of a file system without shared memory, or None.
        late: It is made a ledger with a log without synchronous=EXTRA before, as it must not be.
    """

    name: str
    synchronous: Literal["EXTRA", "FULL", "NORMAL"]
    shared: str | None = None
    late: bool = False


WAL_FULL = Setting("WAL, FULL", "FULL")
DELETE_EXTRA = Setting("rollback journal, EXTRA", "FULL", "nfs")
WAL_NORMAL = Setting("WAL, NORMAL", "NORMAL")
WAL_LATE = Setting("WAL, FULL, switched to under FULL", "FULL", late=True)


class Write(NamedTuple):
    """Something that was asked of the file system.

    Attributes:
        kind: create, write, truncate, sync, remove, or acknowledged (a commit, to the caller).
        file: "" is the database, "-wal" its log, and so on.
        place: The offset; of a truncation the size; of a removal whether its folder was synced;
            of an acknowledgement how many events there are.
        data: What is written.
    """

    kind: str
    file: str
    place: int = 0
    data: bytes = b""


class Recording(NamedTuple):
    """A run.

    Attributes:
        writes: In their order.
        hashes: Of the events, in the order of their positions.
    """

    writes: list[Write]
    hashes: list[bytes]


class _Traced(SqliteStore):
    """A store whose statements are taken down, with the number of their connection."""

    def __init__(self, path: Path, setting: Setting) -> None:
        self.statements: list[tuple[int, str]] = []
        self._setting, self._count = setting, 0
        super().__init__(path, Settings(synchronous=setting.synchronous))
        self.shared = setting.shared

    def connect(self) -> sqlite3.Connection:
        driver = super().connect()
        self._count += 1
        number = self._count
        pragmas = sqlite_connection._pragmas(
            self.settings, read_only=False, shared=self._setting.shared
        )
        if self._setting.late:
            pragmas.remove("synchronous=EXTRA")
        self.statements += [(number, f"PRAGMA {pragma}") for pragma in pragmas]
        driver.set_trace_callback(lambda sql: self.statements.append((number, sql)))
        return driver


def _work(ledger: Ledger, random: Random, commands: int) -> None:
    """Commands of a queue, large and small."""
    for number in range(commands):
        thread = f"thread {random.randrange(3)}"
        text = "x" * random.choice((10, 200, 3_000))
        ledger.queue.append(thread, {"n": number, "text": text}, idempotency_key=f"key {number}")
        for claim in ledger.queue.claim_next("owner", limit=2) if random.random() < 0.4 else ():
            ledger.queue.start_dispatch(claim, f"dispatch {claim.epoch}")
            ledger.queue.ack(claim)


def recorded(folder: Path, setting: Setting, seed: int, commands: int = 25) -> Recording:
    """Let a ledger be made and worked with, and take down what is asked of the file system."""
    usual = write_ahead_log.CHECKPOINT_COMMITS, write_ahead_log.LOOK_COMMITS
    write_ahead_log.CHECKPOINT_COMMITS = write_ahead_log.LOOK_COMMITS = CHECKPOINT_COMMITS
    store = _Traced(folder / f"traced {next(_numbers)}.db", setting)
    try:
        migrate(store)
        _work(Ledger(Backend(store, host_clock, store.settings)), Random(seed), commands)
        with store.reading() as cursor:
            rows = cursor.execute("SELECT hash FROM events ORDER BY position").fetchall()
    finally:
        store.close()
        write_ahead_log.CHECKPOINT_COMMITS, write_ahead_log.LOOK_COMMITS = usual
    return Recording(_run_again(folder, store.statements), [bytes(row[0]) for row in rows])


def _run_again(folder: Path, statements: list[tuple[int, str]]) -> list[Write]:
    """Run statements on a file system that takes down what is asked of it."""
    name = f"recording {next(_numbers)}"
    path = folder / f"{name}.db"
    disk = _Disk(name, str(path))
    connections: dict[int, Any] = {}
    for number, sql in statements:
        if sql.lstrip().upper().startswith(READS):
            continue
        if number not in connections:
            connections[number] = apsw.Connection(str(path), vfs=name)
        connection = connections[number]
        connection.execute(sql).fetchall()
        if sql == "COMMIT":
            disk.writes.append(Write("acknowledged", "", _events(connection)))
        if sql.startswith("PRAGMA wal_checkpoint"):
            connection.close()
            del connections[number]
    writes = list(disk.writes)
    for connection in connections.values():
        connection.close()
    disk.unregister()
    return writes


def _events(connection: Any) -> int:
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'events'").fetchone() is None:
        return 0
    count: int = connection.execute("SELECT count(*) FROM events").fetchone()[0]
    return count


class _Disk(apsw.VFS):
    """Takes down what SQLite asks of the file system, and does it."""

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path, self.writes = name, path, list[Write]()
        super().__init__(name, "")

    def told(self, name: Any) -> str | None:
        """The part of a file's name behind the database's; None of others and of shared memory."""
        text = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        tail = text.removeprefix(self.path)
        return None if (tail == text and text != self.path) or tail == "-shm" else tail

    def xOpen(self, name: Any, flags: list[int]) -> "_File":  # noqa: N802 - SQLite's own names
        tail = None if name is None else self.told(name)
        return _File(self, name, flags, tail)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: FBT001, N802
        super().xDelete(filename, syncdir)
        tail = self.told(filename)
        if tail is not None:
            self.writes.append(Write("remove", tail, int(syncdir)))


class _File(apsw.VFSFile):
    """One of the files."""

    def __init__(self, disk: _Disk, name: Any, flags: list[int], tail: str | None) -> None:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        is_new = path is not None and not Path(path).exists()
        self._disk, self._tail = disk, tail
        super().__init__("", name, flags)
        if tail is not None and is_new:
            disk.writes.append(Write("create", tail))

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        if self._tail is not None:
            self._disk.writes.append(Write("write", self._tail, offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        if self._tail is not None:
            self._disk.writes.append(Write("truncate", self._tail, newsize))

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        if self._tail is not None:
            self._disk.writes.append(Write("sync", self._tail))
