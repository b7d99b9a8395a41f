"""The write-ahead log: bounded, copied beside readers, never at the cost of a command."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import turnledger
from turnledger.domain.settings import Settings
from turnledger.infrastructure import write_ahead_log
from turnledger.infrastructure.sqlite import SqliteStore
from turnledger.infrastructure.write_ahead_log import LARGEST_LOG_BYTES, WriteAheadLog

IMPATIENT = Settings(busy_timeout=timedelta(milliseconds=20))
INSERT = (
    "INSERT INTO events (stream_id, version, type, schema_version, data, metadata, recorded_at, "
    "hash) VALUES ('test:1', 1, 'test.noted', 1, '{}', '{}', 0, x'00')"
)


def test_the_log_stays_bounded_however_much_is_written(path: Path) -> None:
    settings = Settings(max_visible_turns=10_000, synchronous="NORMAL")
    with turnledger.open(path, settings=settings) as ledger:
        store = ledger._backend.store
        largest = 0
        for _ in range(400):
            ledger.queue.append("thread", {"text": "x" * 100_000})
            largest = max(largest, store.log.bytes())

    assert path.stat().st_size > 40_000_000
    assert largest <= 2 * LARGEST_LOG_BYTES  # what doctor finds fault with


def test_the_log_stays_bounded_when_every_submission_is_as_large_as_it_may_be(path: Path) -> None:
    settings = Settings(synchronous="NORMAL")
    with turnledger.open(path, settings=settings) as ledger:
        store = ledger._backend.store
        largest = 0
        for _ in range(60):
            ledger.queue.append("thread", {"text": "x" * 1_000_000})
            largest = max(largest, store.log.bytes())

    assert largest <= 2 * LARGEST_LOG_BYTES


def test_a_checkpoint_goes_on_beside_a_reader_and_a_later_one_makes_up_for_it(
    store: SqliteStore,
) -> None:
    with closing(sqlite3.connect(store.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchone()
        with store.writing() as cursor:
            cursor.execute(INSERT)
        store.log.checkpoint(store.held())
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (0,)
        reader.execute("COMMIT")

    store.log.checkpoint(store.held())
    with closing(sqlite3.connect(f"file:{store.path}?immutable=1", uri=True)) as without_log:
        assert without_log.execute("SELECT count(*) FROM events").fetchone() == (1,)


def test_a_checkpoint_that_cannot_be_made_does_not_fail_the_command_before_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_ahead_log, "LOOK_COMMITS", 1)
    monkeypatch.setattr(write_ahead_log, "CHECKPOINT_COMMITS", 1)
    with turnledger.open(path, settings=IMPATIENT) as ledger:
        with closing(sqlite3.connect(path, isolation_level=None)) as rival:
            checkpoint: Any = WriteAheadLog.checkpoint

            def after_a_rival(*arguments: object) -> None:
                rival.execute("BEGIN IMMEDIATE")
                checkpoint(*arguments)

            monkeypatch.setattr(WriteAheadLog, "checkpoint", after_a_rival)
            turn = ledger.queue.append("thread", {})

        assert ledger.queue.list("thread") == [turn]


def test_a_closed_ledger_leaves_no_log_behind(path: Path) -> None:
    with turnledger.open(path) as ledger:
        ledger.queue.append("thread", {})
        assert Path(f"{path}-wal").exists()

    assert sorted(file.name for file in path.parent.iterdir()) == [path.name]
