"""What is said of a timer's runs: to those who fire it, and in its history."""

from datetime import UTC, datetime, timedelta

from turnledger.domain.timer import Content, Firing, State, Timer, TimerRun
from turnledger.domain.timer import commands as c

Done = tuple[Timer.Fired, State]


def as_firing(command: c.Fire, done: Done) -> Firing:
    """A firing that was just recorded."""
    fired, state = done
    said: Content = state.said
    return Firing(
        timer_id=command.timer_id,
        thread_id=command.thread_id,
        owner=fired.owner,
        epoch=fired.epoch,
        planned_at=fired.planned_at,
        fired_at=fired.fired_at,
        late_by=_late_by(fired),
        missed=fired.missed,
        last_run_at=fired.last_run_at,
        next_run_at=fired.next_run_at,
        delivery=state.delivery,
        **said._asdict(),
    )


def as_run(timer_id: str, event: object, recorded_at: datetime) -> TimerRun | None:
    """An entry of the history; None of an event that is none."""
    match event:
        case Timer.Fired():
            return TimerRun(
                timer_id=timer_id,
                planned_at=event.planned_at.astimezone(UTC),
                recorded_at=recorded_at,
                fired_at=event.fired_at.astimezone(UTC),
                late_by=_late_by(event),
                missed=event.missed,
                owner=event.owner,
                epoch=event.epoch,
                message_id=event.message_id,
            )
        case Timer.Skipped():
            planned_at = event.planned_at.astimezone(UTC)
            return TimerRun(
                timer_id=timer_id,
                planned_at=planned_at,
                recorded_at=recorded_at,
                missed=event.missed,
            )
        case _:
            return None


def _late_by(fired: Timer.Fired) -> timedelta:
    return max(fired.fired_at - fired.planned_at, timedelta(0))
