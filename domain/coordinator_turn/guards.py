"""Which attempt a command means, and what is refused."""

from collections.abc import Sequence
from typing import NoReturn

from turnledger.domain.claim import is_stale, live
from turnledger.domain.coordinator_turn import commands as c
from turnledger.domain.coordinator_turn.state import Attempt, State
from turnledger.domain.errors import InvalidTransition, TurnNotFound
from turnledger.domain.event import Event
from turnledger.domain.limits import Context

Decided = Sequence[Event]
NOTHING: Decided = ()


def refuse(command: c.TurnCommand, reason: str) -> NoReturn:
    """Say that the state doesn't allow it."""
    raise InvalidTransition(command.turn_id, command.NAME, reason, kind="turn")


def must_be_begun(state: State, command: c.TurnCommand) -> None:
    """Refuse a turn that never was.

    Raises:
        TurnNotFound: It never was.
    """
    if state.status is None:
        raise TurnNotFound(command.turn_id)


def attempt_of(state: State, command: c.AttemptCommand | c.Resolve) -> Attempt:
    """The attempt that a command names."""
    attempt = state.attempt(command.attempt)
    if attempt is None:
        refuse(command, f"there is no attempt {command.attempt}")
    return attempt


def own_attempt(state: State, command: c.AttemptCommand, context: Context, status: str) -> Attempt:
    """The attempt that a command names, if it belongs to its claim, which is live.

    Args:
        state: The turn.
        command: Shows a claim.
        context: By what the claim is judged.
        status: What the attempt must be.

    Raises:
        ClaimLost: The claim isn't live.
        InvalidTransition: It isn't such an attempt.
    """
    held = live(state.held, command, context)
    attempt = attempt_of(state, command)
    if (attempt.owner, attempt.epoch) != held[:2]:
        refuse(command, f"attempt {command.attempt} {_others(attempt)}")
    if attempt.status != status:
        refuse(command, f"attempt {command.attempt} is {attempt.status}, not {status}")
    return attempt


def must_be_own(attempt: Attempt, command: c.Prepare, number: int) -> None:
    """Refuse an attempt that was under way when the turn was taken over."""
    if (attempt.owner, attempt.epoch) != (command.owner, command.epoch):
        refuse(command, f"attempt {number} {_others(attempt)}")


def is_unanswered(state: State, context: Context) -> bool:
    """Whether the latest attempt is being dispatched, and no live claim is that of its owner."""
    latest, held = state.latest, state.held
    if latest is None or latest.status != "dispatching":
        return False
    own = held is not None and held[:2] == (latest.owner, latest.epoch)
    return not own or is_stale(held, context)


def _others(attempt: Attempt) -> str:
    who = f"belongs to {attempt.owner} at epoch {attempt.epoch}"
    return f"{who}; recover it, and resolve it if its outcome is unknown"
