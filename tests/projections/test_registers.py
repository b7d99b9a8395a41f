"""Evidence beside the turns, the dispatches of a thread, and the receipts."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from turnledger.domain.event import Unknown
from turnledger.domain.evidence import Evidence
from turnledger.domain.thread_queue import ThreadQueue

if TYPE_CHECKING:
    from tests.projections.conftest import Expect, Given, Recorded
    from turnledger.domain.event import Event

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
HELD: dict[str, Any] = {"owner": "worker", "epoch": 1}
APPENDED = ThreadQueue.Appended(
    queued_turn_id="a", queue_order=0, submission={"text": "a"}, created_at=NOW
)
CLAIMED = ThreadQueue.Claimed(
    queued_turn_id="a", expires_at=NOW + timedelta(seconds=60), claims=1, **HELD
)
STARTED = ThreadQueue.DispatchStarted(queued_turn_id="a", dispatch_id="d", **HELD)
FAILED = ThreadQueue.Failed(
    queued_turn_id="a", epoch=1, failure="no", outcome_unknown=True, dispatch_id="d"
)
RETRIED = ThreadQueue.Retried(queued_turn_id="a")
DELETED = ThreadQueue.Deleted(queued_turn_id="a")
KEPT = Evidence.Kept(
    queued_turn_id="a", owner="late", epoch=3, kind="fail", value={"b": 1, "a": "é"}
)
ITEM = '"owner":"late","epoch":3,"kind":"fail","value":{"b":1,"a":"é"},"altered":false'


def test_evidence_is_shown_beside_a_turn_that_waits(given: type[Given], expect: Expect) -> None:
    shown = f'[{{{ITEM},"recorded_at":2000}}]'
    given(APPENDED, KEPT).then(queued_turns=[expect.turn("a", evidence=shown)])


def test_evidence_is_shown_beside_a_turn_in_flight(given: type[Given], expect: Expect) -> None:
    shown = f'[{{{ITEM},"recorded_at":3000}}]'
    given(APPENDED, CLAIMED, KEPT).then(queued_turns=[expect.turn("a", evidence=shown)])


def test_evidence_is_shown_beside_a_turn_that_is_gone(given: type[Given], expect: Expect) -> None:
    shown = f'[{{{ITEM},"recorded_at":3000}}]'
    given(APPENDED, DELETED, KEPT).then(
        queued_turns=[expect.turn("a", state="deleted", last=2, evidence=shown)]
    )


def test_more_evidence_comes_behind(given: type[Given], expect: Expect) -> None:
    odd = KEPT.model_copy(update={"kind": "ack", "value": "]", "altered": True})
    more = '{"owner":"late","epoch":3,"kind":"ack","value":"]","altered":true,"recorded_at":3000}'
    third = f'{{{ITEM.replace("3,", "4,")},"recorded_at":4000}}'
    shown = f'[{{{ITEM},"recorded_at":2000}},{more},{third}]'
    given(APPENDED, KEPT, odd, KEPT.model_copy(update={"epoch": 4})).then(
        queued_turns=[expect.turn("a", evidence=shown)]
    )


def test_evidence_goes_with_its_turn(given: type[Given]) -> None:
    shown = f'[{{{ITEM},"recorded_at":2000}}]'
    edited = ThreadQueue.Edited(queued_turn_id="a", submission={"text": "a"})
    moved: list[tuple[Event, ...]] = [(CLAIMED,), (CLAIMED, STARTED, FAILED, RETRIED), (DELETED,)]
    for events in ((edited,), *moved):
        turns = given(APPENDED, KEPT, *events).rows["queued_turns"]
        assert [turn["evidence"] for turn in turns] == [shown]


def test_evidence_is_about_one_turn(given: type[Given], expect: Expect) -> None:
    other = KEPT.model_copy(update={"queued_turn_id": "b"})
    given(APPENDED, other).then(queued_turns=[expect.turn("a")])


def test_every_dispatch_stays_known(given: type[Given], expect: Expect) -> None:
    again = CLAIMED.model_copy(update={"epoch": 2})
    second = STARTED.model_copy(update={"dispatch_id": "e", "epoch": 2})
    events = (APPENDED, CLAIMED, STARTED, FAILED, RETRIED, again, second)
    rows = given(*events, FAILED, DELETED).rows
    assert rows["dispatches"] == [expect.dispatched("a", "d"), expect.dispatched("a", "e", epoch=2)]


def test_a_dispatch_id_is_unique_in_its_thread(
    given: type[Given], recorded: type[Recorded]
) -> None:
    there = [recorded(event, {}, thread="there") for event in (APPENDED, CLAIMED, STARTED)]
    assert len(given(APPENDED, CLAIMED, STARTED, *there).rows["dispatches"]) == 2
    with pytest.raises(sqlite3.IntegrityError):
        given(APPENDED, CLAIMED, STARTED, STARTED)


KEYED: dict[str, Any] = {
    "command": {"name": "append", "id": "command-1", "arguments": {}},
    "idempotency_key": "key",
    "receipt": {"scope": "thread:thread", "content_hash": "0" * 64},
}
RECEIPT = {
    "scope": "thread:thread",
    "idempotency_key": "key",
    "command": "append",
    "command_id": "command-1",
    "content_hash": "0" * 64,
    "stream_id": "thread_queue:thread",
    "version": 1,
    "recorded_at": 1_000,
}


def test_a_command_with_a_key_leaves_a_receipt(
    given: type[Given], expect: Expect, recorded: type[Recorded]
) -> None:
    given(recorded(APPENDED, KEYED)).then(queued_turns=[expect.turn("a")], receipts=[RECEIPT])


def test_a_command_without_a_key_leaves_none(
    given: type[Given], expect: Expect, recorded: type[Recorded]
) -> None:
    named = {name: KEYED[name] for name in ("command", "idempotency_key")}
    given(recorded(APPENDED, named)).then(queued_turns=[expect.turn("a")])


def test_a_receipt_outlives_what_its_command_made(
    given: type[Given], expect: Expect, recorded: type[Recorded]
) -> None:
    given(recorded(APPENDED, KEYED), DELETED).then(
        queued_turns=[expect.turn("a", state="deleted", last=2)], receipts=[RECEIPT]
    )


def test_an_event_of_a_newer_release_leaves_its_receipt_too(
    given: type[Given], recorded: type[Recorded]
) -> None:
    newer = Unknown("thread_queue.moved", 1, "{}", "newer")
    given(recorded(newer, KEYED)).then(receipts=[RECEIPT])


def test_a_key_is_used_once_in_its_scope(given: type[Given], recorded: type[Recorded]) -> None:
    second = APPENDED.model_copy(update={"queued_turn_id": "b", "queue_order": 1})
    elsewhere = {**KEYED, "receipt": {**KEYED["receipt"], "scope": "thread:there"}}
    there = recorded(second, elsewhere)
    assert len(given(recorded(APPENDED, KEYED), there).rows["receipts"]) == 2
    with pytest.raises(sqlite3.IntegrityError):
        given(recorded(APPENDED, KEYED), recorded(second, KEYED))
