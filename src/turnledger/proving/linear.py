"""Is a history of concurrent calls on a queue one that a single caller could have had?

The checker is Wing and Gong's, as Lowe has it: look for an order of the calls in which each call
takes effect between its beginning and its end, and in which the answers are those of the model.
A call whose answer is lost may have taken effect at any time after its beginning, or never.
"""

from collections.abc import Sequence
from math import inf
from typing import Any, NamedTuple


class Op(NamedTuple):
    """A call.

    Attributes:
        verb: claim, renew, dispatch, release or ack.
        owner: Who calls.
        epoch: Of the claim that is shown; 0 for `claim`.
        answer: The epoch of a claim, or 0; of the others whether it was done; None if it is lost.
        start: When it began, on a clock of the whole machine.
        end: When it was answered.
    """

    verb: str
    owner: str
    epoch: int
    answer: int | None
    start: float
    end: float


class State(NamedTuple):
    """A queue, as far as these calls see it.

    Attributes:
        left: How many turns aren't done.
        epoch: Of the last claim.
        owner: Who holds it; "" if nobody does.
        sent: Whether its dispatch has begun.
    """

    left: int
    epoch: int = 0
    owner: str = ""
    sent: bool = False


def apply(state: State, op: Op) -> tuple[int, State]:
    """What one caller alone would be answered, and the state after it."""
    if op.verb == "claim" and not state.owner and state.left:
        return state.epoch + 1, State(state.left, state.epoch + 1, op.owner)
    if op.verb == "claim" or (state.owner, state.epoch) != (op.owner, op.epoch):
        return 0, state
    free = State(state.left, state.epoch)
    match op.verb:
        case "renew":
            return 1, state
        case "dispatch":
            return 1, state._replace(sent=True)  # the same again is no fault
        case "release":
            return (0, state) if state.sent else (1, free)
        case _:
            return (1, free._replace(left=state.left - 1)) if state.sent else (0, state)


def is_linearizable(history: Sequence[Op], turns: int) -> bool:
    """Whether there is such an order.

    Args:
        history: The calls on one queue.
        turns: How many turns waited in it at first.
    """
    ops = sorted(history, key=lambda op: op.start)
    must_be = sum(1 << place for place, op in enumerate(ops) if op.answer is not None)
    seen: set[tuple[int, State]] = set()
    stack: list[tuple[int, State]] = [(0, State(turns))]
    while stack:
        done, state = stack.pop()
        if done & must_be == must_be:
            return True
        if (done, state) in seen:
            continue
        seen.add((done, state))
        stack += _next(ops, done, state)
    return False


def _next(ops: Sequence[Op], done: int, state: State) -> list[tuple[int, State]]:
    """What may come next: a call that began before any other that is left was answered."""
    left = [(place, op) for place, op in enumerate(ops) if not done >> place & 1]
    earliest = min((op.end for _, op in left if op.answer is not None), default=inf)
    found: list[tuple[int, State]] = []
    for place, op in left:
        if op.start > earliest:
            break
        answer, after = apply(state, op)
        if op.answer is None or op.answer == answer:
            found.append((done | 1 << place, after))
    return found


def in_log_order(history: Sequence[Op], log: Sequence[tuple[str, int]]) -> bool:
    """Whether the order of the log is an order of the calls: in time that grows with their number.

    Args:
        history: The calls on one queue.
        log: What was recorded, in its order: the verb and the epoch, each once.
    """
    done = [op for op in history if op.answer]
    known = {(op.verb, op.answer if op.verb == "claim" else op.epoch): op for op in done}
    latest = -inf
    for verb, epoch in log:
        op = known.get((verb, epoch))
        if op is None:
            continue
        if op.end < latest:
            return False  # it was answered before one began that comes before it in the log
        latest = max(latest, op.start)
    return True


def corrupted(history: Sequence[Op]) -> list[Op] | None:
    """The same history, had a stale epoch been let through; None if there was none."""
    for place, op in enumerate(history):
        if op.verb == "ack" and op.answer == 0 and op.epoch:
            changed: list[Any] = list(history)
            changed[place] = op._replace(answer=1)
            return changed
    return None
