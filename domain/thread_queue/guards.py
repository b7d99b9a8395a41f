"""What must hold before a queue's command goes on: fences, lifecycle and limits."""

from collections.abc import Sequence
from typing import NoReturn

from turnledger.domain.claim import is_stale
from turnledger.domain.errors import (
    InvalidTransition,
    QueuedTurnNotFound,
    QueueFull,
)
from turnledger.domain.event import Event
from turnledger.domain.limits import Context
from turnledger.domain.thread_queue import commands as c
from turnledger.domain.thread_queue.state import State, Turn

Decision = Sequence[Event]
NOTHING: Decision = ()


def why_blocked(state: State, context: Context) -> str | None:
    """Why the queue gives out no claim, or None if it would: the first reason that holds."""
    head = state.head
    for reason, holds in (
        ("deleted", state.lifecycle == "deleted"),
        ("archived", state.lifecycle == "archived"),
        ("paused", state.paused is not None),
        ("expired_claim", is_stale(state.in_flight, context)),
        ("in_flight", state.in_flight is not None),
        ("failed_head", head is not None and head.state == "failed"),
        ("not_yet", head is not None and is_early(head, context)),
        ("empty", head is None),
    ):
        if holds:
            return reason
    return None


def failed_turn(state: State, command: c.Retry | c.Resolve) -> Turn:
    """The failed turn that the command names."""
    turn = state.turns.get(command.queued_turn_id)
    if turn is None:
        raise QueuedTurnNotFound(command.thread_id, command.queued_turn_id)
    if turn.state != "failed":
        refuse(command, f"queued turn {turn.queued_turn_id} is {turn.state}, not failed")
    return turn


def must_have_room(state: State, command: c.QueueCommand, count: int, context: Context) -> None:
    """Refuse more visible turns than the setting allows."""
    limit = context.limits.max_visible_turns
    if count and state.visible + count > limit:
        raise QueueFull(command.thread_id, state.visible, limit)


def is_gone(turn: Turn) -> bool:
    """Whether a turn has ended."""
    return turn.state in ("acked", "deleted")


def is_early(head: Turn, context: Context) -> bool:
    """Whether a turn mustn't be claimed yet."""
    return head.not_before is not None and context.now < head.not_before


def refuse(command: c.QueueCommand, reason: str) -> NoReturn:
    """Say that the state doesn't allow it."""
    raise InvalidTransition(command.thread_id, command.NAME, reason)
