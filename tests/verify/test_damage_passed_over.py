"""Damage in one thread stops nothing in the others, whatever is asked for all of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

import turnledger
from turnledger import StoreDamaged

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "UPDATE streams SET state = 'xx' WHERE stream_id = 'thread_queue:b'"
ROW = "UPDATE queued_turns SET created_at = 'no time' WHERE thread_id = 'b'"


def queues(path: Path) -> None:
    with turnledger.open(path) as ledger:
        for thread in ("a", "b", "c"):
            ledger.queue.append_many(thread, [{"n": 1}, {"n": 2}])


def damage(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(statement)


def test_a_damaged_head_row_of_a_thread_that_was_archived_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    queues(path)
    with turnledger.open(path) as ledger:
        ledger.threads.archive("b")
        ledger.threads.unarchive("b")
    damage(path, HEAD)
    with turnledger.open(path) as ledger:
        assert len(ledger.queue.claim_next("worker", limit=9)) == 3
        assert ledger.verify().ok


def test_recovering_all_passes_over_the_thread_that_cant_be_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    queues(path)
    with turnledger.open(path) as ledger:
        assert len(ledger.queue.claim_next("gone", limit=9)) == 3
    damage(path, "UPDATE events SET schema_version = 99 WHERE type = 'none'")
    damage(path, "UPDATE streams SET form = 0 WHERE stream_id = 'thread_queue:b'")
    damage(path, "DROP TRIGGER events_no_update")
    damage(path, "UPDATE events SET schema_version = 99 WHERE stream_id = 'thread_queue:b'")
    with turnledger.open(path) as ledger:
        recovered = ledger.queue.recover(owner="gone")
        assert [turn.thread_id for turn in recovered] == ["a", "c"]


def test_a_thread_with_a_damaged_row_can_be_listed_archived_cleared_and_deleted(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ledger.db"
    queues(path)
    damage(path, ROW)
    with turnledger.open(path) as ledger:
        threads = {thread.thread_id: thread for thread in ledger.threads.list()}
        assert threads["a"].state == "pending"
        assert threads["b"].unreadable is not None
        ledger.threads.archive("b")
        ledger.threads.unarchive("b")
        assert ledger.threads.delete("b").queued_turns == 2


def test_a_lost_claim_whose_event_is_damaged_is_refused_as_lost(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    queues(path)
    with turnledger.open(path) as ledger:
        claim = ledger.queue.claim_head("b", "worker")
        assert claim is not None
        ledger.queue.recover("b", owner="worker")
    damage(path, "DROP TRIGGER events_no_update")
    damage(path, "UPDATE events SET data = '{' WHERE type = 'thread_queue.claimed'")
    with turnledger.open(path) as ledger:
        refused = False
        try:
            ledger.queue.fail(claim, "late")
        except turnledger.ClaimLost:
            refused = True
        assert refused


def test_a_head_row_behind_its_events_is_named_and_stops_no_other_thread(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    queues(path)
    damage(path, "UPDATE streams SET version = 1 WHERE stream_id = 'thread_queue:b'")
    with turnledger.open(path) as ledger:
        with pytest.raises(StoreDamaged, match="doesn't fit its events"):
            ledger.queue.append("b", {})
        ledger.queue.append("a", {})
        assert [finding.where for finding in ledger.verify().findings] == ["streams"]
