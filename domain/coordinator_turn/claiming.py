"""What a turn answers to those who work on it: its begin, its claims, their end."""

from turnledger.domain.claim import is_stale, live
from turnledger.domain.coordinator_turn import commands as c
from turnledger.domain.coordinator_turn.events import CoordinatorTurn
from turnledger.domain.coordinator_turn.guards import NOTHING, Decided, is_unanswered, refuse
from turnledger.domain.coordinator_turn.state import State
from turnledger.domain.limits import Context


def begin(state: State, command: c.Begin, context: Context) -> Decided:
    """Once; claimed at once, if there is an owner."""
    if state.status is not None:
        refuse(command, "it was begun before")
    begun = CoordinatorTurn.Begun(
        work_item_id=command.work_item_id,
        turn_order=command.turn_order,
        message=command.message,
        kind=command.kind,
        target=command.target,
        created_at=context.recorded_at,
        attachments=command.attachments,
    )
    if command.owner is None or command.lease is None:
        return [begun]
    end = context.now + command.lease
    return [begun, CoordinatorTurn.Claimed(owner=command.owner, epoch=1, expires_at=end)]


def claim(state: State, command: c.Claim, context: Context) -> Decided:
    """Nothing, if somebody has it, or it is settled, or never was."""
    held = state.held
    if state.status != "pending" and not (held and is_stale(held, context)):
        return NOTHING
    end = context.now + command.lease
    return [CoordinatorTurn.Claimed(owner=command.owner, epoch=state.epoch + 1, expires_at=end)]


def claim_next(state: State, command: c.ClaimNext, context: Context) -> Decided:
    """Nothing either, if it is to be tried again later only."""
    if state.not_before is not None and context.now < state.not_before:
        return NOTHING
    return claim(state, command, context)


def resume(state: State, command: c.Resume, context: Context) -> Decided:
    """What was being dispatched under the claim that is over becomes unknown first."""
    claimed = claim(state, command, context)
    if claimed and is_unanswered(state, context):
        return [CoordinatorTurn.OutcomeUnknown(attempt=len(state.attempts)), *claimed]
    return claimed


def renew(state: State, command: c.Renew, context: Context) -> Decided:
    """A live claim only."""
    held = live(state.held, command, context)
    return [CoordinatorTurn.Renewed(epoch=held.epoch, expires_at=context.now + command.lease)]


def release(state: State, command: c.Release, context: Context) -> Decided:
    """A live claim only."""
    held = live(state.held, command, context)
    return [CoordinatorTurn.Released(epoch=held.epoch)]


def recover(state: State, _command: c.Recover, context: Context) -> Decided:
    """First what was being dispatched, and then the claim; never one that is live."""
    unknown = CoordinatorTurn.OutcomeUnknown(attempt=len(state.attempts))
    recovered = CoordinatorTurn.Recovered(epoch=state.epoch)
    return [
        *([unknown] if is_unanswered(state, context) else []),
        *([recovered] if is_stale(state.held, context) else []),
    ]
