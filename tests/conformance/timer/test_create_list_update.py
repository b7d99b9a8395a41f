"""Timers are created, listed, changed and ended, as the page has it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.timer.conftest import EVERY_TEN, IDLE, THREAD, Alarm
from turnledger import (
    Cron,
    Delay,
    IdempotencyConflict,
    InvalidPayload,
    InvalidTrigger,
    Schedule,
    TimerLimitReached,
    TimerNotFound,
)
from turnledger.infrastructure import host_zone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from turnledger import Ledger


DEEP: list[Any] = []
for _ in range(10_000):
    DEEP = [DEEP]


def test_a_timer_comes_back_with_all_that_was_said(alarm: Alarm) -> None:
    said: dict[str, Any] = {"instructions": ["softly"], "metadata": {"a_1": {"b": 2**70}}}
    said |= {"delivery": "steer-current-turn", "source": "cal", "client_id": "me"}
    made = alarm.timers.create(THREAD, Delay(seconds=5), {"z": 1, "a": "\0"}, **said)
    assert alarm.get(made.timer_id) == made
    assert {name: getattr(made, name) for name in said} == said
    assert (made.content, made.state, made.runs) == ({"z": 1, "a": "\0"}, "scheduled", 0)
    assert (alarm.seconds(made.next_run_at), made.last_run_at) == (5, None)


@pytest.mark.parametrize(
    "trigger",
    [
        {"kind": "delay", "seconds": 10},
        {"kind": "cron", "expression": "0 9 * * *", "timezone": "UTC"},
        {"kind": "schedule", "dtstart": "2027-01-01T09:00:00", "timezone": "Europe/Berlin"},
        {"kind": "schedule", "rrule": "RRULE:FREQ=DAILY", "timezone": "UTC", "misfire": "skip"},
    ],
)
def test_a_trigger_is_accepted_as_a_dict_too(alarm: Alarm, trigger: dict[str, Any]) -> None:
    made = alarm.set("a", trigger)
    assert made.trigger is not None
    assert trigger.items() <= made.trigger.model_dump(mode="json").items()


@pytest.mark.parametrize(
    "trigger",
    [
        None,
        "daily",
        {},
        {"kind": "lunar"},
        {"kind": DEEP},
        {"kind": "delay"},
        {"kind": "delay", "seconds": -1},
        {"kind": "delay", "seconds": float("nan")},
        {"kind": "delay", "seconds": 1e30},
        {"kind": "delay", "seconds": True},
        {"kind": "delay", "seconds": 1, "colour": "red"},
        {"kind": "delay", "seconds": 1e-9, "repeat": True},
        {"kind": "schedule"},
        {"kind": "schedule", "dtstart": "2027-01-01T09:00:00Z"},
        {"kind": "schedule", "dtstart": "2026-03-29T02:30:00", "timezone": "Europe/Berlin"},
        {"kind": "schedule", "dtstart": "2027-01-01T09:00:00", "timezone": "../etc/passwd"},
        {"kind": "schedule", "rrule": "FREQ=DAILY", "timezone": ""},
        {"kind": "schedule", "rrule": "FREQ=DAILY", "timezone": "europe/berlin"},
        {"kind": "schedule", "rrule": "FREQ=DAILY;INTERVAL=0"},
        {"kind": "schedule", "rrule": "FREQ=DAILY;UNTIL=20200101T000000Z"},
        {"kind": "schedule", "rrule": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"},
        {"kind": "cron", "expression": "* * * *"},
        {"kind": "cron", "expression": "0 0 30 2 *"},
    ],
)
def test_what_can_never_fire_is_refused(alarm: Alarm, trigger: Any) -> None:
    with pytest.raises(InvalidTrigger):
        alarm.set("a", trigger)
    assert alarm.timers.list(THREAD) == []


def test_a_wrong_trigger_is_refused_where_it_is_made(alarm: Alarm) -> None:
    del alarm
    with pytest.raises(InvalidTrigger):
        Delay(seconds=-1)


@pytest.mark.parametrize(
    "wrong",
    [{"metadata": {"a-b": 1}}, {"metadata": {"": 1}}, {"delivery": "by-pigeon"}, {"metadata": []}],
)
def test_wrong_fields_are_refused(alarm: Alarm, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidPayload):
        alarm.set(**wrong)
    alarm.set()
    with pytest.raises(InvalidPayload):
        alarm.timers.update(THREAD, "a", **wrong)
    with pytest.raises(InvalidPayload):
        alarm.timers.update(THREAD, "a", colour="red")


def test_the_same_again_gives_the_first_result(alarm: Alarm) -> None:
    first = alarm.set("a", Cron(expression="0 9 * * *", timezone="UTC"))
    keyed = alarm.timers.create(THREAD, EVERY_TEN, "b", idempotency_key="k")
    alarm.at(100_000)
    alarm.fire()
    again = alarm.set("a", Cron(expression="0 9 * * *", timezone="UTC"))
    assert (again.duplicate, again.next_run_at, again.runs) == (True, first.next_run_at, 0)
    same = alarm.timers.create(THREAD, EVERY_TEN, "b", idempotency_key="k")
    assert (same.timer_id, same.duplicate) == (keyed.timer_id, True)
    for other in ({"trigger": EVERY_TEN}, {"content": "x"}, {"thread_id": "other"}):
        told: dict[str, Any] = {"trigger": Cron(expression="0 9 * * *", timezone="UTC")}
        told |= {"content": "a", "thread_id": THREAD, **other}
        with pytest.raises(IdempotencyConflict):
            alarm.timers.create(**told, timer_id="a")


def test_an_id_answers_after_the_end_of_its_timer_and_beyond_the_limit(
    open_ledger: Callable[..., Ledger],
) -> None:
    timers = open_ledger(max_timers=1).timers
    timers.create(THREAD, {"kind": "delay", "seconds": 0}, "a", timer_id="a")
    timers.fire_due("o")
    timers.create(THREAD, EVERY_TEN, "b", timer_id="b")
    with pytest.raises(TimerLimitReached):
        timers.create(THREAD, EVERY_TEN, "c", timer_id="c")
    assert timers.create(THREAD, Delay(seconds=0), "a", timer_id="a").duplicate
    assert timers.delete(THREAD, "b")
    timers.create(THREAD, EVERY_TEN, "c", timer_id="c")
    timers.create("another thread", EVERY_TEN, "d")


def test_the_list_is_in_the_order_of_creation_and_then_of_ids(alarm: Alarm) -> None:
    for name in ("b", "a"):
        alarm.set(name)
    alarm.at(1)
    alarm.set("0")
    alarm.set("elsewhere", thread="other")
    alarm.set("gone")
    alarm.timers.delete(THREAD, "gone")
    assert [timer.timer_id for timer in alarm.timers.list(THREAD)] == ["a", "b", "0"]
    assert alarm.get("gone").state == "deleted"
    assert alarm.timers.get(THREAD, "elsewhere") is None
    assert alarm.timers.get(THREAD, "never") is None


def test_update_changes_only_what_is_named(alarm: Alarm) -> None:
    before = alarm.set(instructions="how", metadata={"a": 1}, client_id="me")
    after = alarm.timers.update(THREAD, "a", content=["new"], client_id=None)
    assert (after.content, after.client_id) == (["new"], None)
    assert (after.instructions, after.metadata) == ("how", {"a": 1})
    assert (after.trigger, after.next_run_at) == (before.trigger, before.next_run_at)
    events = alarm.ledger.verify().events
    assert alarm.timers.update(THREAD, "a", content=["new"], trigger=EVERY_TEN) == after
    assert alarm.ledger.verify().events == events


def test_a_new_trigger_recomputes_the_next_run(alarm: Alarm) -> None:
    alarm.set()
    alarm.at(4)
    alarm.timers.update(THREAD, "a", trigger=Delay(seconds=60))
    assert alarm.next() == 64
    alarm.timers.update(THREAD, "a", trigger=IDLE, delivery="steer-current-turn")
    assert (alarm.next(), alarm.get().due, alarm.get().delivery) == (None, True, "after-turn")
    with pytest.raises(InvalidTrigger):
        alarm.timers.update(THREAD, "a", trigger={"kind": "cron", "expression": "x"})
    assert alarm.get().trigger == IDLE


def test_commands_are_scoped_to_the_thread(alarm: Alarm) -> None:
    alarm.set()
    for command in (alarm.timers.pause, alarm.timers.resume, alarm.timers.delete):
        assert command("other", "a") is False
        assert command(THREAD, "never") is False
    for thread, name in (("other", "a"), (THREAD, "never")):
        with pytest.raises(TimerNotFound):
            alarm.timers.update(thread, name, content="x")
    alarm.at(10)
    assert alarm.claim(thread="other") is None
    assert alarm.timers.history("other", "a") == []


def test_pause_resume_and_delete_say_whether_they_did_something(alarm: Alarm) -> None:
    alarm.set()
    assert [alarm.timers.resume(THREAD, "a"), alarm.timers.pause(THREAD, "a")] == [False, True]
    assert (alarm.get().paused, alarm.timers.pause(THREAD, "a")) == (True, False)
    assert [alarm.timers.resume(THREAD, "a"), alarm.timers.delete(THREAD, "a")] == [True, True]
    assert [alarm.timers.delete(THREAD, "a"), alarm.timers.pause(THREAD, "a")] == [False, False]
    with pytest.raises(TimerNotFound):
        alarm.timers.update(THREAD, "a", content="x")


def test_without_a_timezone_the_hosts_is_stored(
    alarm: Alarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Australia/Lord_Howe")
    made = alarm.set("a", Cron(expression="0 9 * * *"))
    assert isinstance(made.trigger, Cron)
    assert made.trigger.timezone == "Australia/Lord_Howe"


def test_a_host_whose_timezone_nobody_knows_counts_in_utc(
    alarm: Alarm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TZ", "Middle-earth/Shire")
    for name in ("_LINK", "_FILE"):
        monkeypatch.setattr(host_zone, name, tmp_path / "nothing")
    made = alarm.set("a", Cron(expression="0 9 * * *"))
    assert isinstance(made.trigger, Cron)
    assert made.trigger.timezone == "UTC"


def test_the_same_again_from_a_host_in_another_timezone_is_the_same(
    alarm: Alarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    trigger = Cron(expression="0 9 * * *")
    monkeypatch.setenv("TZ", "Europe/Berlin")
    first = alarm.set("a", trigger, idempotency_key="k")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert alarm.set("a", trigger, idempotency_key="k").trigger == first.trigger
    assert alarm.set("a", trigger).duplicate
    with pytest.raises(IdempotencyConflict):
        alarm.set("a", Cron(expression="0 9 * * *", timezone="Asia/Tokyo"))


def test_a_rule_without_a_dtstart_begins_now_and_may_be_due_at_once(alarm: Alarm) -> None:
    made = alarm.set("a", Schedule(rrule="FREQ=DAILY;COUNT=2", timezone="Europe/Berlin"))
    assert isinstance(made.trigger, Schedule)
    assert made.trigger.dtstart is not None
    assert made.trigger.dtstart.hour == 10
    assert alarm.next() == 0
    assert alarm.fire() == ["a"]
    assert alarm.next() == 86_400
    alarm.at(86_400)
    assert alarm.fire() == ["a"]
    assert (alarm.get().state, alarm.next()) == ("ended", None)
    alarm.at(timedelta(days=900).total_seconds())
    assert (alarm.fire(), alarm.timers.mark_due()) == ([], [])
