"""Histories that break a rule that must hold, always: verify names the event that broke it.

An event is appended by hand, chained as it ought to be, so that nothing but the rule tells.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.verify.conftest import File

END = "2026-01-05T09:02:00Z"
BUSY, FLYING, LATER = "thread_queue:busy", "thread_queue:flying", "thread_queue:later"
APPENDED = {"queued_turn_id": "new", "queue_order": 9, "submission": {}, "created_at": END}
HELD = {"owner": "forger", "epoch": 1}
CLAIMED = {"queued_turn_id": "later 0", "expires_at": END, "claims": 1, **HELD}
STARTED = {"queued_turn_id": "flying 0", "dispatch_id": "new", "owner": "worker", "epoch": 1}
ACKED = {"dispatch_id": "third", "epoch": 1}
RESOLVED = {"decision": "acked", "by": "forger"}
RENEWED = {"epoch": 2, "expires_at": END}
FAILED = {"epoch": 2, "failure": "no"}
DISPATCHED = {**FAILED, "queued_turn_id": "flying 0", "epoch": 1, "dispatch_id": "third"}
CLEARED = {"queued_turn_ids": ["flying 1", "flying 2", "flying 3"], "in_flight_id": "flying 0"}
MOVED = {"first_order": 2}


ALLOWED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "appended": (BUSY, "appended", {**APPENDED, "queue_order": 4}),
    "claimed": (LATER, "claimed", CLAIMED),
    "acked": (FLYING, "acked", {**ACKED, "queued_turn_id": "flying 0"}),
    "failed": (FLYING, "failed", DISPATCHED),
    "cleared": (FLYING, "cleared", {**CLEARED, "dispatch_id": "third"}),
    "deleted": (BUSY, "deleted", {"queued_turn_id": "busy 3"}),
    "resolved": (BUSY, "resolved", {**RESOLVED, "queued_turn_id": "busy 2"}),
    "paused": (LATER, "paused", {"reason": "forged"}),
}


@pytest.mark.parametrize("allowed", ALLOWED)
def test_a_forged_event_that_breaks_no_rule_shows_in_the_rows_only(
    file: File, allowed: str
) -> None:
    stream_id, kind, data = ALLOWED[allowed]
    file.forge(stream_id, f"thread_queue.{kind}", data)
    assert "streams" in {finding.where for finding in file.findings()}
    assert "events" not in {finding.where for finding in file.findings()}


BROKEN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "an epoch twice": (LATER, "claimed", {**CLAIMED, "epoch": 0}),
    "an epoch left out": (LATER, "claimed", {**CLAIMED, "epoch": 2}),
    "a claim of what never was": (LATER, "claimed", {**CLAIMED, "queued_turn_id": "never"}),
    "a claim of a failed head": (
        BUSY,
        "claimed",
        {**CLAIMED, "queued_turn_id": "busy 2", "epoch": 3},
    ),
    "two in flight": (FLYING, "claimed", {**CLAIMED, "queued_turn_id": "flying 1", "epoch": 2}),
    "acked twice": (BUSY, "acked", {**ACKED, "queued_turn_id": "busy 0"}),
    "acked while it waits": (FLYING, "acked", {**ACKED, "queued_turn_id": "flying 1"}),
    "resolved when acked": (BUSY, "resolved", {**RESOLVED, "queued_turn_id": "busy 0"}),
    "resolved while it waits": (BUSY, "resolved", {**RESOLVED, "queued_turn_id": "busy 3"}),
    "deleted twice": (BUSY, "deleted", {"queued_turn_id": "busy 1"}),
    "deleted what never was": (BUSY, "deleted", {"queued_turn_id": "never"}),
    "cleared what never was": (BUSY, "cleared", {"queued_turn_ids": ["never", "busy 2"]}),
    "cleared not all": (BUSY, "cleared", {"queued_turn_ids": ["busy 2"]}),
    "released twice": (BUSY, "released", {"queued_turn_id": "busy 2", "epoch": 2}),
    "renewed what waits": (BUSY, "renewed", {**RENEWED, "queued_turn_id": "busy 2"}),
    "failed what waits": (BUSY, "failed", {**FAILED, "queued_turn_id": "busy 2"}),
    "failed of another dispatch": (FLYING, "failed", {**DISPATCHED, "dispatch_id": "first"}),
    "cleared under another dispatch": (FLYING, "cleared", {**CLEARED, "dispatch_id": "first"}),
    "a dispatch id twice": (FLYING, "dispatch_started", {**STARTED, "dispatch_id": "third"}),
    "an epoch of two owners": (FLYING, "dispatch_started", {**STARTED, "owner": "forger"}),
    "an order that is taken": (LATER, "appended", {**APPENDED, "queue_order": 0}),
    "an order that was taken": (BUSY, "appended", {**APPENDED, "queue_order": 1}),
    "an id that is there": (
        BUSY,
        "appended",
        {**APPENDED, "queue_order": 4, "queued_turn_id": "busy 2"},
    ),
    "an id that was there": (
        BUSY,
        "appended",
        {**APPENDED, "queue_order": 4, "queued_turn_id": "busy 0"},
    ),
    "moved to a place that is taken": (BUSY, "reordered", {**MOVED, "queued_turn_ids": ["busy 3"]}),
}


def test_a_version_that_was_left_out_is_named(file: File) -> None:
    version = len(file.rows("SELECT * FROM events WHERE stream_id = ?", BUSY)) + 2
    position = file.forge(BUSY, "thread_queue.paused", {"reason": "x"}, version=version)
    assert file.first_bad() == position


@pytest.mark.parametrize("broken", BROKEN)
def test_an_event_that_breaks_a_rule_is_named(file: File, broken: str) -> None:
    stream_id, kind, data = BROKEN[broken]
    position = file.forge(stream_id, f"thread_queue.{kind}", data)
    assert file.first_bad() == position


def test_a_stream_of_no_aggregate_is_named(file: File) -> None:
    position = file.forge("strange:thread", "thread_queue.resumed", {})
    assert file.first_bad() == position


def test_a_second_piece_of_the_same_evidence_is_named(file: File) -> None:
    [kept] = file.rows("SELECT * FROM events WHERE type = 'evidence.kept'")
    data = json.loads(str(kept["data"]))
    position = file.forge(str(kept["stream_id"]), "evidence.kept", {**data, "value": "another"})
    assert file.first_bad() == position


@pytest.mark.parametrize("epoch", [-1, 0, 3])
def test_evidence_of_an_epoch_that_was_never_given_out_is_named(file: File, epoch: int) -> None:
    data = {"queued_turn_id": "busy 2", "owner": "late", "epoch": epoch, "kind": "ack", "value": 1}
    position = file.forge("evidence:thread_queue:busy", "evidence.kept", data)
    assert file.first_bad() == position


@pytest.mark.parametrize("life", ["archived", "ended"])
def test_work_in_a_thread_that_takes_none_is_named(file: File, life: str) -> None:
    data = {**APPENDED, "queue_order": 1 if life == "ended" else 0}
    position = file.forge(f"thread_queue:{life}", "thread_queue.appended", data)
    assert file.first_bad() == position


def test_a_life_after_deletion_is_named(file: File) -> None:
    position = file.forge("thread:ended", "thread.unarchived", {})
    assert file.first_bad() == position
