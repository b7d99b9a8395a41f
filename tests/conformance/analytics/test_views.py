"""The views for whoever reads a ledger without turnledger: as documented, and right."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.conftest import START

if TYPE_CHECKING:
    from tests.conformance.conftest import Store
    from turnledger import Ledger

DOCUMENT = Path(__file__).parents[3] / "docs" / "analytics.md"
VIEWS = ("v_events", "v_turns", "v_attempts", "v_operations", "v_timer_runs")


def documented(view: str) -> list[str]:
    """The columns of a view, as the document has them."""
    [table] = re.findall(
        rf"^\| {view} \|.*\n\|---\|---\|\n((?:\|.*\n)+)", DOCUMENT.read_text(), re.MULTILINE
    )
    return [line.split("|")[1].strip() for line in table.splitlines()]


def time(value: Any) -> datetime:
    """A time as a view gives it."""
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def second(number: float) -> datetime:
    return START + timedelta(seconds=number)


@pytest.fixture
def store(store_url: str, store_at: Callable[[str], Store]) -> Store:
    return store_at(store_url)


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_has_the_documented_columns(worked: Ledger, store: Store, view: str) -> None:
    assert worked.wait_for_change(0, 0)
    assert store.columns(view) == set(documented(view))


def test_the_turns_and_their_attempts_are_those_worked_out_by_hand(
    worked: Ledger, store: Store
) -> None:
    assert worked.wait_for_change(0, 0)
    asked = "SELECT turn_id, thread_id, state, claims, attempts, waited_seconds, ran_seconds"
    assert store.rows(f"{asked} FROM v_turns ORDER BY turn_id") == [
        ("a", "t", "acked", 1, 1, 10, 10),
        ("b", "t", "acked", 3, 2, 30, 166),
        ("c", "t", "deleted", 0, 0, None, None),
    ]
    asked = "SELECT attempt_id, turn_id, attempt, owner, epoch, seconds, outcome"
    assert store.rows(f"{asked} FROM v_attempts ORDER BY attempt_id") == [
        ("d1", "a", 1, "w1", 1, 8, "acked"),
        ("d2", "b", 1, "w1", 3, 155, "outcome_unknown"),
        ("d3", "b", 2, "w1", 4, 1, "acked"),
    ]
    [(began, first, ended)] = store.rows(
        "SELECT created_at, first_claimed_at, ended_at FROM v_turns WHERE turn_id = 'b'"
    )
    assert [time(began), time(first), time(ended)] == [second(0), second(30), second(261)]
    runs = "SELECT timer_id, thread_id, run, owner, planned_at, fired_at, late_seconds, missed"
    [(timer, thread, run, owner, planned, fired, late, missed)] = store.rows(
        f"{runs} FROM v_timer_runs"
    )
    assert (timer, thread, run, owner, late, missed) == ("x", "t", 1, "scheduler", 30, 0)
    assert [time(planned), time(fired)] == [second(100), second(130)]


def test_the_turns_and_operations_of_a_work_item_are_those_worked_out_by_hand(
    worked_item: Ledger, store: Store
) -> None:
    assert worked_item.wait_for_change(0, 0)
    turns = "SELECT turn_id, work_item_id, state, claims, attempts, waited_seconds, ran_seconds"
    assert store.rows(f"{turns} FROM v_turns") == [("turn", "item", "failed", 2, 1, 4, 101)]
    attempts = "SELECT attempt_id, work_item_id, attempt, owner, seconds, outcome"
    assert store.rows(f"{attempts} FROM v_attempts") == [
        ("turn:1", "item", 1, "w1", 100, "outcome_unknown")
    ]
    operations = "SELECT operation_key, execution, effect, claims, waited_seconds, ran_seconds"
    assert store.rows(f"{operations} FROM v_operations ORDER BY operation_key") == [
        ("bad", "hazardous_orphan", "unknown", 1, 5, 95),
        ("good", "quiescent", "applied", 1, 3, 2),
    ]


def test_the_events_are_all_there_with_their_commands(worked: Ledger, store: Store) -> None:
    events = worked.log.read()
    asked = "SELECT position, category, subject, type, recorded_at, command FROM v_events"
    rows = store.rows(f"{asked} ORDER BY position")
    assert [(row[0], f"{row[1]}:{row[2]}", row[3], time(row[4])) for row in rows] == [
        (event.position, event.stream_id, event.type, event.recorded_at) for event in events
    ]
    assert [row[5] for row in rows] == [event.metadata["command"]["name"] for event in events]
