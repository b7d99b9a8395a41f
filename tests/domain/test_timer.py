"""What a timer answers to each command: given(events).when(command).then(events)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import from_json, to_json

from tests.domain.test_lifecycle_diagram import NONE, Transition, compare, drawn
from turnledger.domain import timer
from turnledger.domain.errors import InvalidTrigger, LedgerError, TimerLimitReached, TimerNotFound
from turnledger.domain.event import Event, EventRegistry
from turnledger.domain.limits import Context, Limits
from turnledger.domain.payload import encode
from turnledger.domain.timer import State, Surroundings, Timer
from turnledger.domain.timer import commands as c
from turnledger.domain.trigger import (
    Cron,
    Delay,
    Schedule,
    Trigger,
    as_trigger,
    next_after,
    occurrences,
)

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
REGISTRY = EventRegistry(timer.EVENTS)
ONE: dict[str, Any] = {"thread_id": "thread", "timer_id": "a", "time_zone_data": "2026f"}
EVERY_TEN = Delay(seconds=10, repeat=True)
settled = settings(derandomize=True, database=None, deadline=None, max_examples=60)


def at(seconds: float, **limits: Any) -> Context:
    now = NOW + timedelta(seconds=seconds)
    return Context(now, now, Limits(**limits))


def create(trigger: Trigger = EVERY_TEN) -> c.Create:
    return c.Create(**ONE, trigger=trigger, content="hi", metadata={})


def fire(**said: Any) -> c.Fire:
    return c.Fire(**ONE, owner="o", **said)


def decided(state: State, command: c.TimerCommand, context: Context) -> list[Event]:
    """What is decided, twice, and read back from its stored form."""
    events = list(timer.decide(state, command, context))
    assert list(timer.decide(state, command, context)) == events
    read = [REGISTRY.read(one.TOPIC, one.SCHEMA_VERSION, encode(one)) for one in events]
    assert read == events
    return events


def after(state: State, command: c.TimerCommand, context: Context) -> State:
    """The state after a command, which is as good as the one that the head row gives."""
    for event in decided(state, command, context):
        assert timer.broken_rule(state, event) is None
        state = timer.evolve(state, event)
    stored = from_json(to_json(state.scalars()))
    back = State.from_scalars(stored, state.epoch)._replace(said=state.said, thread=state.thread)
    assert back == state
    return state


def made(trigger: Trigger = EVERY_TEN) -> State:
    return after(State(), create(trigger), at(0))


def test_a_limit_is_refused_where_it_is_reached() -> None:
    full = State(thread=Surroundings(live_timers=2))
    with pytest.raises(TimerLimitReached):
        timer.decide(full, create(), at(0, max_timers=2))
    assert decided(full, create(), at(0, max_timers=3))


def test_a_trigger_of_a_newer_release_sets_the_timer_aside_with_its_reason() -> None:
    state = made()._replace(trigger={"kind": "lunar", "phase": 1})
    (marked,) = decided(state, c.MarkDue(**ONE), at(10))
    assert isinstance(marked, Timer.SetAside)
    (fired,) = decided(state, fire(), at(10))
    assert isinstance(fired, Timer.Fired)
    assert "lunar" in str(fired.error)
    assert timer.evolve(state, fired).word == "error"
    assert decided(timer.evolve(state, fired), fire(), at(99)) == []


def test_time_zone_data_changes_only_what_is_to_come() -> None:
    state = made(Cron(expression="0 9 * * *", timezone="UTC"))
    newer = c.Recompute(**{**ONE, "time_zone_data": "2030a"})
    (event,) = decided(state, newer, at(0))
    assert isinstance(event, Timer.Recomputed)
    assert (event.next_run_at, event.error) == (state.next_run_at, None)
    assert decided(timer.evolve(state, event), newer, at(0)) == []
    overdue = at(2 * 86_400)
    (kept,) = decided(state, newer, overdue)
    assert isinstance(kept, Timer.Recomputed)
    assert kept.next_run_at == state.next_run_at
    gone = state._replace(trigger={**state.trigger, "timezone": "Nowhere/Land"})
    (lost,) = decided(gone, newer, at(0))
    assert timer.evolve(gone, lost).word == "error"


def test_a_time_that_other_data_puts_into_a_gap_is_the_first_instant_after_it() -> None:
    at_night = datetime(2026, 3, 29, 2, 30)  # noqa: DTZ001 - a local time
    state = made(Schedule(dtstart=at_night, timezone="UTC"))
    moved = state._replace(trigger={**state.trigger, "timezone": "Europe/Berlin"})
    (event,) = decided(moved, c.Recompute(**{**ONE, "time_zone_data": "2030a"}), at(0))
    assert isinstance(event, Timer.Recomputed)
    assert event.next_run_at == datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert timer.evolve(moved, event).word == "scheduled"


def test_a_delay_has_nothing_to_do_with_time_zone_data() -> None:
    assert decided(made(), c.Recompute(**{**ONE, "time_zone_data": "2030a"}), at(0)) == []


def test_another_threads_command_does_nothing() -> None:
    other: dict[str, Any] = {**ONE, "thread_id": "other"}
    for command in (c.Pause(**other), c.Delete(**other), c.MarkDue(**other)):
        assert decided(made(), command, at(10)) == []
    with pytest.raises(TimerNotFound):
        timer.decide(made(), c.Update(**other, changed={"content": 1}), at(0))


# --- the diagram


def histories() -> list[tuple[str, State]]:
    waiting, due = made(), after(made(), c.MarkDue(**ONE), at(10))
    hourly = made(Cron(expression="0 * * * *", timezone="UTC", misfire="skip"))
    broken = waiting._replace(trigger={"kind": "lunar"})
    once = after(made(Delay(seconds=1)), fire(), at(1))
    return [
        (NONE, State()),
        ("scheduled", waiting),
        ("scheduled", hourly),
        ("scheduled", broken),
        ("scheduled", hourly._replace(trigger={**hourly.trigger, "timezone": "No"})),
        ("scheduled", made(Delay(seconds=1))),
        ("due", due),
        ("due", due._replace(trigger={"kind": "delay", "seconds": 1.0})),
        ("due", after(hourly, c.MarkDue(**ONE), at(3_600))),
        ("due", due._replace(trigger={"kind": "lunar"})),
        ("paused", after(waiting, c.Pause(**ONE), at(0))),
        ("paused", after(hourly, c.Pause(**ONE), at(0))),
        ("error", timer.evolve(waiting, Timer.SetAside(error="why"))),
        ("ended", once),
        ("deleted", after(waiting, c.Delete(**ONE), at(0))),
    ]


def word(state: State) -> str:
    if state.word in ("ended", "deleted", "error", None):
        return state.word or NONE
    return "paused" if state.paused else "due" if state.due else "scheduled"


def commands(state: State) -> list[c.TimerCommand]:
    kinds = (c.Pause, c.Resume, c.Delete, c.MarkDue)
    anew = c.Recompute(**{**ONE, "time_zone_data": "2030a"})
    update = c.Update(**ONE, changed={"trigger": Delay(seconds=70), "content": "new"})
    first = [create()] if state.word is None else []
    return [*first, update, fire(), anew, *(kind(**ONE) for kind in kinds)]


def test_the_diagram_of_the_timer_is_what_is_allowed() -> None:
    allowed: set[Transition] = set()
    for before, state in histories():
        assert word(state) == before
        for command in commands(state):
            for seconds in (0, 10, 9_000):
                try:
                    events = timer.decide(state, command, at(seconds))
                except LedgerError:
                    continue
                then = timer.fold(events, state)
                if events and (word(then) != before or command.NAME == "claim"):
                    allowed.add((before, command.NAME, word(then)))
    compare("A timer", drawn("A timer"), allowed)


def test_every_command_of_the_timer_was_tried() -> None:
    kinds = [kind for kind in vars(c).values() if isinstance(kind, type)]
    assert set(map(type, commands(State()))) == {kind for kind in kinds if "NAME" in vars(kind)}


# --- laws

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia")
RULES = (
    *("FREQ=DAILY", "FREQ=HOURLY;INTERVAL=5", "FREQ=MINUTELY;INTERVAL=17", "FREQ=WEEKLY"),
    *("FREQ=DAILY;BYHOUR=1,2,3;BYMINUTE=0,30", "FREQ=MONTHLY;BYDAY=-1SU;BYHOUR=2", "FREQ=MONTHLY"),
    *("FREQ=HOURLY;BYMINUTE=15,45;BYDAY=SU", "FREQ=YEARLY;BYMONTHDAY=31;BYMONTH=10,12"),
)
LINES = (
    "* * * * *",
    "30 2 * * *",
    "*/20 1-3 * * SUN",
    "0 */5 * * *",
    "15 2 29 3,10 *",
    "0 0 1 * 1",
)

policies = st.sampled_from(("coalesce", "skip", "catch_up"))
places = st.sampled_from(ZONES)
moments = st.integers(-631_152_000, 1_900_000_000).map(
    lambda seconds: datetime(2006, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds / 2)
)
delays = st.sampled_from((0.001, 1.0, 10.0, 3_600.0, 1e7)).map(
    lambda seconds: Delay(seconds=seconds, repeat=True)
)
crons = st.builds(Cron, expression=st.sampled_from(LINES), timezone=places, misfire=policies)
rules = st.builds(
    Schedule,
    rrule=st.sampled_from(RULES),
    dtstart=st.sampled_from((datetime(2005, 5, 31, 1, 30), datetime(1999, 12, 31, 23))),  # noqa: DTZ001
    timezone=places,
    misfire=policies,
)
triggers = st.one_of(delays, crons, rules)


@settled
@given(trigger=triggers, now=moments)
def test_the_next_occurrence_is_strictly_after_and_there_is_none_between(
    trigger: Trigger, now: datetime
) -> None:
    anchor = datetime(1986, 1, 1, tzinfo=UTC)
    first = next_after(trigger, anchor, now)
    assert first is not None
    assert first > now
    assert next_after(trigger, anchor, first - timedelta(microseconds=1)) == first
    assert next_after(trigger, anchor, now + (first - now) / 2) == first
    second = next_after(trigger, anchor, first)
    found = occurrences(trigger, anchor, now)
    assert (next(found), next(found)) == (first, second)


@settled
@given(seconds=st.floats(0.001, 1e6), ticks=st.integers(0, 10**4), part=st.floats(0, 0.99))
def test_every_tick_is_on_the_grid(seconds: float, ticks: int, part: float) -> None:
    period = timedelta(seconds=seconds)
    now = NOW + period * ticks + period * part
    tick = next_after(Delay(seconds=seconds, repeat=True), NOW, now)
    assert tick is not None
    assert (tick - NOW) % period == timedelta(0)
    assert now < tick <= now + period


@settled
@given(trigger=triggers, seed=st.integers(0, 2**32), steps=st.integers(1, 25))
def test_no_occurrence_fires_twice_whatever_is_done(
    trigger: Trigger, seed: int, steps: int
) -> None:
    random, seconds = Random(seed), 0.0
    state = made(trigger)
    planned: list[datetime] = []
    epoch = 0
    for _ in range(steps):
        seconds += random.choice((0, 0, 0.5, 5, 60, 4_000, 90_000, -30))
        kind = random.choice((c.Fire, c.Fire, c.Fire, c.MarkDue, c.Pause, c.Resume, c.Recompute))
        said = {"owner": "o"} if kind is c.Fire else {}
        command = kind(**{**ONE, "time_zone_data": random.choice("ab")}, **said)
        before, context = state, at(seconds)
        for event in decided(state, command, context):
            if isinstance(event, Timer.Fired):
                planned.append(event.planned_at)
                epoch += 1
                assert event.epoch == epoch
                assert before.last_run_at is None or event.last_run_at > before.last_run_at
        state = after(state, command, context)
    assert planned == sorted(set(planned))


@settled
@given(trigger=triggers)
def test_a_trigger_comes_back_from_its_stored_form(trigger: Trigger) -> None:
    fields = trigger.model_dump(mode="json", exclude_none=True)
    assert as_trigger(from_json(to_json(fields))) == trigger


@settled
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=20),
        lambda inner: st.dictionaries(
            st.sampled_from(("kind", "seconds", "repeat", "rrule", "dtstart", "expression")), inner
        ),
        max_leaves=6,
    )
)
def test_whatever_is_given_as_a_trigger_is_one_or_is_refused(given_value: object) -> None:
    try:
        trigger = as_trigger(given_value)
    except InvalidTrigger:
        return
    assert as_trigger(trigger) == trigger
