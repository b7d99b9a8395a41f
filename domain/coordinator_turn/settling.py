"""What a turn answers to those who end it."""

from turnledger.domain.claim import current, live
from turnledger.domain.coordinator_turn import commands as c
from turnledger.domain.coordinator_turn.events import CoordinatorTurn
from turnledger.domain.coordinator_turn.guards import NOTHING, Decided, must_be_begun, refuse
from turnledger.domain.coordinator_turn.state import State
from turnledger.domain.limits import Context


def complete(state: State, command: c.Complete, context: Context) -> Decided:
    """A live claim only."""
    held = live(state.held, command, context)
    result, altered = command.result, command.altered
    return [CoordinatorTurn.Acked(epoch=held.epoch, completed=True, result=result, altered=altered)]


def fail(state: State, command: c.Fail, context: Context) -> Decided:
    """A live claim only; an answer that was paid for isn't passed over."""
    held = live(state.held, command, context)
    latest = state.latest
    if latest is not None and latest.status == "responded":
        refuse(command, f"attempt {len(state.attempts)} is responded; use its answer or reject it")
    error, altered = command.error, command.altered
    return [CoordinatorTurn.Failed(epoch=held.epoch, error=error, altered=altered)]


def ack(state: State, command: c.Ack, _context: Context) -> Decided:
    """A current claim is enough."""
    held = current(state.held, command)
    return [CoordinatorTurn.Acked(epoch=held.epoch, completed=False)]


def cancel(state: State, command: c.Cancel, _context: Context) -> Decided:
    """Nothing, if it is cancelled."""
    must_be_begun(state, command)
    if state.status == "cancelled":
        return NOTHING
    if state.status == "acked":
        refuse(command, "it is acked")
    return [CoordinatorTurn.Cancelled(reason=command.reason, altered=command.altered)]
