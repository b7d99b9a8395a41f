"""Operations in the database: the state that a command is decided on, and back.

All of it stands in the head row, but for the run: that is read from its own, and held until the
end of the transaction. The run comes first, always, so that nobody waits in a circle.
"""

from collections.abc import Sequence

from pydantic_core import to_json

from turnledger.domain import operation
from turnledger.domain.duration import to_microseconds
from turnledger.domain.event import Event
from turnledger.domain.limits import Context
from turnledger.domain.operation import STATE_FORM, State
from turnledger.domain.operation.commands import AnyCommand
from turnledger.infrastructure.head_state import state_of
from turnledger.infrastructure.operation_rows import STALE
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.rows import Head, HeadChange
from turnledger.infrastructure.run_repository import held_run
from turnledger.infrastructure.unit_of_work import UnitOfWork


def carry_out(
    unit: UnitOfWork, command: AnyCommand, origin: Origin, run_id: str | None = None
) -> tuple[Sequence[Event], State]:
    """Load, decide and save.

    Args:
        unit: One in which several streams may be changed.
        command: What is wished.
        origin: Where it comes from.
        run_id: The run that it depends on, if it depends on one.

    Returns:
        What happened, and the state after it.
    """
    held = None if run_id is None else held_run(unit, run_id)
    head = unit.head(operation.stream_id(command.key))
    state = _state(unit, head)
    if held is not None:
        state = state._replace(run=held)
    context = unit.context(head)
    events = operation.decide(state, command, context)
    return events, _save(unit, head, state, events, command, origin, context)


def load(unit: UnitOfWork, key: str) -> State:
    """An operation without its run."""
    return _state(unit, unit.head(operation.stream_id(key)))


def stale(unit: UnitOfWork, after: str, page: int) -> list[tuple[str, str]]:
    """The operations that nobody answers for, behind a key: each with its run."""
    unit.read_clock()
    latest = to_microseconds(unit.now + unit.limits.max_lease)
    given = {"now": unit.stored_now, "latest": latest, "after": after, "limit": page}
    return [(key, run_id) for key, run_id in unit.run(STALE, given).fetchall()]


def _save(  # noqa: PLR0913, PLR0917 - as of a unit
    unit: UnitOfWork,
    head: Head,
    state: State,
    events: Sequence[Event],
    command: AnyCommand,
    origin: Origin,
    context: Context,
) -> State:
    """Save the events one by one, since each changes the same row. Returns the state after them."""
    for number, event in enumerate(events):
        last = unit.head(head.stream_id) if number else head
        state = operation.evolve(state, event)
        text = to_json(state.scalars()).decode()
        unit.save(
            HeadChange(last, state.epoch, STATE_FORM, text), [event], command, origin, context
        )
    return state


def _state(unit: UnitOfWork, head: Head) -> State:
    if head.is_new:
        return State()
    return state_of(
        head, STATE_FORM, State.from_scalars, lambda: operation.fold(unit.events(head.stream_id))
    )
