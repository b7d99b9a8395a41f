"""What a run answers to each command."""

from collections.abc import Sequence
from typing import Any, NoReturn, assert_never

from turnledger.domain.claim import is_stale, live
from turnledger.domain.errors import IdempotencyConflict, InvalidTransition
from turnledger.domain.event import Event
from turnledger.domain.limits import Context
from turnledger.domain.run import commands as c
from turnledger.domain.run.events import Run
from turnledger.domain.run.state import State


def decide(state: State, command: c.AnyCommand, context: Context) -> Sequence[Event]:
    """The event that a command leads to; none if there is nothing to do.

    Raises:
        Refusal: The state doesn't allow it.
    """
    match command:
        case c.Start():
            return _start(state, command, context)
        case c.Renew():
            held = live(state.held, command, context)
            return (Run.Renewed(epoch=held.epoch, expires_at=context.now + command.lease),)
        case c.Finish():
            held = live(state.held, command, context)
            said = {"outcome": command.outcome, "altered": command.altered}
            return (Run.Finished(epoch=held.epoch, **said),)
        case c.Interrupt():
            if state.held is None:
                return ()
            return (Run.Interrupted(reason=command.reason, altered=command.altered),)
        case _:
            assert_never(command)


def _start(state: State, command: c.Start, context: Context) -> Sequence[Event]:
    about: dict[str, Any] = {"work_item_id": command.work_item_id, "action_id": command.action_id}
    claim: dict[str, Any] = {"owner": command.owner, "epoch": state.epoch + 1}
    claim["expires_at"] = context.now + command.lease
    if state.status is None:
        return (Run.Started(**about, **claim),)
    if about != {"work_item_id": state.work_item_id, "action_id": state.action_id}:
        raise IdempotencyConflict("the ledger", command.run_id, command.NAME)
    if state.is_over:
        _refuse(command, f"it is {state.status}; start another one")
    return (Run.TakenOver(**claim),) if is_stale(state, context) else ()


def _refuse(command: c.RunCommand, reason: str) -> NoReturn:
    raise InvalidTransition(command.run_id, command.NAME, reason, kind="run")
