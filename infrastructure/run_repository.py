"""Runs in the database: the state that a command is decided on, and back.

All of it stands in the head row. A command on an operation depends on its run, too: it holds the
run's head row, so that the claim under which it is decided is the claim until it is committed. A
command on the run locks that row before anything else: on PostgreSQL an event's place in the log is
known by its transaction's number, which isn't given before the lock.
"""

from collections.abc import Sequence

from pydantic_core import to_json
from sqlalchemy import bindparam, select

from turnledger.domain import run
from turnledger.domain.event import Event
from turnledger.domain.run import STATE_FORM, State
from turnledger.domain.run.commands import AnyCommand
from turnledger.infrastructure.head_state import state_of
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.rows import WHOLE_HEAD, Head, HeadChange
from turnledger.infrastructure.schema import streams
from turnledger.infrastructure.statement import statement
from turnledger.infrastructure.unit_of_work import UnitOfWork

_HEAD = select(*WHOLE_HEAD).where(streams.c.stream_id == bindparam("stream_id"))
_LOCKED_HEAD = statement(_HEAD.with_for_update())
_SHARED_HEAD = statement(_HEAD.with_for_update(read=True))


def carry_out(
    unit: UnitOfWork, command: AnyCommand, origin: Origin
) -> tuple[Sequence[Event], State]:
    """Load, decide and save.

    Args:
        unit: One in which several streams may be changed.
        command: What is wished.
        origin: Where it comes from.

    Returns:
        What happened, and the state after it.
    """
    stream_id = run.stream_id(command.run_id)
    head = unit.as_head(stream_id, unit.run(_LOCKED_HEAD, {"stream_id": stream_id}).fetchone())
    before, context = _state(unit, head), unit.context(head)
    events = run.decide(before, command, context)
    if not events:
        return events, before
    state = run.fold(events, before)
    change = HeadChange(head, state.epoch, STATE_FORM, to_json(state.scalars()).decode())
    unit.save(change, events, command, origin, context)
    return events, state


def held_run(unit: UnitOfWork, run_id: str) -> State:
    """A run, which nobody changes until the end of the unit; empty if it was never started.

    Args:
        unit: One in which several streams may be changed.
        run_id: The run.
    """
    stream_id = run.stream_id(run_id)
    row = unit.run(_SHARED_HEAD, {"stream_id": stream_id}).fetchone()
    return _state(unit, unit.as_head(stream_id, row))


def _state(unit: UnitOfWork, head: Head) -> State:
    if head.is_new:
        return State()
    return state_of(
        head, STATE_FORM, State.from_scalars, lambda: run.fold(unit.events(head.stream_id))
    )
