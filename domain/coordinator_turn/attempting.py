"""What a turn answers about its attempts: prepared, dispatched, answered, decided."""

from turnledger.domain.claim import live
from turnledger.domain.coordinator_turn import commands as c
from turnledger.domain.coordinator_turn.events import CoordinatorTurn
from turnledger.domain.coordinator_turn.guards import (
    NOTHING,
    Decided,
    attempt_of,
    must_be_begun,
    must_be_own,
    own_attempt,
    refuse,
)
from turnledger.domain.coordinator_turn.state import State
from turnledger.domain.errors import AttemptsExhausted, RequestChanged
from turnledger.domain.limits import Context


def prepare(state: State, command: c.Prepare, context: Context) -> Decided:
    """A live claim only; nothing, if it stands as it is wished."""
    held = live(state.held, command, context)
    number = command.attempt or _next_number(state)
    known = state.attempt(number)
    if known is None:
        _must_follow(state, command, number)
        most = context.limits.retry_policy.max_attempts
        if number > most:
            raise AttemptsExhausted(command.turn_id, number, most)
        return [
            CoordinatorTurn.Prepared(
                attempt=number,
                request=command.request,
                request_hash=command.request_hash,
                owner=held.owner,
                epoch=held.epoch,
            )
        ]
    if known.request_hash != command.request_hash:
        raise RequestChanged(command.turn_id, number, known.request_hash, command.request_hash)
    must_be_own(known, command, number)
    return NOTHING


def start_dispatch(state: State, command: c.StartDispatch, context: Context) -> Decided:
    """Once in the life of an attempt."""
    attempt = own_attempt(state, command, context, "prepared")
    return [
        CoordinatorTurn.DispatchStarted(
            attempt=command.attempt, owner=attempt.owner, epoch=attempt.epoch
        )
    ]


def respond(state: State, command: c.Respond, context: Context) -> Decided:
    """Once, to the very request that was sent."""
    attempt = own_attempt(state, command, context, "dispatching")
    if attempt.request_hash != command.request_hash:
        given = command.request_hash
        raise RequestChanged(command.turn_id, command.attempt, attempt.request_hash, given)
    return [
        CoordinatorTurn.Responded(
            attempt=command.attempt,
            epoch=attempt.epoch,
            response=command.response,
            response_hash=command.response_hash,
            altered=command.altered,
        )
    ]


def refuse_attempt(state: State, command: c.Refuse, context: Context) -> Decided:
    """Once; it says when to try again, if that may help."""
    attempt = own_attempt(state, command, context, "dispatching")
    not_before = None
    if command.retryable:
        wait = context.limits.retry_policy.wait(command.attempt, command.turn_id)
        not_before = command.retry_at or context.now + wait
    return [
        CoordinatorTurn.Refused(
            attempt=command.attempt,
            epoch=attempt.epoch,
            error=command.error,
            retryable=command.retryable,
            not_before=not_before,
            altered=command.altered,
        )
    ]


def reject(state: State, command: c.Reject, context: Context) -> Decided:
    """What was answered."""
    attempt = own_attempt(state, command, context, "responded")
    return [
        CoordinatorTurn.Rejected(
            attempt=command.attempt,
            epoch=attempt.epoch,
            error=command.error,
            altered=command.altered,
        )
    ]


def resolve(state: State, command: c.Resolve, _context: Context) -> Decided:
    """What is unknown; whoever comes second finds that it isn't any more."""
    must_be_begun(state, command)
    attempt = attempt_of(state, command)
    if attempt.status != "unknown":
        refuse(command, f"attempt {command.attempt} is {attempt.status}, so its outcome is known")
    if state.is_settled and command.decision == "retry":
        refuse(command, f"the turn is {state.status}; adopt or cancel the attempt")
    return [
        CoordinatorTurn.Resolved(
            attempt=command.attempt,
            decision=command.decision,
            by=command.by,
            owner=state.owner,
            epoch=state.epoch,
            response=command.response,
            response_hash=command.response_hash,
            reason=command.reason,
            altered=command.altered,
        )
    ]


def _next_number(state: State) -> int:
    """Of the latest attempt, or of one behind it if it is settled."""
    latest = state.latest
    return len(state.attempts) + (latest is None or latest.is_settled)


def _must_follow(state: State, command: c.Prepare, number: int) -> None:
    count, latest = len(state.attempts), state.latest
    if number != count + 1:
        refuse(command, f"attempt {number} would come behind attempt {count}; they have no gaps")
    if latest is not None and not latest.is_settled:
        refuse(command, f"attempt {count} is {latest.status}, and not settled")
