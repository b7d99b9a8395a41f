"""What the code of now answers otherwise is named, with its place; damage and newer events too."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import Delay, Ledger, ReplayReport
from turnledger.domain.coordinator_turn import commands as turns
from turnledger.domain.errors import InvalidTransition
from turnledger.domain.inbox import commands as messages
from turnledger.domain.operation import commands as operations
from turnledger.domain.thread_queue import ThreadQueue
from turnledger.domain.thread_queue import commands as queued
from turnledger.domain.timer import commands as timers
from turnledger.domain.trigger import time_zone
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.mapper import LedgerMapper, chain_hash
from turnledger.infrastructure.rows import as_notification
from turnledger.replaying.again import DecidingAgain

if TYPE_CHECKING:
    from collections.abc import Generator

    from tests.conformance.conftest import Clock, Host
    from tests.conformance.stores import Store

CLAIMED = 3  # the position


@contextmanager
def deciding(kind: type[Any], rule: Any) -> Generator[None]:
    """Let another rule answer a command: it is given the answer of today's."""
    table = import_module(kind.__module__.replace(".commands", ".decide"))._DECISIONS
    known = table[kind]
    table[kind] = lambda state, command, context: rule(known(state, command, context))
    try:
        yield
    finally:
        table[kind] = known


@pytest.fixture
def worked(ledger: Ledger, host: Host, clock: Clock) -> Ledger:
    """A ledger in which a turn was done, and a bit of everything else."""
    host.append("first", "second")
    claim = host.dispatch()
    ledger.queue.ack(claim)
    ledger.inbox.post("thread", "hello", source="test")
    ledger.timers.create("thread", Delay(seconds=1), "wake up", timer_id="timer")
    clock.advance(2)
    ledger.timers.fire_due("clock")
    begun = ledger.coordinator.begin("item", {"n": 1}, kind="plan", target="x", owner="w")
    assert begun.claim is not None
    ledger.coordinator.ack(begun.claim)
    run = ledger.runs.start("run", "item", "action", "w")
    assert run is not None
    ledger.operations.create_and_claim(run, "key", "shell", {}, automatic=False)
    assert ledger.replay().ok
    return ledger


def only(report: ReplayReport) -> Any:
    """The one difference of a report, whose other commands are the same."""
    [difference] = report.differences
    assert (report.ok, report.different, report.same) == (False, 1, report.commands - 1)
    return difference


def refused(_answer: Any) -> Any:
    raise InvalidTransition("thread", "ack", "not any more")


def failing(_answer: Any) -> Any:
    msg = "a rule that fails"
    raise ZeroDivisionError(msg)


def test_a_command_that_is_refused_now_is_a_difference(worked: Ledger) -> None:
    with deciding(queued.Ack, refused):
        found = only(worked.replay())
    assert (found.position, found.stream_id) == (5, "thread_queue:thread")
    assert (found.command, found.field) == ("ack", "events[0]")
    assert [event.type for event in found.recorded] == ["thread_queue.acked"]
    assert found.answered == ()
    assert found.refusal.startswith("invalid_transition: ")
    assert found.refusal.endswith("not any more")
    assert found.command_id == worked.log.read(4, limit=1)[0].metadata["command"]["id"]


def test_a_rule_that_fails_is_a_difference(worked: Ledger) -> None:
    with deciding(queued.Ack, failing):
        found = only(worked.replay())
    assert (found.position, found.refusal) == (5, "ZeroDivisionError: a rule that fails")


def test_a_command_that_leads_to_nothing_now_is_a_difference(worked: Ledger) -> None:
    with deciding(queued.ClaimHead, lambda _answer: []):
        found = only(worked.replay())
    assert (found.position, found.field, found.answered) == (CLAIMED, "events[0]", ())
    assert (found.recorded_value, found.answered_value) == ("thread_queue.claimed", None)
    assert found.refusal is None


def test_the_first_field_that_differs_is_named(worked: Ledger) -> None:
    def otherwise(answer: Any) -> Any:
        return [one.model_copy(update={"claims": 9, "epoch": 7}) for one in answer]

    with deciding(queued.ClaimHead, otherwise):
        found = only(worked.replay())
    assert (found.field, found.recorded_value, found.answered_value) == ("events[0].epoch", 1, 7)
    assert found.answered[0].data["claims"] == 9


def test_a_place_inside_a_payload_is_named(worked: Ledger) -> None:
    def otherwise(answer: Any) -> Any:
        return [answer[0].model_copy(update={"metadata": {"a": [1, 2]}}), *answer[1:]]

    with deciding(messages.Post, otherwise):
        report = worked.replay()
    assert [one.field for one in report.differences] == ["events[0].metadata.a"] * 2


def test_an_event_of_another_kind_and_one_too_many_are_named(worked: Ledger) -> None:
    resumed = ThreadQueue.Resumed()
    with deciding(queued.Ack, lambda _answer: [resumed]):
        found = only(worked.replay())
    told = (found.field, found.recorded_value, found.answered_value)
    assert told == ("events[0].type", "thread_queue.acked", "thread_queue.resumed")
    with deciding(queued.Ack, lambda answer: [*answer, resumed]):
        found = only(worked.replay())
    told = (found.field, found.recorded_value, found.answered_value)
    assert told == ("events[1]", None, "thread_queue.resumed")


@pytest.mark.parametrize(
    ("kind", "stream_id", "recorded"),
    [
        (timers.Fire, "timer:timer", ["timer.fired"]),
        (turns.Begin, "coordinator_turn:", ["coordinator_turn.begun", "coordinator_turn.claimed"]),
        (operations.CreateAndClaim, "operation:key", ["operation.created", "operation.claimed"]),
    ],
)
def test_commands_of_every_aggregate_are_decided_again(
    worked: Ledger, kind: type[Any], stream_id: str, recorded: list[str]
) -> None:
    with deciding(kind, lambda answer: answer[:-1]):
        found = only(worked.replay())
    assert found.stream_id.startswith(stream_id)
    assert [event.type for event in found.recorded] == recorded


def test_only_so_many_differences_are_kept_and_all_are_counted(ledger: Ledger) -> None:
    ledger.queue.append_many("one", [{}] * 60)
    for number in range(60):
        ledger.queue.append(f"thread {number}", {})
    with deciding(queued.Append, lambda _answer: []):
        report = ledger.replay()
    assert (report.different, len(report.differences), report.same) == (60, 50, 1)


# --- timers, and other time zone data


def test_what_other_time_zone_data_gave_may_differ_and_is_a_note(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    daily: Any = {"kind": "cron", "expression": "0 9 * * *", "timezone": "Europe/Berlin"}
    monkeypatch.setattr(time_zone, "VERSION", "2000a")
    ledger.timers.create("thread", daily, "old")
    monkeypatch.undo()
    ledger.timers.create("thread", daily, "new")
    assert ledger.replay().notes == ()

    def otherwise(answer: Any) -> Any:
        later = answer[0].next_run_at + timedelta(hours=1)
        return [answer[0].model_copy(update={"next_run_at": later})]

    with deciding(timers.Create, otherwise):
        report = ledger.replay()
    assert [one.position for one in report.differences] == [2]
    [note] = report.notes
    assert note == (
        "1 command of timers, the first at position 1, went by time zone data 2000a, and would be "
        f"answered otherwise by {time_zone.VERSION}"
    )
    assert (report.commands, report.same, report.different) == (2, 0, 1)


# --- damage, and newer releases


def rewrite(store: Store, position: int, column: str, value: Any) -> None:
    """Change the last event of a stream, and its hash with it."""
    wanted = "stream_id, version, type, schema_version, recorded_at, metadata, data"
    query = f"SELECT {wanted} FROM events WHERE position = ?"
    [row] = store.rows(query, position)
    parts = dict(zip(wanted.split(", "), row, strict=True)) | {column: value}
    before = "SELECT hash FROM events WHERE stream_id = ? AND version = ?"
    known = store.rows(before, parts["stream_id"], parts["version"] - 1)
    previous = bytes(known[0][0]) if known else bytes(32)
    chained = chain_hash(previous, *(str(one).encode() for one in parts.values()))
    change = f"UPDATE events SET {column} = ?, hash = ? WHERE position = ?"
    store.damage(change, value, chained, position)


@pytest.fixture
def claimed(ledger: Ledger, host: Host, store: Store) -> Store:
    """A store whose last event, at position 3, is a claim; another thread has a turn."""
    host.append("beside", thread="beside")
    host.append("first")
    host.claim()
    assert len(ledger.log.read()) == CLAIMED
    return store


def data_of(store: Store, position: int) -> str:
    return str(store.events()[position - 1].data)


def test_a_tampered_event_is_named_as_damaged_and_the_rest_is_replayed(
    ledger: Ledger, claimed: Store
) -> None:
    told = data_of(claimed, CLAIMED).replace("worker", "nobody")
    claimed.damage("UPDATE events SET data = ? WHERE position = ?", told, CLAIMED)
    report = ledger.replay()
    [unread] = report.unread
    assert (unread.position, unread.stream_id) == (CLAIMED, "thread_queue:thread")
    assert (unread.damaged, unread.events) == (True, 1)
    assert "don't give its hash" in unread.reason
    assert (report.ok, report.commands, report.same, report.events) == (False, 2, 2, 3)


def test_a_tampered_event_whose_hash_fits_is_a_difference(ledger: Ledger, claimed: Store) -> None:
    told = data_of(claimed, CLAIMED).replace('"epoch":1', '"epoch":2')
    rewrite(claimed, CLAIMED, "data", told)
    found = only(ledger.replay())
    assert (found.position, found.command) == (CLAIMED, "claim_head")
    assert (found.field, found.recorded_value, found.answered_value) == ("events[0].epoch", 2, 1)


def test_an_event_that_can_follow_nothing_is_damage(ledger: Ledger, claimed: Store) -> None:
    turn_id = ledger.log.read()[-1].data["queued_turn_id"]
    rewrite(claimed, CLAIMED, "data", data_of(claimed, CLAIMED).replace(turn_id, "unheard of"))
    report = ledger.replay()
    [unread] = report.unread
    assert (unread.position, unread.damaged, report.ok) == (CLAIMED, True, False)
    assert unread.reason.startswith("thread_queue.claimed can't follow what came before it")


def test_an_event_of_a_newer_release_is_a_note_and_the_rest_is_replayed(
    ledger: Ledger, claimed: Store
) -> None:
    rewrite(claimed, CLAIMED, "schema_version", 9)
    ledger.threads.archive("beside")
    report = ledger.replay()
    [unread] = report.unread
    assert (unread.position, unread.events, unread.damaged) == (CLAIMED, 1, False)
    assert "doesn't know thread_queue.claimed version 9" in unread.reason
    assert (report.ok, report.commands, report.same) == (True, 3, 3)


def test_a_command_of_a_newer_release_is_a_note_and_its_event_is_folded(
    ledger: Ledger, claimed: Store
) -> None:
    newer = claimed.events()[CLAIMED - 1].metadata.replace("claim_head", "claim_twice")
    rewrite(claimed, CLAIMED, "metadata", newer)
    report = ledger.replay()
    [unread] = report.unread
    assert unread.reason == "this release doesn't know the command claim_twice of thread_queue"
    assert (report.ok, report.commands, report.same) == (True, 2, 2)


def test_what_depends_on_a_life_that_cant_be_read_is_not_decided(
    ledger: Ledger, claimed: Store
) -> None:
    ledger.threads.archive("thread")
    assert len(ledger.log.read()) == CLAIMED + 1
    rewrite(claimed, 4, "schema_version", 9)
    ledger.inbox.post("beside", "hi", source="test")
    claim = ledger.queue.claim_head("beside", "worker")
    assert claim is not None
    ledger.queue.pause("thread", "because")
    report = ledger.replay()
    reasons = {one.position: one.reason for one in report.unread}
    assert set(reasons) == {4, 7}
    assert reasons[7].startswith("it depends on thread:thread: this release doesn't know")
    assert (report.ok, report.commands, report.same) == (True, 5, 5)


# --- what a replay leaves, and in which order events may come


def test_a_replay_that_is_cancelled_leaves_nothing(
    ledger: Ledger, host: Host, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.append(*"abcdef")
    before = store.events()
    monkeypatch.setattr("turnledger.replaying._PAGE", 2)

    def stop(_seen: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.replay(progress=stop)
    assert store.events() == before
    assert host.append("after")
    assert ledger.replay().ok


def test_events_of_other_commands_may_come_between_those_of_one(ledger: Ledger) -> None:
    for thread in ("one", "two"):
        ledger.queue.append_many(thread, [{"n": 1}, {"n": 2}])
    assert len(ledger.log.read()) == 4
    mapper, again = LedgerMapper(REGISTRY), DecidingAgain()
    query = "SELECT * FROM events ORDER BY position"
    with ledger._backend.store.reading() as cursor:
        rows = cursor.execute(query).fetchall()
    for place in (0, 2, 1, 3):
        again.add(rows[place][0], mapper.to_domain_event(as_notification(rows[place])))
    report = again.report()
    assert (report.commands, report.same, report.events) == (2, 2, 4)
