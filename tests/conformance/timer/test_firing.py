"""An occurrence is consumed once, at once, by the one who fires it."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.timer.conftest import EVERY_TEN, IDLE, THREAD, Alarm
from turnledger import Cron, Delay, InvalidPayload, InvalidTime, MessageClaim, Schedule

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnledger import Ledger


def test_a_delay_of_nothing_is_due_at_once_and_fires_once(alarm: Alarm) -> None:
    alarm.set("a", Delay(seconds=0))
    assert [timer.timer_id for timer in alarm.timers.mark_due()] == ["a"]
    assert alarm.claim() is not None
    assert alarm.claim() is None
    assert (alarm.get().state, alarm.get().runs) == ("ended", 1)


def test_missed_ticks_become_one_run_on_the_grid_of_the_creation(alarm: Alarm) -> None:
    alarm.at(100)
    alarm.set()
    alarm.at(135)
    firing = alarm.claim()
    assert firing is not None
    assert (alarm.seconds(firing.planned_at), firing.missed) == (110, 2)
    assert (alarm.seconds(firing.fired_at), firing.late_by) == (135, timedelta(seconds=25))
    assert (alarm.next(), firing.epoch) == (140, 1)
    assert alarm.claim() is None


def test_a_past_dtstart_is_due_at_once_and_a_rule_goes_on_in_the_future(alarm: Alarm) -> None:
    past = datetime(2025, 1, 1, 8, 0)  # noqa: DTZ001 - a local time
    alarm.set("once", Schedule(dtstart=past, timezone="UTC"))
    made = alarm.set("rule", Schedule(dtstart=past, rrule="FREQ=DAILY", timezone="UTC"))
    assert made.next_run_at == datetime.fromisoformat("2026-01-06T08:00Z")
    assert alarm.fire() == ["once"]
    assert alarm.get("once").state == "ended"


def test_mark_due_marks_once_and_touches_nothing_that_was_claimed(alarm: Alarm) -> None:
    for name in ("a", "b"):
        alarm.set(name)
    alarm.at(9)
    assert alarm.timers.mark_due() == []
    alarm.at(10)
    assert alarm.claim("b") is not None
    assert [timer.timer_id for timer in alarm.timers.mark_due()] == ["a"]
    assert (alarm.get().due, alarm.get("b").due) == (True, False)
    assert alarm.timers.mark_due() == []
    assert alarm.claim() is not None
    assert alarm.get().due is False
    for name in "cde":
        alarm.set(name, Delay(seconds=0))
    assert len(alarm.timers.mark_due(limit=2)) == 2


def test_who_computed_from_stale_state_loses_also_while_the_timer_stays_due(alarm: Alarm) -> None:
    alarm.set()
    alarm.at(10)
    assert alarm.claim(expected_last_run_at=alarm.start) is None
    first = alarm.claim(expected_last_run_at=None)
    assert first is not None
    alarm.at(20)
    assert alarm.claim(expected_last_run_at=None) is None
    assert alarm.claim(expected_last_run_at=first.last_run_at) is not None


@pytest.mark.parametrize("wrong", ["2026-01-05T09:00:00Z", 0, False, datetime(2026, 1, 5)])  # noqa: DTZ001
def test_what_is_expected_is_a_time_or_none(alarm: Alarm, wrong: Any) -> None:
    alarm.set()
    alarm.at(10)
    with pytest.raises(InvalidTime):
        alarm.claim(expected_last_run_at=wrong)


def test_last_run_at_rises_by_a_millisecond_at_least(alarm: Alarm) -> None:
    alarm.set("a", Cron(expression="* * * * *", timezone="UTC", misfire="catch_up"))
    alarm.at(180)
    times = [alarm.claim(), alarm.claim(), alarm.claim()]
    stamps = [alarm.seconds(firing.last_run_at) for firing in times if firing is not None]
    assert stamps == [180, 180.001, 180.002]
    assert [firing.epoch for firing in times if firing is not None] == [1, 2, 3]
    assert alarm.claim() is None


def test_fields_change_in_the_same_step_as_the_claim(alarm: Alarm) -> None:
    alarm.set()
    alarm.at(10)
    changed = {"content": "new", "metadata": {"n": 1}, "trigger": Delay(seconds=60)}
    firing = alarm.claim(changed=changed)
    assert firing is not None
    assert (firing.content, firing.metadata, alarm.seconds(firing.planned_at)) == (
        "new",
        {"n": 1},
        10,
    )
    assert (alarm.get().content, alarm.next(), alarm.get().state) == ("new", 70, "scheduled")
    with pytest.raises(InvalidPayload):
        alarm.claim(changed={"colour": "red"})
    assert alarm.claim(changed={"content": "never"}) is None
    assert alarm.get().content == "new"


def test_the_least_recently_run_comes_first_then_the_oldest(alarm: Alarm) -> None:
    for name in ("b", "a"):
        alarm.set(name)
    alarm.at(10)
    alarm.set("c", Delay(seconds=0))
    assert alarm.fire(1) == ["a"]
    alarm.at(20)
    assert alarm.fire() == ["b", "c", "a"]
    alarm.at(30)
    assert [firing.timer_id for firing in alarm.timers.claim_due("o", 1)] == ["a"]
    assert [firing.timer_id for firing in alarm.timers.claim_due("o")] == ["b"]


def test_a_firing_and_its_message_say_the_same(alarm: Alarm) -> None:
    alarm.set(instructions="how", metadata={"a": 1}, source="cal", delivery="steer-current-turn")
    alarm.at(15)
    (message,) = alarm.fired()
    assert (message.content, message.instructions, message.metadata) == ("a", "how", {"a": 1})
    assert (message.source, message.delivery, message.thread_id) == (
        "cal",
        "steer-current-turn",
        THREAD,
    )
    assert alarm.ledger.inbox.list(THREAD) == [message]
    (run,) = alarm.runs()
    assert (run.message_id, run.owner, run.epoch) == (message.message_id, "o", 1)
    assert (alarm.seconds(run.planned_at), run.late_by) == (10, timedelta(seconds=5))


def test_a_firing_that_cant_post_consumes_nothing(
    alarm: Alarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    alarm.set()
    alarm.at(10)

    def broken(*_args: Any) -> Any:
        raise RuntimeError

    monkeypatch.setattr("turnledger.timers.firing.post_in", broken)
    with pytest.raises(RuntimeError):
        alarm.fire()
    monkeypatch.undo()
    assert (alarm.get().runs, alarm.runs(), alarm.next()) == (0, [], 10)
    assert alarm.fire() == ["a"]


def test_an_idle_timer_fires_while_nothing_else_is_to_be_done(alarm: Alarm) -> None:
    made = alarm.set("idle", IDLE, delivery="steer-current-turn")
    assert (made.due, made.next_run_at, made.delivery) == (True, None, "after-turn")
    assert alarm.timers.mark_due() == []
    turn = alarm.ledger.queue.append(THREAD, {}).queued_turn_id
    assert (alarm.fire(), alarm.claim("idle")) == ([], None)
    claim = alarm.ledger.queue.claim_head(THREAD, "w")
    assert claim is not None
    assert alarm.fire() == []
    alarm.ledger.queue.release(claim)
    alarm.ledger.queue.delete(THREAD, turn)
    assert (alarm.fire(), alarm.fire(), alarm.claim("idle")) == (["idle"], [], None)
    alarm.confirm()
    alarm.clock.advance(1)
    assert (alarm.fire(), alarm.get("idle").runs) == (["idle"], 2)


def test_an_idle_timer_waits_for_its_message_in_whatever_state_that_is(alarm: Alarm) -> None:
    alarm.set("idle", IDLE)
    (message,) = alarm.fired()
    inbox, can = alarm.ledger.inbox, {"can_after_turn": True, "can_steer_current_turn": False}
    assert isinstance(inbox.claim_next(THREAD, "reader", **can), MessageClaim)
    assert alarm.fire() == []  # in flight
    alarm.clock.advance(61)
    inbox.recover(THREAD)
    assert alarm.fire() == []  # undelivered
    assert inbox.delete(THREAD, message.message_id)
    assert alarm.fire() == ["idle"]


def test_ordinary_timers_and_messages_come_before_an_idle_one(alarm: Alarm) -> None:
    alarm.set("idle", IDLE)
    alarm.set("ordinary", Delay(seconds=0))
    alarm.ledger.inbox.post(THREAD, "message", source="test")
    assert (alarm.fire(1), alarm.fire(1), alarm.fire(1)) == (["ordinary"], ["idle"], [])
    waiting = [message.content for message in alarm.ledger.inbox.list(THREAD)]
    assert waiting == ["message", "ordinary", "idle"]


def test_two_schedulers_fire_each_occurrence_once(
    alarm: Alarm, open_ledger: Callable[..., Ledger]
) -> None:
    for number in range(40):
        alarm.set(f"t{number}", Delay(seconds=0), thread=f"thread {number % 7}")
    ledgers = [open_ledger(), open_ledger()]
    found: list[str] = []

    def work(ledger: Ledger) -> None:
        while posted := ledger.timers.fire_due("o", 3):
            found.extend(message.content for message in posted)

    threads = [threading.Thread(target=work, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found += alarm.fire()
    assert sorted(found) == sorted(f"t{number}" for number in range(40))


@pytest.mark.parametrize("limit", [256])  # the default
def test_two_creators_at_the_limit_dont_pass_it_together(
    open_ledger: Callable[..., Ledger], limit: int
) -> None:
    ledgers = [open_ledger(max_timers=limit) for _ in range(2)]
    for number in range(limit - 1):
        ledgers[0].timers.create(THREAD, EVERY_TEN, number)
    gate, refused = threading.Barrier(2), []

    def create(ledger: Ledger) -> None:
        gate.wait()
        try:
            ledger.timers.create(THREAD, EVERY_TEN, "last")
        except Exception as error:  # noqa: BLE001 - it is looked at below
            refused.append(type(error).__name__)

    threads = [threading.Thread(target=create, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == ["TimerLimitReached"]
    assert len(ledgers[0].timers.list(THREAD)) == limit
