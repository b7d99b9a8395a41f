"""What a timer answers to schedulers: due, fired, computed anew."""

from datetime import UTC, datetime, timedelta
from typing import cast

from turnledger.domain.errors import InvalidTrigger
from turnledger.domain.event import Event
from turnledger.domain.limits import Context
from turnledger.domain.timer import commands as c
from turnledger.domain.timer.events import Timer
from turnledger.domain.timer.guards import NOTHING, Decision, has_come, is_mine
from turnledger.domain.timer.setting import changed, data_of, skipped
from turnledger.domain.timer.state import State
from turnledger.domain.trigger import Delay, Due, Schedule, due, next_after

_APART = timedelta(milliseconds=1)
_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


def mark_due(state: State, command: c.MarkDue, context: Context) -> Decision:
    """Nothing, if it isn't due, or was marked before."""
    next_run_at = state.next_run_at
    if not is_mine(state, command) or not has_come(state, context) or state.due:
        return NOTHING
    if next_run_at is None:
        return NOTHING
    try:
        found = _due(state, next_run_at, context)
    except InvalidTrigger as error:
        return [Timer.SetAside(error=error.reason)]
    if found.planned_at is None:
        return [skipped(state, next_run_at, found, command)]
    return [Timer.MarkedDue(planned_at=next_run_at)]


def fire(state: State, command: c.Fire, context: Context) -> Decision:
    """Nothing, if it isn't due, or isn't as the caller expected."""
    if not is_mine(state, command) or not has_come(state, context):
        return NOTHING
    expected = command.expected_last_run_at
    if expected is not ... and expected != state.last_run_at:
        return NOTHING
    if state.next_run_at is None:
        found, error = Due(context.now, 0, None), None
    else:
        found, error = _computed(state, state.next_run_at, context)
    if found.planned_at is None and state.next_run_at is not None:
        return [skipped(state, state.next_run_at, found, command)]
    updates, found, error = _changes(state, command, context, found, error)
    return [*updates, _fired(state, command, context, found, error)]


def recompute(state: State, command: c.Recompute, context: Context) -> Decision:
    """Only a run that is still to come, of a trigger with a timezone."""
    planned_at = state.next_run_at
    data = {"time_zone_data": command.time_zone_data}
    if not is_mine(state, command) or state.time_zone_data in {"", command.time_zone_data}:
        return NOTHING
    if planned_at is None or planned_at <= context.now or state.due or state.word == "error":
        return [Timer.Recomputed(next_run_at=planned_at, **data, error=state.error)]
    try:
        next_run_at = _anew(state, planned_at, context.now)
    except InvalidTrigger as error:
        return [Timer.Recomputed(next_run_at=None, **data, error=error.reason)]
    return [Timer.Recomputed(next_run_at=next_run_at, **data)]


def _fired(state: State, command: c.Fire, context: Context, found: Due, error: str | None) -> Event:
    now, last = context.now, state.last_run_at
    return Timer.Fired(
        owner=command.owner,
        epoch=state.epoch + 1,
        planned_at=found.planned_at or now,
        fired_at=now,
        missed=found.missed,
        last_run_at=now if last is None else max(now, last + _APART),
        next_run_at=found.next_run_at,
        message_id=command.message_id,
        time_zone_data=data_of(state.trigger, command),
        error=error,
    )


def _changes(
    state: State, command: c.Fire, context: Context, found: Due, error: str | None
) -> tuple[Decision, Due, str | None]:
    """What changes in the same step; a new trigger counts for the run after this one."""
    updates: list[Event] = []
    for event in changed(state, command, command.changed or {}, context):
        update = cast("Timer.Updated", event)
        if "trigger" in update.changed:
            found, error = found._replace(next_run_at=update.next_run_at), None
            update = update.model_copy(update={"next_run_at": state.next_run_at})
        updates.append(update)
    return updates, found, error


def _computed(state: State, planned_at: datetime, context: Context) -> tuple[Due, str | None]:
    """What is to be run, and why no next run can be computed, if so: this one runs all the same."""
    try:
        return _due(state, planned_at, context), None
    except InvalidTrigger as error:
        return Due(planned_at, 0, None), error.reason


def _due(state: State, planned_at: datetime, context: Context) -> Due:
    unarchived_at = state.thread.unarchived_at
    waited = unarchived_at is not None and planned_at <= unarchived_at
    anchor, now = state.anchored_at or planned_at, max(planned_at, context.now)
    return due(state.as_trigger(), anchor, planned_at, now, coalesce=waited)


def _anew(state: State, planned_at: datetime, now: datetime) -> datetime | None:
    trigger = state.as_trigger()
    if isinstance(trigger, Delay):
        return planned_at
    if isinstance(trigger, Schedule) and trigger.rrule is None:
        return next_after(trigger, planned_at, _BEFORE_ALL)  # also in a gap that is new
    return next_after(trigger, state.anchored_at or now, now)
