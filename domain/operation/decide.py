"""What an operation answers to each command."""

from collections.abc import Callable, Sequence
from typing import Any

from turnledger.domain.claim import is_live, live
from turnledger.domain.errors import IdempotencyConflict, InvalidTransition, OperationNotFound
from turnledger.domain.event import Event
from turnledger.domain.limits import Context
from turnledger.domain.operation import commands as c
from turnledger.domain.operation.events import Operation
from turnledger.domain.operation.state import State, content_hash, evolve

Decided = Sequence[Event]
NOTHING: Decided = ()

TOO_LATE = "completed after the claim of its run was lost"
NOBODYS = "the claim of its run was lost while it ran"
NEVER = "never claimed"


def decide(state: State, command: c.OperationCommand, context: Context) -> Decided:
    """The events that a command leads to; none if there is nothing to do.

    Raises:
        Refusal: The state doesn't allow it.
    """
    return _DECISIONS[type(command)](state, command, context)


def is_claimers(state: State, command: c.ClaimCommand) -> bool:
    """Whether the claim that a command shows is the one under which it was claimed."""
    shown = (command.run_id, command.owner, command.epoch)
    return (state.run_id, state.owner, state.run_epoch) == shown


def _create(state: State, command: c.Create, context: Context) -> Decided:
    if _is_known(state, command):
        return NOTHING
    return (_created(command, context),)


def _claim(state: State, command: c.Claim, context: Context) -> Decided:
    held = live(state.run.held, command, context)
    if state.execution != "not_started" or state.run_id != command.run_id:
        return NOTHING
    if command.automatic and state.replay_policy != "safe":
        return NOTHING
    epochs = {"run_epoch": held.epoch, "execution_epoch": state.epoch + 1}
    return (Operation.Claimed(owner=held.owner, **epochs),)


def _create_and_claim(state: State, command: c.CreateAndClaim, context: Context) -> Decided:
    if _is_known(state, command):
        return _claim(state, command, context)
    created = _created(command, context)
    claimed = _claim(evolve(state, created), command, context)
    return (created, *claimed) if claimed else NOTHING


def _complete(state: State, command: c.Complete, context: Context) -> Decided:
    if not state.is_running or not is_claimers(state, command):
        return NOTHING
    if not is_live(state.run.held, command, context):
        return (Operation.Orphaned(reason=TOO_LATE),)
    said = {"result": command.result, "altered": command.altered}
    return (Operation.Completed(effect=command.effect, **said),)


def _request_cancel(state: State, _command: c.RequestCancel, _context: Context) -> Decided:
    return (Operation.CancelRequested(),) if state.execution == "running" else NOTHING


def _recover(state: State, command: c.Recover, context: Context) -> Decided:
    """What a live claim holds isn't touched, nor what may still be claimed."""
    if state.is_running and not _is_answered_for(state, command, context):
        return (Operation.Orphaned(reason=NOBODYS),)
    if state.execution == "not_started" and state.run.is_over:
        return (Operation.NeverClaimed(reason=NEVER),)
    return NOTHING


def _is_answered_for(state: State, command: c.Recover, context: Context) -> bool:
    claimer = c.ClaimCommand(
        key=command.key, run_id=state.run_id, owner=state.owner or "", epoch=state.run_epoch
    )
    return is_live(state.run.held, claimer, context)


def _resolve(state: State, command: c.Resolve, _context: Context) -> Decided:
    if state.execution is None:
        raise OperationNotFound(command.key)
    if not state.is_in_doubt:
        reason = f"it is {state.execution}, and its effect {state.effect}; nothing is to be decided"
        raise InvalidTransition(command.key, command.NAME, reason, kind="operation")
    return (
        Operation.Resolved(
            effect=_CONFIRMED[command.decision],
            by=command.by,
            evidence=command.evidence,
            altered=command.altered,
        ),
    )


def _is_known(state: State, command: c.Create | c.CreateAndClaim) -> bool:
    """Whether it was created before, with the same content.

    Raises:
        IdempotencyConflict: With another.
    """
    if state.execution is None:
        return False
    if state.content_hash != content_hash(command):
        raise IdempotencyConflict("the ledger", command.key, c.Create.NAME)
    return True


def _created(command: c.Create | c.CreateAndClaim, context: Context) -> Operation.Created:
    return Operation.Created(
        run_id=command.run_id,
        work_item_id=command.work_item_id,
        action_id=command.action_id,
        operation_type=command.operation_type,
        payload=command.payload,
        replay_policy=command.replay_policy,
        created_at=context.recorded_at,
    )


_CONFIRMED: dict[c.Decision, Any] = {
    "confirm_applied": "applied",
    "confirm_not_applied": "not_applied",
    "confirm_failed_no_effect": "failed_no_effect",
}
_DECISIONS: dict[type[c.OperationCommand], Callable[[State, Any, Context], Decided]] = {
    c.Create: _create,
    c.Claim: _claim,
    c.CreateAndClaim: _create_and_claim,
    c.Complete: _complete,
    c.RequestCancel: _request_cancel,
    c.Recover: _recover,
    c.Resolve: _resolve,
}
