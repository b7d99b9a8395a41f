"""What the database may do to a store, and what a caller is told of it."""

import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import turnledger
from turnledger import Claim, Ledger, Settings
from turnledger.infrastructure import sqlite
from turnledger.infrastructure.failures import translated
from turnledger.infrastructure.sqlite import SqliteStore

Program = Callable[..., "subprocess.Popen[str]"]

IMPATIENT = Settings(busy_timeout=timedelta(milliseconds=20))
HOLD_THE_WRITE_LOCK = """
import sqlite3, sys
holder = sqlite3.connect(sys.argv[1], isolation_level=None)
holder.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
holder.execute("COMMIT")
holder.close()
"""
CLAIM = Claim(thread_id="thread", owner="worker", epoch=1, generation="-", queued_turn_id="turn-1")
CALLS: dict[str, Callable[[Ledger], object]] = {
    "append": lambda ledger: ledger.queue.append("thread", {}),
    "append_many": lambda ledger: ledger.queue.append_many("thread", [{}], idempotency_key="key"),
    "list": lambda ledger: ledger.queue.list("thread"),
    "get": lambda ledger: ledger.queue.get("thread", "turn-1"),
    "edit": lambda ledger: ledger.queue.edit("thread", "turn-1", {}),
    "delete": lambda ledger: ledger.queue.delete("thread", "turn-1"),
    "clear": lambda ledger: ledger.queue.clear("thread"),
    "reorder": lambda ledger: ledger.queue.reorder("thread", ["turn-1"]),
    "claim_head": lambda ledger: ledger.queue.claim_head("thread", "worker"),
    "claim_next": lambda ledger: ledger.queue.claim_next("worker"),
    "renew": lambda ledger: ledger.queue.renew(CLAIM),
    "release": lambda ledger: ledger.queue.release(CLAIM),
    "start_dispatch": lambda ledger: ledger.queue.start_dispatch(CLAIM, "dispatch-1"),
    "ack_dispatch": lambda ledger: ledger.queue.ack_dispatch("thread", "dispatch-1"),
    "retry": lambda ledger: ledger.queue.retry("thread", "turn-1"),
    "pause": lambda ledger: ledger.queue.pause("thread", "reason"),
    "why_blocked": lambda ledger: ledger.queue.why_blocked("thread"),
    "recover": lambda ledger: ledger.queue.recover(),
    "fail_in_flight": lambda ledger: ledger.queue.fail_in_flight("thread", "reason"),
    "wait_for_change": lambda ledger: ledger.wait_for_change(since=0, timeout=0),
}


@contextmanager
def write_lock_held(program: Program, path: Path) -> Iterator["subprocess.Popen[str]"]:
    holder = program(HOLD_THE_WRITE_LOCK, path)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    yield holder
    holder.communicate("let go\n")


def other_ledger(path: Path) -> Path:
    """A second ledger beside the first one."""
    other = path.with_name("other.db")
    with turnledger.open(other) as ledger:
        ledger.queue.append("thread", {"of": "the other"})
    return other


# --- busy


def test_a_busy_database_is_unavailable_once_patience_is_over(path: Path, program: Program) -> None:
    with turnledger.open(path, settings=IMPATIENT) as ledger:
        with (
            write_lock_held(program, path),
            pytest.raises(turnledger.StoreUnavailable, match="locked") as caught,
        ):
            ledger.queue.append("thread", {})
        assert caught.value.retryable

        ledger.queue.append("thread", {})
        assert len(ledger.queue.list("thread")) == 1


def test_a_busy_database_can_be_read(path: Path, program: Program) -> None:
    with turnledger.open(path, settings=IMPATIENT) as ledger:
        turn = ledger.queue.append("thread", {})
        with write_lock_held(program, path):
            assert ledger.queue.list("thread") == [turn]


def test_a_busy_database_is_waited_for(path: Path, program: Program) -> None:
    with turnledger.open(path) as ledger, ThreadPoolExecutor(1) as other:
        with write_lock_held(program, path):
            waiting = other.submit(ledger.queue.append, "thread", {})
            assert ledger.queue.list("thread") == []

        turn = waiting.result()
        assert ledger.queue.list("thread") == [turn]


def test_the_other_threads_of_a_process_are_waited_for_no_longer(path: Path) -> None:
    with turnledger.open(path, settings=IMPATIENT) as ledger, ThreadPoolExecutor(1) as other:
        with ledger._backend.store.writing():
            refused = other.submit(ledger.queue.append, "thread", {})
            assert isinstance(refused.exception(), turnledger.StoreUnavailable)

        assert other.submit(ledger.queue.list, "thread").result() == []


# --- full


def test_a_full_disk_refuses_writing_keeps_reading_and_goes_away(path: Path) -> None:
    with turnledger.open(path) as ledger:
        turn = ledger.queue.append("thread", {})
        with ledger._backend.store.reading() as cursor:
            pages = cursor.execute("PRAGMA page_count").fetchone()[0]
            cursor.execute(f"PRAGMA max_page_count={pages}").fetchall()
        with pytest.raises(turnledger.StoreFull) as caught:
            ledger.queue.append("thread", {"text": "x" * 100_000})
        assert caught.value.retryable
        assert ledger.queue.list("thread") == [turn]

        with ledger._backend.store.reading() as cursor:
            cursor.execute(f"PRAGMA max_page_count={pages * 100}").fetchall()
        ledger.queue.append("thread", {"text": "x" * 100_000})
        assert len(ledger.queue.list("thread")) == 2


# --- replaced


@pytest.fixture
def _suspicious(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the path before every command, not just twice a second."""
    monkeypatch.setattr(sqlite, "FILE_CHECK_SECONDS", -1.0)


@pytest.mark.usefixtures("_suspicious")
def test_a_ledger_whose_file_was_replaced_is_not_written(path: Path) -> None:
    orphan = path.with_name("orphan.db")
    with turnledger.open(path) as ledger:
        ledger.queue.append("thread", {})
        orphan.hardlink_to(path)
        other_ledger(path).replace(path)

        with pytest.raises(turnledger.StoreReplaced, match="another file") as caught:
            ledger.queue.append("thread", {})
        assert not caught.value.retryable
        with pytest.raises(turnledger.StoreReplaced):
            ledger.queue.append("thread", {})
        with pytest.raises(turnledger.StoreReplaced):
            ledger.queue.list("thread")


@pytest.mark.usefixtures("_suspicious")
def test_a_ledger_whose_file_was_deleted_is_not_written(path: Path) -> None:
    with turnledger.open(path) as ledger:
        ledger.queue.append("thread", {})
        path.unlink()

        with pytest.raises(turnledger.StoreReplaced, match="gone"):
            ledger.queue.append("thread", {})
        assert not path.exists()


def test_a_ledger_whose_file_was_replaced_before_its_first_command_is_not_written(
    made: Path,
) -> None:
    with turnledger.open(made) as ledger:
        other_ledger(made).replace(made)

        with pytest.raises(turnledger.StoreReplaced):
            ledger.queue.append("thread", {})


def test_a_thread_that_comes_later_is_not_given_the_other_file(made: Path) -> None:
    with turnledger.open(made) as ledger, ThreadPoolExecutor(1) as other:
        ledger.queue.append("thread", {})
        other_ledger(made).replace(made)

        reading = other.submit(ledger.queue.list, "thread")
        assert isinstance(reading.exception(), turnledger.StoreReplaced)
        writing = other.submit(ledger.queue.append, "thread", {})
        assert isinstance(writing.exception(), turnledger.StoreReplaced)


def test_a_checkpoint_looks_at_the_path_whenever_it_was_last_looked_at(path: Path) -> None:
    with turnledger.open(path) as ledger:
        ledger.queue.append("thread", {})
        store: SqliteStore = ledger._backend.store
        other_ledger(path).replace(path)

        with pytest.raises(turnledger.StoreReplaced):
            store.log.checkpoint(store.held())


# --- damaged, or out of reach


def test_a_file_whose_pages_are_damaged_says_so(path: Path) -> None:
    with turnledger.open(path) as ledger:
        ledger.queue.append_many("thread", [{"text": "x" * 5000}] * 50)
    content = bytearray(path.read_bytes())
    content[4096 * 2 :] = b"\xa5" * (len(content) - 4096 * 2)
    path.write_bytes(content)

    with pytest.raises(turnledger.StoreDamaged), turnledger.open(path) as ledger:
        ledger.queue.list("thread")


@pytest.mark.parametrize("where", ["missing/ledger.db", "."])
def test_a_path_that_cannot_be_a_file_is_unavailable(tmp_path: Path, where: str) -> None:
    with pytest.raises(turnledger.StoreUnavailable):
        turnledger.open(tmp_path / where)


@pytest.mark.parametrize("table", ["events", "streams", "queued_turns", "dispatches"])
@pytest.mark.parametrize("call", CALLS)
def test_whatever_is_missing_no_exception_of_a_driver_comes_through(
    made: Path, call: str, table: str
) -> None:
    with turnledger.open(made, settings=IMPATIENT) as ledger:
        with closing(sqlite3.connect(made)) as other:
            other.execute(f"DROP TABLE {table}")

        assert outcome(CALLS[call], ledger) in ("came through", "LedgerError")


@pytest.mark.parametrize("call", CALLS)
def test_a_closed_ledger_raises_no_exception_of_a_driver(made: Path, call: str) -> None:
    with turnledger.open(made, settings=IMPATIENT) as ledger:
        ledger.queue.append("thread", {}, queued_turn_id="turn-1")
    try:
        assert outcome(CALLS[call], ledger) in ("came through", "LedgerError")
    finally:
        ledger.close()


def outcome(call: Callable[[Ledger], object], ledger: Ledger) -> str:
    try:
        call(ledger)
    except turnledger.LedgerError:
        return "LedgerError"
    except Exception as error:  # noqa: BLE001 - whatever comes is named by the test
        return f"{type(error).__module__}.{type(error).__qualname__}: {error}"
    return "came through"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("SQLITE_BUSY", turnledger.StoreUnavailable),
        ("SQLITE_BUSY_SNAPSHOT", turnledger.StoreUnavailable),
        ("SQLITE_LOCKED", turnledger.StoreUnavailable),
        ("SQLITE_CANTOPEN", turnledger.StoreUnavailable),
        ("SQLITE_IOERR_FSYNC", turnledger.StoreUnavailable),
        ("SQLITE_FULL", turnledger.StoreFull),
        ("SQLITE_READONLY", turnledger.StoreReadOnly),
        ("SQLITE_READONLY_DBMOVED", turnledger.StoreReadOnly),
        ("SQLITE_CORRUPT_VTAB", turnledger.StoreDamaged),
        ("SQLITE_NOTADB", turnledger.StoreDamaged),
        ("SQLITE_MISUSE", turnledger.StoreError),
    ],
)
def test_what_sqlite_says_has_a_word_of_turnledger(
    code: str, kind: type[turnledger.StoreError]
) -> None:
    error: Any = sqlite3.OperationalError("it says no")
    error.sqlite_errorcode = getattr(sqlite3, code)

    said = translated(error, "sqlite:///ledger.db")

    assert type(said) is kind
    assert "sqlite:///ledger.db" in str(said)
    assert str(said).endswith("it says no")
