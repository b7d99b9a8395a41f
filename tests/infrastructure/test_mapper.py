"""What is written of an event, what is read back, and the hash that chains it."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from eventsourcing.persistence import StoredEvent

from turnledger.domain.coordinator_turn import CoordinatorTurn
from turnledger.domain.errors import Unreadable
from turnledger.domain.event import Envelope, Event, EventRegistry, Unknown
from turnledger.domain.evidence import Evidence
from turnledger.domain.inbox import Inbox
from turnledger.domain.operation import Operation
from turnledger.domain.run import Run
from turnledger.domain.thread import Thread
from turnledger.domain.thread_queue import ThreadQueue
from turnledger.domain.timer import Timer
from turnledger.domain.work_item import WorkItem
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.mapper import NO_HASH, LedgerEvent, LedgerMapper, chain_hash

GOLDEN = Path(__file__).parents[1] / "golden"
AT = datetime(2026, 11, 30, 12, 0, 0, 123_000, tzinfo=UTC)
LATER = datetime(2026, 11, 30, 12, 5, 0, 123_456, tzinfo=UTC)
TURN: dict[str, Any] = {"queued_turn_id": "turn-1"}
CLAIMED: dict[str, Any] = {**TURN, "epoch": 3}
MESSAGE: dict[str, Any] = {"message_id": "message-1"}
HELD: dict[str, Any] = {**MESSAGE, "epoch": 3}
ATTEMPT: dict[str, Any] = {"attempt": 2, "epoch": 3}

# One event of every type and schema version that a release has ever written, with every field
# given. A golden file, once released, is never changed: add another beside it.
EVENTS: dict[str, Event] = {
    "thread_queue.appended.1": ThreadQueue.Appended(
        **TURN,
        queue_order=7,
        submission={"b": 2**63, "a": ["\0", "é😀", {}, 0.1, None]},
        created_at=AT,
        not_before=LATER,
    ),
    "thread_queue.edited.1": ThreadQueue.Edited(**TURN, submission={"text": "again"}),
    "thread_queue.deleted.1": ThreadQueue.Deleted(**TURN),
    "thread_queue.cleared.1": ThreadQueue.Cleared(
        queued_turn_ids=("turn-1", "turn-2"), in_flight_id="turn-0", dispatch_id="dispatch-1"
    ),
    "thread_queue.reordered.1": ThreadQueue.Reordered(
        queued_turn_ids=("turn-2", "turn-1"), first_order=8
    ),
    "thread_queue.claimed.1": ThreadQueue.Claimed(
        **CLAIMED, owner="worker-1", expires_at=LATER, claims=2
    ),
    "thread_queue.renewed.1": ThreadQueue.Renewed(**CLAIMED, expires_at=LATER),
    "thread_queue.released.1": ThreadQueue.Released(**CLAIMED),
    "thread_queue.recovered.1": ThreadQueue.Recovered(**CLAIMED),
    "thread_queue.dispatch_started.1": ThreadQueue.DispatchStarted(
        **CLAIMED, dispatch_id="dispatch-1", owner="worker-1"
    ),
    "thread_queue.acked.1": ThreadQueue.Acked(**CLAIMED, dispatch_id="dispatch-1"),
    "thread_queue.failed.1": ThreadQueue.Failed(
        **CLAIMED,
        failure={"status": 400},
        outcome_unknown=True,
        altered=True,
        dispatch_id="dispatch-1",
    ),
    "thread_queue.retried.1": ThreadQueue.Retried(**TURN),
    "thread_queue.resolved.1": ThreadQueue.Resolved(
        **TURN, decision="retry", by="a person", evidence=["seen nothing"], altered=True
    ),
    "thread_queue.paused.1": ThreadQueue.Paused(reason="maintenance", altered=True),
    "thread_queue.resumed.1": ThreadQueue.Resumed(),
    "thread.archived.1": Thread.Archived(),
    "thread.unarchived.1": Thread.Unarchived(),
    "thread.deleted.1": Thread.Deleted(),
    "thread.forked.1": Thread.Forked(forked_from="thread-0"),
    "inbox.posted.1": Inbox.Posted(
        **MESSAGE,
        arrival=7,
        content={"b": 2**63, "a": ["\0", "é😀", {}, 0.1, None]},
        source="a webhook",
        delivery="steer-current-turn",
        instructions="softly",
        metadata={"z": 1, "a": []},
        created_at=AT,
        queued_at=LATER,
    ),
    "inbox.claimed.1": Inbox.Claimed(
        **HELD, owner="worker-1", expires_at=LATER, claims=2, deliveries=1
    ),
    "inbox.confirmed.1": Inbox.Confirmed(**HELD),
    "inbox.released.1": Inbox.Released(**HELD),
    "inbox.recovered.1": Inbox.Recovered(**HELD),
    "inbox.expired.1": Inbox.Expired(**HELD, deliveries=2, reason="nobody confirmed it"),
    "inbox.requeued.1": Inbox.Requeued(**MESSAGE),
    "inbox.deleted.1": Inbox.Deleted(**MESSAGE, undelivered=True),
    "inbox.rejected.1": Inbox.Rejected(**MESSAGE, reason="this release doesn't know it"),
    "inbox.cleared.1": Inbox.Cleared(waiting=3, undelivered=2, in_flight_id="message-1"),
    "timer.created.1": Timer.Created(
        thread_id="thread-1",
        trigger={"kind": "cron", "expression": "0 9 * * *", "timezone": "UTC"},
        content={"b": 2**63, "a": ["\0", "é😀", {}, 0.1, None]},
        instructions="softly",
        metadata={"z": 1, "a": []},
        delivery="after-turn",
        source="host",
        client_id="client-1",
        created_at=AT,
        next_run_at=LATER,
        time_zone_data="2026f",
    ),
    "timer.updated.1": Timer.Updated(
        changed={"content": None, "trigger": {"kind": "delay", "seconds": 10.0}},
        anchored_at=AT,
        next_run_at=LATER,
        time_zone_data="",
    ),
    "timer.paused.1": Timer.Paused(),
    "timer.resumed.1": Timer.Resumed(missed=3),
    "timer.deleted.1": Timer.Deleted(),
    "timer.marked_due.1": Timer.MarkedDue(planned_at=AT),
    "timer.fired.1": Timer.Fired(
        owner="scheduler-1",
        epoch=3,
        planned_at=AT,
        fired_at=LATER,
        missed=2,
        last_run_at=LATER,
        next_run_at=None,
        message_id="message-1",
        time_zone_data="2026f",
        error="has no occurrence that can be found",
    ),
    "timer.skipped.1": Timer.Skipped(
        planned_at=AT, missed=2, next_run_at=LATER, time_zone_data="2026f"
    ),
    "timer.recomputed.1": Timer.Recomputed(
        next_run_at=LATER, time_zone_data="2026g", error="has no such timezone"
    ),
    "timer.set_aside.1": Timer.SetAside(error="has no such timezone"),
    "coordinator_turn.begun.1": CoordinatorTurn.Begun(
        work_item_id="item-1",
        turn_order=7,
        message={"b": 2**63, "a": ["\0", "é😀", {}, 0.1, None]},
        kind="recovery",
        target="an action",
        created_at=AT,
        attachments=("ab" * 32,),
    ),
    "coordinator_turn.claimed.1": CoordinatorTurn.Claimed(
        owner="boot-1", epoch=3, expires_at=LATER
    ),
    "coordinator_turn.renewed.1": CoordinatorTurn.Renewed(epoch=3, expires_at=LATER),
    "coordinator_turn.released.1": CoordinatorTurn.Released(epoch=3),
    "coordinator_turn.recovered.1": CoordinatorTurn.Recovered(epoch=3),
    "coordinator_turn.prepared.1": CoordinatorTurn.Prepared(
        attempt=2, request=[2**63, "é"], request_hash="cd" * 32, owner="boot-1", epoch=3
    ),
    "coordinator_turn.dispatch_started.1": CoordinatorTurn.DispatchStarted(
        attempt=2, owner="boot-1", epoch=3
    ),
    "coordinator_turn.responded.1": CoordinatorTurn.Responded(
        **ATTEMPT, response={"text": "\0"}, response_hash="ef" * 32, altered=True
    ),
    "coordinator_turn.refused.1": CoordinatorTurn.Refused(
        **ATTEMPT, error={"status": 429}, retryable=True, not_before=LATER, altered=True
    ),
    "coordinator_turn.rejected.1": CoordinatorTurn.Rejected(
        **ATTEMPT, error="no decision in it", altered=True
    ),
    "coordinator_turn.outcome_unknown.1": CoordinatorTurn.OutcomeUnknown(attempt=2),
    "coordinator_turn.resolved.1": CoordinatorTurn.Resolved(
        **ATTEMPT,
        decision="adopt",
        by="a person",
        owner="boot-1",
        response=None,
        response_hash="ef" * 32,
        reason=["found in the log"],
        altered=True,
    ),
    "coordinator_turn.acked.1": CoordinatorTurn.Acked(
        epoch=3, completed=True, result={"ok": 1}, altered=True
    ),
    "coordinator_turn.failed.1": CoordinatorTurn.Failed(epoch=3, error=["why"], altered=True),
    "coordinator_turn.cancelled.1": CoordinatorTurn.Cancelled(reason="not wanted", altered=True),
    "work_item.turn_entered.1": WorkItem.TurnEntered(turn_id="turn-1", turn_order=7),
    "work_item.turn_settled.1": WorkItem.TurnSettled(turn_id="turn-1", revision=8),
    "work_item.touched.1": WorkItem.Touched(revision=9),
    "run.started.1": Run.Started(
        work_item_id="item-1", action_id="action-1", owner="boot-1", epoch=1, expires_at=LATER
    ),
    "run.taken_over.1": Run.TakenOver(owner="boot-2", epoch=2, expires_at=LATER),
    "run.renewed.1": Run.Renewed(epoch=3, expires_at=LATER),
    "run.finished.1": Run.Finished(epoch=3, outcome={"ok": 1}, altered=True),
    "run.interrupted.1": Run.Interrupted(reason="the user left", altered=True),
    "operation.created.1": Operation.Created(
        run_id="run-1",
        work_item_id="item-1",
        action_id="action-1",
        operation_type="send",
        payload={"b": 2**63, "a": ["\0", "é😀", {}, 0.1, None]},
        replay_policy="probe_first",
        created_at=AT,
    ),
    "operation.claimed.1": Operation.Claimed(owner="boot-1", run_epoch=3, execution_epoch=1),
    "operation.cancel_requested.1": Operation.CancelRequested(),
    "operation.completed.1": Operation.Completed(effect="applied", result=[1], altered=True),
    "operation.orphaned.1": Operation.Orphaned(reason="nobody answers for it"),
    "operation.never_claimed.1": Operation.NeverClaimed(reason="never claimed"),
    "operation.resolved.1": Operation.Resolved(
        effect="not_applied", by="a person", evidence=["seen nothing"], altered=True
    ),
    "evidence.kept_of_run.1": Evidence.KeptOfRun(
        owner="boot-1", epoch=3, kind="finish", value={"ok": 1}, altered=True
    ),
    "evidence.kept_of_operation.1": Evidence.KeptOfOperation(
        owner="boot-1", epoch=3, kind="complete", value={"effect": "applied"}, altered=True
    ),
    "evidence.kept_of_turn.1": Evidence.KeptOfTurn(
        turn_id="turn-1",
        attempt=2,
        owner="boot-1",
        epoch=3,
        kind="respond",
        value={"text": "late"},
        altered=True,
    ),
    "evidence.kept_of_message.1": Evidence.KeptOfMessage(
        **HELD, owner="worker-1", kind="confirm", value=None, altered=True
    ),
    "evidence.kept.1": Evidence.Kept(
        **CLAIMED, owner="worker-1", kind="fail", value={"status": 500}, altered=True
    ),
}


class Noted(Event):
    TOPIC = "test.noted"
    text: str


def stored(topic: str, data: bytes, **others: Any) -> LedgerEvent:
    """A row of the events table."""
    place = {"originator_id": "test:1", "originator_version": 1}
    columns = {"schema_version": 1, "metadata": b"{}", "recorded_at": 1_000_000}
    return LedgerEvent(**{**place, "topic": topic, "state": data, **columns, **others})


def golden(name: str) -> tuple[dict[str, Any], LedgerEvent]:
    """A golden file, and the row that it is of."""
    file = json.loads((GOLDEN / f"{name}.json").read_text())
    row = stored(
        file["type"],
        file["data"].encode(),
        originator_id=file["stream_id"],
        originator_version=file["version"],
        schema_version=file["schema_version"],
        metadata=file["metadata"].encode(),
        recorded_at=file["recorded_at"],
    )
    return file, row


@pytest.fixture
def mapper() -> LedgerMapper:
    return LedgerMapper(EventRegistry((Noted,)))


def test_an_event_comes_back_as_it_went_in(mapper: LedgerMapper) -> None:
    envelope = Envelope("test:1", 4, Noted(text="é"), 1_000_000, {"actor": "somebody"})

    row = mapper.to_stored_event(envelope)

    assert (row.topic, row.schema_version, row.state) == ("test.noted", 1, '{"text":"é"}'.encode())
    assert mapper.to_domain_event(row) == envelope


def test_an_unregistered_event_is_refused_when_it_is_written(mapper: LedgerMapper) -> None:
    class Strange(Event):
        TOPIC = "test.strange"

    with pytest.raises(Unreadable, match=r"Strange of stream test:1.*isn't registered"):
        mapper.to_stored_event(Envelope("test:1", 1, Strange(), 0, {}))


def test_an_impostor_under_a_registered_name_is_refused_when_it_is_written(
    mapper: LedgerMapper,
) -> None:
    class Impostor(Event):
        TOPIC = "test.noted"

    with pytest.raises(Unreadable, match="Impostor"):
        mapper.to_stored_event(Envelope("test:1", 1, Impostor(), 0, {}))


def test_an_unknown_type_is_kept_when_it_is_read(mapper: LedgerMapper) -> None:
    read = mapper.to_domain_event(stored("test.of_tomorrow", b'{"x":1}'))

    reason = "this release doesn't know test.of_tomorrow version 1"
    assert read.event == Unknown("test.of_tomorrow", 1, '{"x":1}', reason)


def test_a_newer_schema_version_is_kept_when_it_is_read(mapper: LedgerMapper) -> None:
    read = mapper.to_domain_event(stored("test.noted", b'{"text":"a"}', schema_version=2))

    reason = "this release doesn't know test.noted version 2"
    assert read.event == Unknown("test.noted", 2, '{"text":"a"}', reason)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"{}",
        b'{"text":1}',
        b'{"text":"a","of_tomorrow":1}',
        b'{"text":NaN}',
        b"\xff\x00",
        b"[" * 100_000,
    ],
    ids=[
        "empty",
        "cut off",
        "null",
        "a list",
        "without a field",
        "of a wrong type",
        "with a field too many",
        "not a number",
        "no text",
        "nested without end",
    ],
)
def test_damaged_data_is_kept_when_it_is_read(mapper: LedgerMapper, data: bytes) -> None:
    event = mapper.to_domain_event(stored("test.noted", data)).event

    assert isinstance(event, Unknown)
    assert event.text == data.decode(errors="replace")
    assert event.reason.startswith("damaged: ")
    assert "\n" not in event.reason


@pytest.mark.parametrize("metadata", [b"", b"{", b"\xff", b"[1]", b"1"])
def test_damaged_metadata_is_kept_when_it_is_read(mapper: LedgerMapper, metadata: bytes) -> None:
    read = mapper.to_domain_event(stored("test.noted", b'{"text":"a"}', metadata=metadata))

    assert read.event == Noted(text="a")
    assert set(read.metadata) == {"unreadable"}


def test_a_row_without_the_columns_of_a_ledger_is_read_all_the_same(mapper: LedgerMapper) -> None:
    read = mapper.to_domain_event(StoredEvent("test:1", 1, "test.noted", b'{"text":"a"}'))

    assert read == Envelope("test:1", 1, Noted(text="a"), 0, {})


def test_the_chain_hash_is_the_sha_256_of_the_length_prefixed_row() -> None:
    previous = hashlib.sha256(b"the one before").digest()
    place = {"originator_id": "test:é", "originator_version": 12, "schema_version": 3}
    row = stored("test.noted", b'{"text":"a"}', metadata=b'{"actor":"b"}', **place)

    by_hand = (
        previous
        + b"\x00\x00\x00\x00\x00\x00\x00\x07test:\xc3\xa9"
        + b"\x00\x00\x00\x00\x00\x00\x00\x0212"
        + b"\x00\x00\x00\x00\x00\x00\x00\x0atest.noted"
        + b"\x00\x00\x00\x00\x00\x00\x00\x013"
        + b"\x00\x00\x00\x00\x00\x00\x00\x071000000"
        + b'\x00\x00\x00\x00\x00\x00\x00\x0d{"actor":"b"}'
        + b'\x00\x00\x00\x00\x00\x00\x00\x0c{"text":"a"}'
    )
    assert row.chained_to(previous) == hashlib.sha256(by_hand).digest()


def test_the_first_event_of_a_stream_is_chained_to_32_zero_bytes() -> None:
    assert bytes(32) == NO_HASH


def test_the_chain_hash_tells_apart_what_only_joins_to_the_same_bytes() -> None:
    one = chain_hash(NO_HASH, b"a", b"1", b"t", b"1", b"0", b"{}", b"{}")
    other = chain_hash(NO_HASH, b"a1", b"", b"t", b"1", b"0", b"{}", b"{}")

    assert one != other


def test_every_event_type_has_a_golden_file() -> None:
    registered = {f"{kind.TOPIC}.{kind.SCHEMA_VERSION}" for kind in REGISTRY._kinds.values()}

    files = {file.stem for file in GOLDEN.glob("*.json")}
    assert registered - files == set(), "write a golden file for each of them"
    assert files == set(EVENTS), "each golden file has its event in this module"


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_a_golden_file_gives_the_event_that_it_was_written_from(name: str) -> None:
    file, row = golden(name)

    read = LedgerMapper(REGISTRY).to_domain_event(row)

    assert read.event == EVENTS[name]
    assert read.metadata == json.loads(file["metadata"])
    assert row.chained_to(NO_HASH).hex() == file["hash"]


@pytest.mark.parametrize(
    "name", [name for name, event in EVENTS.items() if name.endswith(f".{event.SCHEMA_VERSION}")]
)
def test_an_event_is_written_as_its_golden_file_has_it_or_counts_its_version_up(name: str) -> None:
    _, row = golden(name)

    written = LedgerMapper(REGISTRY).to_stored_event(Envelope("test:1", 1, EVENTS[name], 0, {}))

    assert written.state == row.state


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_a_golden_file_has_a_value_for_every_field_that_its_event_had(name: str) -> None:
    file, _ = golden(name)

    assert set(json.loads(file["data"])) == EVENTS[name].model_fields_set
