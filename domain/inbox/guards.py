"""What stands against a claim, and what is refused."""

from collections.abc import Sequence
from typing import NoReturn

from turnledger.domain.claim import is_stale
from turnledger.domain.errors import InvalidTransition
from turnledger.domain.event import Event
from turnledger.domain.inbox import commands as c
from turnledger.domain.inbox.state import Message, State
from turnledger.domain.inbox.values import DELIVERIES, NotReady
from turnledger.domain.limits import Context

Decision = Sequence[Event]
NOTHING: Decision = ()


def not_ready(state: State, command: c.ClaimNext, context: Context) -> NotReady | None:
    """Why there is a message and yet no claim; None if there is one, or there is nothing to claim.

    Only a thread that is active gives out claims.
    """
    if state.lifecycle != "active":
        return None
    flying, oldest = state.in_flight, state.oldest
    if flying is not None:
        is_over = is_stale(flying, context)
        return NotReady(
            message_id=flying.message_id, reason="expired_claim" if is_over else "in_flight"
        )
    if oldest is None or oldest.delivery not in DELIVERIES or is_deliverable(oldest, command):
        return None
    return NotReady(message_id=oldest.message_id, reason="not_deliverable")


def is_deliverable(message: Message, command: c.ClaimNext) -> bool:
    """Whether a message can go where it wants to; steering waits for nothing but a thread."""
    if message.delivery == "after-turn":
        return command.can_after_turn
    return command.can_after_turn or command.can_steer_current_turn


def refuse(command: c.InboxCommand, reason: str) -> NoReturn:
    """Say that the state doesn't allow it."""
    raise InvalidTransition(command.thread_id, command.NAME, reason)
