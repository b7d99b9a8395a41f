"""How timers and their runs are shown to people."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from turnledger import ScheduledTimer, TimerRun
from turnledger.cli import json_text
from turnledger.cli.plain_text import age, squeezed
from turnledger.cli.sheet import Cell, Column, Fields, Table
from turnledger.cli.turn_view import moment, summary
from turnledger.domain.trigger import Cron, Delay, Trigger, is_idle

_STYLES = {"error": "red", "ended": "dim", "deleted": "dim"}
_COLUMNS = (
    Column("timer"),
    Column("state"),
    Column("next run"),
    Column("runs", right=True),
    Column("trigger", "shortened"),
    Column("content", "shortened"),
)
_RUN_COLUMNS = (
    Column("planned"),
    Column("actual"),
    Column("late by", right=True),
    Column("missed", right=True),
    Column("owner"),
    Column("message"),
)


def timer_table(timers: Sequence[ScheduledTimer], now: datetime | None = None) -> Table:
    """Timers as rows, in the order in which they were created; as of a time, default now."""
    now = now or datetime.now(UTC)
    rows = [
        (
            Cell(timer.timer_id),
            _state(timer),
            Cell(_next_run(timer, now)),
            Cell(str(timer.runs)),
            Cell(_said(timer.trigger)),
            _content(timer),
        )
        for timer in timers
    ]
    return Table(_COLUMNS, rows, "no timers")


def timer_card(timer: ScheduledTimer) -> Fields:
    """All that is known of one timer."""
    return [
        ("thread", Cell(timer.thread_id)),
        ("timer", Cell(timer.timer_id)),
        ("state", _state(timer)),
        ("error", Cell(squeezed(timer.error or ""), "red")),
        ("trigger", Cell(_said(timer.trigger))),
        ("next run", Cell(moment(timer.next_run_at))),
        ("last run", Cell(moment(timer.last_run_at))),
        ("runs", Cell(str(timer.runs or ""))),
        ("content", _content(timer)),
        ("instructions", Cell(_json(timer.instructions))),
        ("metadata", Cell(_json(timer.metadata or None))),
        ("delivery", Cell(timer.delivery)),
        ("source", Cell(timer.source)),
        ("client", Cell(timer.client_id or "")),
        ("created at", Cell(moment(timer.created_at))),
    ]


def run_table(runs: Sequence[TimerRun]) -> Table:
    """What became of a timer's occurrences, as rows."""
    rows = [
        (
            Cell(moment(run.planned_at)),
            Cell(moment(run.fired_at) or "not run"),
            Cell(_span(run.late_by)),
            Cell(str(run.missed or "")),
            Cell(run.owner or ""),
            Cell(run.message_id or ""),
        )
        for run in runs
    ]
    return Table(_RUN_COLUMNS, rows, "no runs")


def _said(trigger: Trigger | None) -> str:
    """A trigger on one line."""
    match trigger:
        case None:
            return "(unreadable)"
        case Delay():
            if is_idle(trigger):
                return "when the thread is idle"
            return f"{'every' if trigger.repeat else 'after'} {trigger.seconds:.15g} s"
        case Cron():
            return squeezed(f"{trigger.expression} in {trigger.timezone}")
        case _:
            begin = "" if trigger.dtstart is None else f" from {trigger.dtstart.isoformat()}"
            return squeezed(f"{trigger.rrule or 'once'}{begin} in {trigger.timezone}")


def _state(timer: ScheduledTimer) -> Cell:
    word = timer.state
    if timer.paused and word in {"scheduled", "error"}:
        word = f"{word}, paused"
    elif timer.due:
        word = "due"
    return Cell(word, _STYLES.get(timer.state, ""))


def _next_run(timer: ScheduledTimer, now: datetime) -> str:
    if timer.state != "scheduled":
        return ""
    return "when idle" if timer.next_run_at is None else age(timer.next_run_at, now)


def _content(timer: ScheduledTimer) -> Cell:
    if timer.unreadable is not None:
        return Cell(f"(unreadable: {timer.unreadable})", "red")
    return Cell(summary(timer.content))


def _json(value: object) -> str:
    if value is None:
        return ""
    return squeezed(value if isinstance(value, str) else json_text.compact(value))


def _span(late_by: timedelta | None) -> str:
    return "" if late_by is None else f"{late_by.total_seconds():,.3f} s"
