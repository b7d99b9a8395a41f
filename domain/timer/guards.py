"""What must hold before a timer's command goes on."""

from collections.abc import Sequence

from turnledger.domain.errors import TimerNotFound
from turnledger.domain.event import Event
from turnledger.domain.limits import Context
from turnledger.domain.timer.commands import TimerCommand
from turnledger.domain.timer.state import State

Decision = Sequence[Event]
NOTHING: Decision = ()


def is_mine(state: State, command: TimerCommand) -> bool:
    """Whether it is a live timer of the thread that the command names."""
    return state.is_live and state.thread_id == command.thread_id


def must_be_mine(state: State, command: TimerCommand) -> None:
    """Refuse a timer that isn't there, not any more, or another thread's."""
    if not is_mine(state, command):
        raise TimerNotFound(command.thread_id, command.timer_id)


def has_come(state: State, context: Context) -> bool:
    """Whether its next run may be consumed now, as far as the thread lets it."""
    ready = state.word == "scheduled" and not state.paused
    if not ready or state.thread.lifecycle != "active":
        return False
    if state.next_run_at is None:
        return not state.thread.has_work and not state.thread.holds_message
    return state.due or state.next_run_at <= context.now
