"""A thread's life, as every command on it needs it (ADR 16).

The head row of the thread's queue says whether the thread is active, archived or deleted. A thread
with no queue has a row of version 0 there from its first command on: the place where commands on
different streams of one thread meet.
"""

from typing import get_args

from sqlalchemy import bindparam, select

from turnledger.domain import thread, thread_queue
from turnledger.domain.payload import encode
from turnledger.domain.thread import Lifecycle
from turnledger.infrastructure.rows import Head, HeadChange
from turnledger.infrastructure.schema import streams
from turnledger.infrastructure.statement import statement
from turnledger.infrastructure.unit_of_work import UnitOfWork

EMPTY = encode(thread_queue.State().scalars())

_SHARE = statement(
    select(streams.c.lifecycle)
    .where(streams.c.stream_id == bindparam("stream_id"))
    .with_for_update(read=True)
)


def held_life(unit: UnitOfWork, thread_id: str) -> Lifecycle | None:
    """A thread's life, which nobody changes until the end of the unit.

    Args:
        unit: One in which several streams may be changed.
        thread_id: The thread.

    Returns:
        None if no command ever named it: then `enter` it before anything else is written.
    """
    row = unit.run(_SHARE, {"stream_id": thread_queue.stream_id(thread_id)}).fetchone()
    return None if row is None else known_life(unit, thread_id, row[0])


def enter(unit: UnitOfWork, thread_id: str, life: Lifecycle = "active") -> None:
    """Make the row of a thread that no command ever named.

    Raises:
        Conflict: It came to be in the meantime.
    """
    head = Head(thread_queue.stream_id(thread_id))
    unit.add_head(HeadChange(head, 0, thread_queue.STATE_FORM, EMPTY, lifecycle=life))


def known_life(unit: UnitOfWork, thread_id: str, stored: Lifecycle) -> Lifecycle:
    """The life that a head row says; from the events, if it is damaged."""
    return stored if stored in get_args(Lifecycle) else life_from_events(unit, thread_id).lifecycle


def life_from_events(unit: UnitOfWork, thread_id: str) -> thread.State:
    """A thread's life, where a head row is of no use."""
    state = thread.State()
    for event in unit.events(thread.stream_id(thread_id)):
        state = thread.evolve(state, event)
    return state
