"""The history of one thing: all its events, of all its aggregates, in order, page by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.audit.conftest import ITEMS, KEYS, RUNS, THREADS, TIMERS, TURNS
from turnledger import Cursor, Delay, InvalidInput, Ledger, OtherGeneration, RecordedEvent

if TYPE_CHECKING:
    from tests.conformance.audit.conftest import Host

EVENTS = 400


def about(event: RecordedEvent, ledger: Ledger) -> set[tuple[str, str]]:
    """What an event is about, by the name of its stream and by what the ledger knows of it."""
    kind, _, name = event.stream_id.removeprefix("evidence:").partition(":")
    match kind:
        case "thread" | "thread_queue" | "inbox":
            return {("thread_id", name)}
        case "timer":
            owners = [one for one in THREADS if ledger.timers.get(one, name)]
            return {("timer_id", name), *(("thread_id", one) for one in owners)}
        case "work_item":
            return {("work_item_id", name)}
        case "coordinator_turn":
            found: Any = ledger.coordinator.get(name)
            return {("turn_id", name), ("work_item_id", found.work_item_id)}
        case "run":
            found = ledger.runs.get(name)
            return {("run_id", name), ("work_item_id", found.work_item_id)}
        case _:
            found = ledger.operations.get(name)
            return {("operation_key", name), ("work_item_id", found.work_item_id)}


def test_a_history_has_every_event_about_its_subject_and_no_other(
    new_host: Callable[[int], Host],
) -> None:
    host = new_host(5)
    while host.ledger.wait_for_change(0, 0) < EVENTS:
        host.act()
    events = host.ledger.log.read(limit=10_000)
    subjects = [("thread_id", one) for one in THREADS] + [("work_item_id", one) for one in ITEMS]
    subjects += [("turn_id", one) for one in TURNS] + [("timer_id", one) for one in TIMERS]
    subjects += [("run_id", one) for one in RUNS] + [("operation_key", one) for one in KEYS]
    expected: dict[Any, list[RecordedEvent]] = {subject: [] for subject in subjects}
    for event in events:
        for subject in about(event, host.ledger) & expected.keys():
            expected[subject].append(event)
    for name, value in subjects:
        subject: dict[str, Any] = {name: value}
        assert host.ledger.history(**subject) == expected[name, value], subject
    assert all(expected[subject] for subject in subjects)


def test_a_deleted_timer_belongs_to_the_history_of_its_thread(ledger: Ledger) -> None:
    ledger.timers.create("t", Delay(seconds=60), {}, timer_id="timer")
    ledger.timers.delete("t", "timer")
    assert [event.type for event in ledger.history(thread_id="t")] == [
        *("timer.created", "timer.deleted")
    ]


def test_a_history_is_read_page_by_page(ledger: Ledger) -> None:
    for number in range(7):
        ledger.queue.append("t", {"n": number})
        ledger.inbox.post("t", number, source="host")
        ledger.queue.append("other", {})
    whole = ledger.history(thread_id="t")
    assert len(whole) == 14
    pages: list[RecordedEvent] = []
    after: int | Cursor = 0
    while page := ledger.history(thread_id="t", after=after, limit=4):
        assert len(page) <= 4
        pages += page
        after = page[-1].cursor if len(pages) % 8 else page[-1].position
    assert pages == whole


def test_what_nobody_used_has_no_history(ledger: Ledger) -> None:
    ledger.queue.append("t", {})
    names = ("thread_id", "work_item_id", "turn_id", "timer_id", "run_id", "operation_key")
    for name in names:
        subject: dict[str, Any] = {name: "nobody"}
        assert ledger.history(**subject) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give one of them, not none"),
        ({"thread_id": "t", "run_id": "r"}, "give one of them, not thread_id and run_id"),
        ({"thread_id": ""}, "thread_id must not be empty"),
        ({"operation_key": 1}, "operation_key must be text"),
        ({"turn_id": "a\nb"}, "control characters"),
        ({"thread_id": "t", "limit": 0}, "limit must be a whole number from 1 on"),
        ({"thread_id": "t", "after": -1}, "after must be a position"),
        ({"thread_id": "t", "after": True}, "after must be a position"),
    ],
)
def test_what_cant_have_a_history_is_refused(
    ledger: Ledger, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        ledger.history(**given)


def test_a_cursor_of_before_a_restore_is_refused(ledger: Ledger) -> None:
    with pytest.raises(OtherGeneration):
        ledger.history(thread_id="t", after=Cursor(1, "before"))


def test_a_transaction_sees_the_history_that_is_committed(ledger: Ledger) -> None:
    ledger.queue.append("t", {"n": 1})
    with ledger.transaction():
        assert len(ledger.history(thread_id="t")) == 1


def test_names_with_any_characters_have_a_history(ledger: Ledger) -> None:
    for name in ('"', "'", "\\", "a,b", "{}", "ü", "😀", "%s", "?", "NULL", "null"):
        ledger.queue.append(name, {})
        assert [event.stream_id for event in ledger.history(thread_id=name)] == [
            f"thread_queue:{name}"
        ]
