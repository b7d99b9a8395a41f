"""What must hold, always: which event can follow which state, for those who check a history.

`decide` never breaks these rules; a history that somebody has tampered with may.
"""

from collections.abc import Callable
from typing import Any

from turnledger.domain.event import Event
from turnledger.domain.operation.events import Operation
from turnledger.domain.operation.state import State

Rule = tuple[bool, str]


def broken_rule(state: State, event: Event) -> str | None:
    """The rule that an event breaks, if it can't follow a state.

    Args:
        state: With its run, as it is by then.
        event: What is said to have happened.
    """
    rules = _RULES.get(type(event))
    found = rules(state, event) if rules is not None else ()
    return next((rule for holds, rule in found if not holds), None)


def _created(state: State, _event: Operation.Created) -> tuple[Rule, ...]:
    return ((state.execution is None, "an operation is created once"),)


def _claimed(state: State, event: Operation.Claimed) -> tuple[Rule, ...]:
    claim = (event.owner, event.run_epoch)
    of_run = (state.run.owner, state.run.epoch) == claim and state.run.status == "running"
    return (
        (state.execution == "not_started", "an operation is claimed once"),
        (event.execution_epoch == state.epoch + 1, "epochs rise by one"),
        (of_run, "an operation is claimed by the current claim of its run"),
    )


def _cancel_requested(state: State, _event: Operation.CancelRequested) -> tuple[Rule, ...]:
    return ((state.execution == "running", "only what runs is cancelled"),)


def _completed(state: State, _event: Operation.Completed) -> tuple[Rule, ...]:
    held = state.run.held
    current = held is not None and (held.owner, held.epoch) == (state.owner, state.run_epoch)
    return (
        (state.is_running, "only what runs is completed"),
        (current, "an operation is completed by the claim under which it ran"),
    )


def _orphaned(state: State, _event: Operation.Orphaned) -> tuple[Rule, ...]:
    return ((state.is_running, "only what runs is orphaned"),)


def _never_claimed(state: State, _event: Operation.NeverClaimed) -> tuple[Rule, ...]:
    return (
        (state.execution == "not_started", "only what hasn't begun was never claimed"),
        (state.run.is_over, "what may still be claimed isn't settled"),
    )


def _resolved(state: State, _event: Operation.Resolved) -> tuple[Rule, ...]:
    return ((state.is_in_doubt, "only what is in doubt is decided"),)


_RULES: dict[type[Event], Callable[[State, Any], tuple[Rule, ...]]] = {
    Operation.Created: _created,
    Operation.Claimed: _claimed,
    Operation.CancelRequested: _cancel_requested,
    Operation.Completed: _completed,
    Operation.Orphaned: _orphaned,
    Operation.NeverClaimed: _never_claimed,
    Operation.Resolved: _resolved,
}
