"""What becomes of runs that were slept through, paused over, or can't be computed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from freezegun import freeze_time

import turnledger
from tests.conformance.timer.conftest import THREAD, Alarm
from turnledger import Cron, Delay, Schedule, Settings
from turnledger.domain.trigger import time_zone

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.stores import Store
    from turnledger import Ledger

HOUR = 3_600
POLICIES: dict[Any, tuple[int, int, list[tuple[float | None, int]]]] = {
    # how many run, the next run in hours, and planned (in hours) and missed of each entry
    "coalesce": (1, 4, [(1, 2)]),
    "skip": (0, 4, [(1, 3)]),
    "catch_up": (3, 4, [(1, 0), (2, 0), (3, 0)]),
}


def hourly(policy: Any) -> Cron:
    return Cron(expression="0 * * * *", timezone="UTC", misfire=policy)


@pytest.mark.parametrize("policy", POLICIES)
def test_each_policy_treats_what_was_slept_through(alarm: Alarm, policy: str) -> None:
    runs, following, history = POLICIES[policy]
    alarm.set("a", hourly(policy))
    alarm.at(3.5 * HOUR)
    fired: list[Any] = []
    while posted := alarm.fire():
        fired += posted
    assert len(fired) == runs
    assert alarm.next() == following * HOUR
    hours = [(alarm.seconds(run.planned_at), run.missed) for run in alarm.runs()]
    assert [(planned and planned / HOUR, missed) for planned, missed in hours] == history
    alarm.at(following * HOUR)
    assert alarm.fire() == ["a"]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_restart_after_a_long_sleep(store_url: str, policy: str) -> None:
    runs, following, _ = POLICIES[policy]
    start = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
    settings = Settings(synchronous="NORMAL")

    def now() -> datetime:
        return datetime.now(UTC)

    with freeze_time(start):
        ledger = turnledger.open(store_url, clock=now, settings=settings)
        ledger.timers.create(THREAD, hourly(policy), "a", timer_id="a")
        ledger.close()
    with freeze_time(start + timedelta(hours=3.5)):
        ledger = turnledger.open(store_url, clock=now, settings=settings)
        fired = 0
        while posted := ledger.timers.fire_due("o"):
            fired += len(posted)
        timer = ledger.timers.get(THREAD, "a")
        ledger.close()
    assert timer is not None
    assert (fired, timer.next_run_at) == (runs, start + timedelta(hours=following))


def test_an_occurrence_that_is_hardly_late_isnt_skipped(alarm: Alarm) -> None:
    alarm.set("a", hourly("skip"))
    alarm.at(HOUR + 30)
    assert alarm.fire() == ["a"]
    alarm.at(5 * HOUR + 30)
    assert alarm.fire() == ["a"]
    assert [(alarm.seconds(run.planned_at), run.missed) for run in alarm.runs()] == [
        (HOUR, 0),
        (5 * HOUR, 3),
    ]


def test_what_is_to_be_skipped_isnt_marked_as_due(alarm: Alarm) -> None:
    alarm.set("a", hourly("skip"))
    alarm.at(3.5 * HOUR)
    assert alarm.timers.mark_due() == []
    assert alarm.next() == 4 * HOUR


def test_at_most_a_hundred_are_caught_up_the_latest_ones(alarm: Alarm) -> None:
    alarm.set("a", Cron(expression="* * * * *", timezone="UTC", misfire="catch_up"))
    alarm.at(250 * 60 + 1)
    count = 0
    while alarm.claim() is not None:
        count += 1
    first, *_, last = alarm.runs()
    assert (count, alarm.seconds(first.planned_at), first.missed) == (100, 151 * 60, 150)
    assert (alarm.seconds(last.planned_at), alarm.next()) == (250 * 60, 251 * 60)


@pytest.mark.parametrize(
    ("policy", "fires"), [("coalesce", ["a"]), ("skip", []), ("catch_up", ["a"])]
)
def test_what_passed_in_a_pause_is_treated_at_resume_and_recorded(
    alarm: Alarm, policy: str, fires: list[str], store: Store
) -> None:
    alarm.set("a", hourly(policy))
    alarm.timers.pause(THREAD, "a")
    alarm.at(3.5 * HOUR)
    assert (alarm.fire(), alarm.timers.mark_due(), alarm.claim()) == ([], [], None)
    assert alarm.timers.resume(THREAD, "a")
    (resumed,) = [event for event in store.events() if event.type == "timer.resumed"]
    assert '"missed":3' in resumed.data
    assert alarm.next() == (4 * HOUR if policy == "skip" else HOUR)
    assert alarm.fire() == fires


def test_an_archived_threads_timers_dont_fire_and_are_due_again_coalesced(alarm: Alarm) -> None:
    for policy in POLICIES:
        alarm.set(policy, hourly(policy))
    alarm.ledger.threads.archive(THREAD)
    alarm.at(3.5 * HOUR)
    assert (alarm.fire(), alarm.timers.mark_due(), alarm.claim("skip")) == ([], [], None)
    assert alarm.timers.claim_due("o") == []
    with pytest.raises(turnledger.ThreadArchived):
        alarm.set("new")
    with pytest.raises(turnledger.ThreadArchived):
        alarm.timers.update(THREAD, "skip", content="x")
    alarm.ledger.threads.unarchive(THREAD)
    assert sorted(alarm.fire()) == sorted(POLICIES)
    assert {alarm.next(policy) for policy in POLICIES} == {4 * HOUR}
    alarm.ledger.threads.archive(THREAD)
    assert alarm.timers.delete(THREAD, "skip")


def test_deleting_a_thread_ends_its_timers_in_the_same_transaction(
    alarm: Alarm, store: Store
) -> None:
    for name in ("a", "b"):
        alarm.set(name)
    alarm.set("other", thread="other")
    before = store.events()[-1].position
    assert alarm.ledger.threads.delete(THREAD).timers == 2
    commands = {event.metadata.partition('"id":"')[2][:36] for event in store.events(before)}
    assert len(commands) == 1
    assert (alarm.timers.list(THREAD), alarm.get("a").state) == ([], "deleted")
    assert len(alarm.timers.list("other")) == 1
    for command in (alarm.timers.pause, alarm.timers.resume, alarm.timers.delete):
        with pytest.raises(turnledger.ThreadDeleted):
            command(THREAD, "a")
    with pytest.raises(turnledger.ThreadDeleted):
        alarm.set("new")
    alarm.at(10)
    assert alarm.fire() == ["other"]
    assert alarm.ledger.threads.delete(THREAD).timers == 0


def test_a_timer_that_cant_be_computed_is_set_aside_and_stops_no_other(
    alarm: Alarm, store: Store
) -> None:
    for name in ("bad", "good"):
        alarm.set(name, hourly("coalesce"))
    was, broken = "0 * * * *", "0 0 31 4 *"
    query = "UPDATE streams SET state = replace(state, ?, ?) WHERE stream_id = ?"
    store.damage(query, was, broken, "timer:bad")
    alarm.at(HOUR)
    assert alarm.fire() == ["bad", "good"]
    bad = alarm.get("bad")
    assert (bad.state, bad.next_run_at) == ("error", None)
    assert "expression" in str(bad.error)
    alarm.at(2 * HOUR)
    assert alarm.fire() == ["good"]
    assert bad.timer_id in [timer.timer_id for timer in alarm.timers.list(THREAD)]
    alarm.timers.update(THREAD, "bad", trigger=Delay(seconds=1))
    alarm.at(2 * HOUR + 1)
    assert (alarm.get("bad").error, alarm.fire()) == (None, ["bad"])


def test_a_timer_with_an_event_of_a_newer_release_stops_no_other(
    ledger: Ledger, clock: Any, store: Store
) -> None:
    alarm = Alarm(ledger, clock)
    for name in ("bad", "good"):
        alarm.set(name)
    ledger.log.read(limit=1)  # it gives positions
    store.damage("UPDATE events SET type = 'timer.sung' WHERE position = ?", 1)
    store.damage("UPDATE streams SET form = 99 WHERE stream_id = ?", "timer:bad")
    alarm.at(10)
    assert [firing.timer_id for firing in alarm.timers.claim_due("o", 1)] == ["good"]
    assert [timer.timer_id for timer in alarm.timers.list(THREAD)] == ["bad", "good"]


def test_other_time_zone_data_computes_next_runs_anew_at_open(
    alarm: Alarm, open_ledger: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch, store: Store
) -> None:
    monkeypatch.setattr(time_zone, "VERSION", "2000a")
    for number in range(3):
        alarm.set(f"t{number}", hourly("coalesce"))
    alarm.set("once", Schedule(dtstart=datetime(2027, 1, 1), timezone="UTC"))  # noqa: DTZ001
    alarm.set("delay")
    at = alarm.next("t0")
    monkeypatch.undo()
    open_ledger()
    recomputed = [event for event in store.events() if event.type == "timer.recomputed"]
    assert len(recomputed) == 4
    assert all(time_zone.VERSION in event.data for event in recomputed)
    assert alarm.next("t0") == at
    open_ledger()
    assert len(store.events()) == 9


def test_a_step_of_the_clock_backwards_fires_nothing_twice(alarm: Alarm) -> None:
    alarm.set()
    alarm.at(30)
    assert alarm.fire() == ["a"]
    alarm.at(10)
    assert (alarm.fire(), alarm.next()) == ([], 40)
    alarm.at(40)
    assert alarm.fire() == ["a"]
