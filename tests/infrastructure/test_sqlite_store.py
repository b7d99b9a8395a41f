"""The store on SQLite: its settings, its events table, its transactions."""

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import pytest

import turnledger
from turnledger.domain.settings import Settings
from turnledger.infrastructure import sqlite
from turnledger.infrastructure.migration import migrate
from turnledger.infrastructure.sqlite import SqliteStore
from turnledger.infrastructure.write_ahead_log import LARGEST_LOG_BYTES

Program = Callable[..., "subprocess.Popen[str]"]

IMPATIENT = Settings(busy_timeout=timedelta(milliseconds=20))
INSERT = (
    "INSERT INTO events (stream_id, version, type, schema_version, data, metadata, recorded_at, "
    "hash) VALUES ('test:1', 1, 'test.noted', 1, '{}', '{}', 0, x'00')"
)
CLOSE_BESIDE_READERS = """
import sys, threading
from pathlib import Path
from turnledger import LedgerError, Settings
from turnledger.infrastructure.sqlite import SqliteStore

def read(store, going, stop):
    while not stop.is_set():
        try:
            with store.reading() as cursor:
                cursor.execute("SELECT * FROM events").fetchall()
        except LedgerError:
            pass
        going.set()

for _ in range(30):
    store = SqliteStore(Path(sys.argv[1]), Settings())
    going, stop = [threading.Event() for _ in range(3)], threading.Event()
    readers = [threading.Thread(target=read, args=(store, one, stop)) for one in going]
    for reader, one in zip(readers, going):
        reader.start()
        one.wait()
    store.close()
    stop.set()
    for reader in readers:
        reader.join()
    store.close()
print("went on")
"""


def pragma(store: SqliteStore, name: str) -> object:
    with store.reading() as cursor:
        return cursor.execute(f"PRAGMA {name}").fetchone()[0]


def count(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        found: int = connection.execute("SELECT count(*) FROM events").fetchone()[0]
        return found


def open_descriptors(path: Path) -> int:
    folder = Path("/proc/self/fd")
    return sum(os.path.realpath(link).startswith(str(path)) for link in folder.iterdir())


# --- settings of a connection


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("journal_mode", "wal"),
        ("mmap_size", 0),
        ("wal_autocheckpoint", 0),
        ("trusted_schema", 0),
        ("busy_timeout", 5000),
        ("journal_size_limit", LARGEST_LOG_BYTES),
    ],
)
def test_a_connection_is_set_up_so_that_nothing_can_corrupt_it(
    store: SqliteStore, name: str, value: object
) -> None:
    assert pragma(store, name) == value


def test_the_connection_of_another_thread_is_set_up_likewise(store: SqliteStore) -> None:
    names = ("mmap_size", "wal_autocheckpoint", "synchronous")
    with ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: [pragma(store, name) for name in names]).result() == [0, 0, 2]


@pytest.mark.parametrize(("word", "number"), [("NORMAL", 1), ("FULL", 2), ("EXTRA", 3)])
def test_a_commit_is_as_durable_as_it_was_asked_to_be(path: Path, word: str, number: int) -> None:
    settings = Settings.model_validate({"synchronous": word})
    with closing(SqliteStore(path, settings)) as store:
        assert pragma(store, "synchronous") == number


def test_on_a_shared_file_system_there_is_no_write_ahead_log(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "shared_file_system", lambda _path: "nfs4")

    with closing(SqliteStore(path, Settings())) as store:
        migrate(store)
        assert (pragma(store, "journal_mode"), pragma(store, "synchronous")) == ("delete", 3)
        store.log.checkpoint(store.held())
        assert store.log.bytes() == 0


# --- the events table


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET data = '[]'",
        "DELETE FROM events",
        INSERT.replace("INSERT", "INSERT OR REPLACE"),
    ],
)
def test_events_can_only_be_added(store: SqliteStore, statement: str) -> None:
    with store.writing() as cursor:
        cursor.execute(INSERT)

    with pytest.raises(turnledger.StoreError, match="append-only"), store.writing() as cursor:
        cursor.execute(statement)

    with store.reading() as cursor:
        assert cursor.execute("SELECT position, data FROM events").fetchall() == [(1, "{}")]


@pytest.mark.parametrize("statement", ["UPDATE events SET data = '[]'", "DELETE FROM events"])
def test_another_program_cannot_change_events_either(store: SqliteStore, statement: str) -> None:
    with store.writing() as cursor:
        cursor.execute(INSERT)

    with closing(sqlite3.connect(store.path)) as other:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            other.execute(statement)
        other.rollback()


# --- transactions


def test_what_raises_inside_a_transaction_leaves_nothing_of_it(store: SqliteStore) -> None:
    def fail() -> None:
        with store.writing() as cursor:
            cursor.execute(INSERT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert count(store.path) == 0


def test_an_interrupt_inside_a_transaction_leaves_it_closed_and_the_lock_free(
    store: SqliteStore,
) -> None:
    def insert(*, interrupted: bool) -> None:
        with store.writing() as cursor:
            cursor.execute(INSERT)
            if interrupted:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        insert(interrupted=True)

    assert not store.held().driver.in_transaction
    with ThreadPoolExecutor(1) as other:
        other.submit(insert, interrupted=False).result()
    assert count(store.path) == 1


def test_an_interrupt_inside_a_command_leaves_nothing_of_it(path: Path) -> None:
    pressed = False

    def clock() -> datetime:  # it is read inside the transaction
        if pressed:
            signal.raise_signal(signal.SIGINT)
        return datetime.now(UTC)

    with turnledger.open(path, clock=clock, settings=IMPATIENT) as ledger:
        ledger.queue.append("thread", {})
        pressed = True
        with pytest.raises(KeyboardInterrupt):
            ledger.queue.append("thread", {})
        pressed = False

        with ThreadPoolExecutor(1) as other:
            other.submit(ledger.queue.append, "thread", {}).result()
        assert [turn.queue_order for turn in ledger.queue.list("thread")] == [0, 1]


def test_eight_threads_write_a_hundred_turns_each_and_none_is_lost(path: Path) -> None:
    settings = Settings(max_visible_turns=1000, synchronous="NORMAL")
    with turnledger.open(path, settings=settings) as ledger:

        def append(worker: int) -> list[str]:
            return [
                ledger.queue.append("thread", {"worker": worker, "n": n}).queued_turn_id
                for n in range(100)
            ]

        with ThreadPoolExecutor(8) as pool:
            appended = list(pool.map(append, range(8)))

        turns = ledger.queue.list("thread")
        assert [turn.queue_order for turn in turns] == list(range(800))
        assert {turn.queued_turn_id for turn in turns} == {i for ids in appended for i in ids}
        for worker, ids in enumerate(appended):
            own = [t.queued_turn_id for t in turns if (t.submission or {})["worker"] == worker]
            assert own == ids


def test_the_connection_of_a_thread_goes_with_the_thread(store: SqliteStore) -> None:
    def use() -> None:
        with store.writing():
            pass

    def in_new_threads(times: int) -> int:
        for _ in range(times):
            thread = Thread(target=use)
            thread.start()
            thread.join()
        return open_descriptors(store.path)

    assert in_new_threads(50) == in_new_threads(5)


def test_closing_beside_reading_threads_does_not_end_the_process(
    store: SqliteStore, program: Program
) -> None:
    with store.writing() as cursor:
        for version in range(100):
            cursor.execute(INSERT.replace("'test:1', 1", f"'test:1', {version}"))

    child = program(CLOSE_BESIDE_READERS, store.path)

    printed, _ = child.communicate()
    assert (child.returncode, printed) == (0, "went on\n")
