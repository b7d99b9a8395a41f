"""What must hold, always: which event can follow which state, for those who check a history.

`decide` never breaks these rules; a history that somebody has tampered with may.
"""

from collections.abc import Callable
from typing import Any

from turnledger.domain.coordinator_turn.events import CoordinatorTurn
from turnledger.domain.coordinator_turn.state import State
from turnledger.domain.event import Event

Rule = tuple[bool, str]


def broken_rule(state: State, event: Event) -> str | None:
    """The rule that an event breaks, if it can't follow a state."""
    rules = _RULES.get(type(event))
    found = rules(state, event) if rules is not None else ()
    return next((rule for holds, rule in found if not holds), None)


def _begun(state: State, _event: CoordinatorTurn.Begun) -> tuple[Rule, ...]:
    return ((state.status is None, "a turn is begun once"),)


def _claimed(state: State, event: CoordinatorTurn.Claimed) -> tuple[Rule, ...]:
    return (
        (event.epoch == state.epoch + 1, "epochs rise by one"),
        (state.status in ("pending", "claimed"), "only a turn that isn't settled is claimed"),
    )


def _held(state: State, event: Any) -> tuple[Rule, ...]:
    held = state.held is not None and state.epoch == event.epoch
    return ((held, "only the current claim changes a turn, under its epoch"),)


def _prepared(state: State, event: CoordinatorTurn.Prepared) -> tuple[Rule, ...]:
    latest = state.latest
    return (
        *_held(state, event),
        (state.owner == event.owner, "an epoch has one owner"),
        (event.attempt == len(state.attempts) + 1, "attempts come one after the other"),
        (latest is None or latest.is_settled, "at most one attempt of a turn is unsettled"),
    )


def _dispatched(state: State, event: CoordinatorTurn.DispatchStarted) -> tuple[Rule, ...]:
    attempt = state.attempt(event.attempt)
    own = attempt is not None and (attempt.owner, attempt.epoch) == (event.owner, event.epoch)
    return (
        *_held(state, event),
        *_in("prepared", "a request is dispatched at most once")(state, event),
        (own, "a request is dispatched by the attempt's own claim"),
    )


def _in(status: str, rule: str) -> Callable[[State, Any], tuple[Rule, ...]]:
    """The event's attempt has that status."""

    def rules(state: State, event: Any) -> tuple[Rule, ...]:
        attempt = state.attempt(event.attempt)
        return ((attempt is not None and attempt.status == status, rule),)

    return rules


def _answered(status: str, rule: str) -> Callable[[State, Any], tuple[Rule, ...]]:
    """Likewise, and it belongs to the current claim."""

    def rules(state: State, event: Any) -> tuple[Rule, ...]:
        attempt = state.attempt(event.attempt)
        own = attempt is not None and attempt.epoch == event.epoch
        return (
            *_held(state, event),
            *_in(status, rule)(state, event),
            (own, "an attempt is answered under the epoch of its dispatch"),
        )

    return rules


def _resolved(state: State, event: CoordinatorTurn.Resolved) -> tuple[Rule, ...]:
    claim = (event.owner, event.epoch) == (state.owner, state.epoch)
    open_ended = event.decision != "retry" or not state.is_settled
    return (
        *_in("unknown", "only an unknown outcome is resolved")(state, event),
        (claim, "what is resolved belongs to the latest claim"),
        (open_ended, "nothing is retried in a turn that is settled"),
    )


def _failed(state: State, event: CoordinatorTurn.Failed) -> tuple[Rule, ...]:
    latest = state.latest
    answered = latest is not None and latest.status == "responded"
    return (*_held(state, event), (not answered, "a paid answer is never overwritten by a failure"))


def _cancelled(state: State, _event: CoordinatorTurn.Cancelled) -> tuple[Rule, ...]:
    is_open = state.status in ("pending", "claimed")
    return ((is_open, "only a turn that isn't settled is cancelled"),)


_DISPATCHING = "only what is being dispatched is answered"

_RULES: dict[type[Event], Callable[[State, Any], tuple[Rule, ...]]] = {
    CoordinatorTurn.Begun: _begun,
    CoordinatorTurn.Claimed: _claimed,
    CoordinatorTurn.Renewed: _held,
    CoordinatorTurn.Released: _held,
    CoordinatorTurn.Recovered: _held,
    CoordinatorTurn.Prepared: _prepared,
    CoordinatorTurn.DispatchStarted: _dispatched,
    CoordinatorTurn.Responded: _answered("dispatching", _DISPATCHING),
    CoordinatorTurn.Refused: _answered("dispatching", _DISPATCHING),
    CoordinatorTurn.Rejected: _answered("responded", "only an answer is rejected"),
    CoordinatorTurn.OutcomeUnknown: _in("dispatching", "only a dispatch is of unknown outcome"),
    CoordinatorTurn.Resolved: _resolved,
    CoordinatorTurn.Acked: _held,
    CoordinatorTurn.Failed: _failed,
    CoordinatorTurn.Cancelled: _cancelled,
}
