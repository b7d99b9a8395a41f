"""What must hold, always: which event can follow which state, for those who check a history.

`decide` never breaks these rules; a history that somebody has tampered with may.
"""

from turnledger.domain.event import Event
from turnledger.domain.timer.events import Timer
from turnledger.domain.timer.state import State

Rule = tuple[bool, str]


def broken_rule(state: State, event: Event) -> str | None:
    """The rule that an event breaks, if it can't follow a state."""
    return next((rule for holds, rule in _rules(state, event) if not holds), None)


def _rules(state: State, event: Event) -> tuple[Rule, ...]:
    if isinstance(event, Timer.Created):
        return ((state.word is None, "a timer is created once"),)
    live: Rule = (state.is_live, "only a live timer changes")
    match event:
        case Timer.Fired():
            return (live, *_fired(state, event))
        case Timer.MarkedDue():
            return (live, (not state.due, "a timer is marked as due once"))
        case Timer.Paused():
            return (live, (not state.paused, "a timer is paused once"))
        case Timer.Resumed():
            return (live, (state.paused, "only a paused timer is resumed"))
        case _:
            return (live,)


def _fired(state: State, event: Timer.Fired) -> tuple[Rule, ...]:
    planned, last = state.next_run_at, state.last_run_at
    return (
        (not state.paused, "a paused timer doesn't fire"),
        (event.epoch == state.epoch + 1, "epochs rise by one"),
        (planned is None or event.planned_at >= planned, "an occurrence is consumed once"),
        (last is None or event.last_run_at > last, "last_run_at rises"),
    )
