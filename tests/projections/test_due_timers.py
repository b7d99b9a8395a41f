"""given(events).then(rows) of the timers' read model; the timer is named as the thread's stream."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from turnledger.domain.thread import Thread
from turnledger.domain.timer import Timer

if TYPE_CHECKING:
    from tests.projections.conftest import Given

NINE = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
STORED = 1_767_603_600_000_000
DELAY: dict[str, Any] = {"kind": "delay", "seconds": 10.0, "repeat": True}
IDLE: dict[str, Any] = {"kind": "delay", "seconds": 0.0, "repeat": True}


def later(seconds: float = 10) -> datetime:
    return NINE + timedelta(seconds=seconds)


def created(trigger: dict[str, Any] = DELAY) -> Timer.Created:
    next_run_at = None if trigger is IDLE else later()
    facts: dict[str, Any] = {"metadata": {"a": 1}, "delivery": "after-turn", "source": "host"}
    return Timer.Created(
        thread_id="t",
        trigger=trigger,
        content={"b": 1, "a": None},
        **facts,
        created_at=NINE,
        next_run_at=next_run_at,
        time_zone_data="2026f",
    )


def fired(**said: Any) -> Timer.Fired:
    facts: dict[str, Any] = {
        "owner": "o",
        "epoch": 1,
        "planned_at": later(),
        "fired_at": later(15),
        "missed": 0,
        "last_run_at": later(15),
        "next_run_at": later(20),
        "message_id": "m",
        "time_zone_data": "2026f",
    }
    return Timer.Fired(**{**facts, **said})


def row(**said: Any) -> dict[str, Any]:
    found = {
        "timer_id": "thread",
        "thread_id": "t",
        "next_run_at": STORED + 10_000_000,
        "due": 0,
        "last_run_at": None,
        "runs": 0,
        "paused": 0,
        "trigger": '{"kind":"delay","seconds":10.0,"repeat":true}',
        "delivery": "after-turn",
        "content": '{"b":1,"a":null}',
        "instructions": "null",
        "metadata": '{"a":1}',
        "source": "host",
        "client_id": None,
        "created_at": STORED,
        "state": "scheduled",
        "error": None,
        "idle": 0,
        "archived": 0,
        "unarchived_at": None,
        "message_id": None,
        "time_zone_data": "2026f",
        "version": 1,
    }
    assert set(said) <= set(found)
    return {**found, **said}


RAN: dict[str, Any] = {"last_run_at": STORED + 15_000_000, "runs": 1, "message_id": "m"}
CHANGED = Timer.Updated(
    changed={"content": "new", "client_id": "me"},
    anchored_at=NINE,
    next_run_at=later(),
    time_zone_data="2026f",
)
TO_IDLE = Timer.Updated(
    changed={"trigger": IDLE}, anchored_at=NINE, next_run_at=None, time_zone_data=""
)
SKIPPED = Timer.Skipped(planned_at=later(), missed=2, next_run_at=later(40), time_zone_data="2026g")
RECOMPUTED = Timer.Recomputed(next_run_at=later(30), time_zone_data="2026g")
IDLE_ROW = {
    "trigger": '{"kind":"delay","seconds":0.0,"repeat":true}',
    "idle": 1,
    "due": 1,
    "next_run_at": None,
}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([created()], row()),
        ([created(IDLE)], row(**IDLE_ROW)),
        ([created(), CHANGED], row(content='"new"', client_id="me", version=2)),
        ([created(), TO_IDLE], row(**IDLE_ROW, time_zone_data="", version=2)),
        ([created(), Timer.Paused()], row(paused=1, version=2)),
        ([created(), Timer.Paused(), Timer.Resumed(missed=1)], row(version=3)),
        ([created(), Timer.Deleted()], row(state="deleted", version=2)),
        ([created(), Timer.MarkedDue(planned_at=later())], row(due=1, version=2)),
        ([created(), fired()], row(next_run_at=STORED + 20_000_000, **RAN, version=2)),
        (
            [created(), Timer.MarkedDue(planned_at=later()), fired(next_run_at=None)],
            row(next_run_at=None, state="ended", **RAN, version=3),
        ),
        (
            [created(), fired(next_run_at=None, error="why")],
            row(next_run_at=None, state="error", error="why", **RAN, version=2),
        ),
        ([created(IDLE), fired(next_run_at=None)], row(**IDLE_ROW, **RAN, version=2)),
        (
            [created(), SKIPPED],
            row(next_run_at=STORED + 40_000_000, time_zone_data="2026g", version=2),
        ),
        (
            [created(), RECOMPUTED],
            row(next_run_at=STORED + 30_000_000, time_zone_data="2026g", version=2),
        ),
        (
            [created(), Timer.SetAside(error="why"), CHANGED.model_copy(update={"changed": {}})],
            row(state="error", error="why", version=3),
        ),
        (
            [created(), Timer.SetAside(error="why"), TO_IDLE],
            row(**IDLE_ROW, time_zone_data="", version=3),
        ),
    ],
)
def test_an_event_changes_its_row(given: type[Given], events: Any, expected: Any) -> None:
    given(*events).then(due_timers=[expected])


def test_the_life_of_its_thread_stands_in_the_row(given: type[Given], recorded: Any) -> None:
    archived = recorded(Thread.Archived(), {}, thread="t")
    back = recorded(Thread.Unarchived(), {}, thread="t")
    other = recorded(Thread.Archived(), {}, thread="u")
    given(created(), other).then(due_timers=[row()])
    given(created(), archived).then(due_timers=[row(archived=1)])
    given(created(), archived, back).then(due_timers=[row(unarchived_at=3_000)])
    given(created(), Timer.Deleted(), archived).then(due_timers=[row(state="deleted", version=2)])
