"""What a timer answers to those who set it: created, changed, paused, ended."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from turnledger.domain.errors import InvalidTrigger, TimerLimitReached
from turnledger.domain.limits import Context
from turnledger.domain.thread import must_exist, must_take_work
from turnledger.domain.timer import commands as c
from turnledger.domain.timer.events import Timer
from turnledger.domain.timer.guards import NOTHING, Decision, is_mine, must_be_mine
from turnledger.domain.timer.state import State
from turnledger.domain.trigger import (
    Due,
    Trigger,
    due,
    first_run,
    in_timezone,
    is_idle,
    passed_over,
)

AFTER_TURN = "after-turn"


def create(state: State, command: c.Create, context: Context) -> Decision:
    """With its trigger resolved, and its first run."""
    must_take_work(state.thread.lifecycle, command.thread_id)
    limit = context.limits.max_timers
    if state.thread.live_timers >= limit:
        raise TimerLimitReached(command.thread_id, state.thread.live_timers, limit)
    given = in_timezone(command.trigger, command.timezone)
    trigger, next_run_at = first_run(given, context.now)
    return [
        Timer.Created(
            thread_id=command.thread_id,
            trigger=fields_of(trigger),
            content=command.content,
            instructions=command.instructions,
            metadata=command.metadata,
            delivery=AFTER_TURN if is_idle(trigger) else command.delivery,
            source=command.source,
            client_id=command.client_id,
            created_at=context.now,
            next_run_at=next_run_at,
            time_zone_data=data_of(fields_of(trigger), command),
        )
    ]


def update(state: State, command: c.Update, context: Context) -> Decision:
    """Nothing, if what is named is so already."""
    must_take_work(state.thread.lifecycle, command.thread_id)
    must_be_mine(state, command)
    return changed(state, command, command.changed, context)


def changed(
    state: State, command: c.TimerCommand, given: Mapping[str, Any], context: Context
) -> Decision:
    """The event that changes fields; with a new trigger, it has the first run of that."""
    wanted = {name: value for name, value in given.items() if name != "trigger"}
    trigger: Trigger | None = given.get("trigger")
    if trigger is not None and state.word != "error" and _same_trigger(state.trigger, trigger):
        trigger = None
    if state.is_idle if trigger is None else is_idle(trigger):
        wanted["delivery"] = AFTER_TURN
    known = {**state.said._asdict(), "delivery": state.delivery}
    other = {name: value for name, value in wanted.items() if not _same(known[name], value)}
    anchored_at, next_run_at = state.anchored_at or context.now, state.next_run_at
    data = state.time_zone_data
    if trigger is not None:
        resolved, next_run_at = first_run(trigger, context.now)
        other["trigger"] = fields_of(resolved)
        anchored_at, data = context.now, data_of(other["trigger"], command)
    if not other:
        return NOTHING
    facts: dict[str, Any] = {
        "anchored_at": anchored_at,
        "next_run_at": next_run_at,
        "time_zone_data": data,
    }
    return [Timer.Updated(changed=other, **facts)]


def pause(state: State, command: c.Pause, _context: Context) -> Decision:
    """Nothing, if it is paused, or not there."""
    must_exist(state.thread.lifecycle, command.thread_id)
    if not is_mine(state, command) or state.paused:
        return NOTHING
    return [Timer.Paused()]


def resume(state: State, command: c.Resume, context: Context) -> Decision:
    """Nothing, if it isn't paused. What passed meanwhile is treated by its policy."""
    must_exist(state.thread.lifecycle, command.thread_id)
    if not is_mine(state, command) or not state.paused:
        return NOTHING
    planned_at, now = state.next_run_at, context.now
    if planned_at is None or planned_at > now or state.word != "scheduled":
        return [Timer.Resumed(missed=0)]
    anchor = state.anchored_at or planned_at
    try:
        trigger = state.as_trigger()
        resumed = Timer.Resumed(missed=passed_over(trigger, anchor, planned_at, now))
        found = due(trigger, anchor, planned_at, now)
    except InvalidTrigger:
        return [Timer.Resumed(missed=0)]  # the firing sets it aside
    return [resumed] if found.planned_at else [resumed, skipped(state, planned_at, found, command)]


def delete(state: State, command: c.Delete, _context: Context) -> Decision:
    """Nothing, if it isn't there."""
    must_exist(state.thread.lifecycle, command.thread_id)
    return [Timer.Deleted()] if is_mine(state, command) else NOTHING


def fields_of(trigger: Trigger) -> dict[str, Any]:
    """A trigger as it is stored."""
    return trigger.model_dump(mode="json", exclude_none=True)


def data_of(trigger: dict[str, Any], command: c.TimerCommand) -> str:
    """The version of the time zone data that counts for a trigger: none, if it has no timezone."""
    return "" if trigger.get("kind") == "delay" else command.time_zone_data


def skipped(
    state: State, planned_at: datetime, found: Due, command: c.TimerCommand
) -> Timer.Skipped:
    """The event that says of occurrences that they aren't run."""
    return Timer.Skipped(
        planned_at=planned_at,
        missed=found.missed,
        next_run_at=found.next_run_at,
        time_zone_data=data_of(state.trigger, command),
    )


def _same_trigger(known: dict[str, Any], wanted: Trigger) -> bool:
    """Whether a trigger is the one that is set; a dtstart that isn't given says nothing."""
    given = fields_of(wanted)
    same = {name: value for name, value in known.items() if name != "dtstart" or name in given}
    return same == given


def _same(known: object, wanted: object) -> bool:
    """Whether two JSON values are the same; to Python, True is 1."""
    return known == wanted and repr(known) == repr(wanted)
