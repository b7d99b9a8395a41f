"""What a history can be about, and which streams hold it."""

from typing import Any, Literal, NamedTuple, assert_never

from sqlalchemy import bindparam, select

from turnledger.domain import (
    coordinator_turn,
    evidence,
    inbox,
    operation,
    run,
    thread,
    thread_queue,
    timer,
    work_item,
)
from turnledger.infrastructure.statement import Cursor, statement
from turnledger.infrastructure.statement import run as run_statement
from turnledger.projections.coordinator_mailbox import coordinator_mailbox
from turnledger.projections.due_timers import due_timers
from turnledger.projections.operations import operations
from turnledger.projections.runs import runs

Kind = Literal["thread", "work_item", "turn", "timer", "run", "operation"]

_ID: Any = bindparam("id")


class Subject(NamedTuple):
    """Something that has a history.

    Attributes:
        kind: What it is: a thread, or a work item with its turns, runs and operations, or one of
            these alone.
        id: Its id; of an operation, its key.
    """

    kind: Kind
    id: str


def _ids(column: Any, of: Any) -> Any:
    return statement(select(column).where(of == _ID).order_by(column))


_TIMERS = _ids(due_timers.c.timer_id, due_timers.c.thread_id)
_TURNS = _ids(coordinator_mailbox.c.turn_id, coordinator_mailbox.c.work_item_id)
_RUNS = _ids(runs.c.run_id, runs.c.work_item_id)
_OPERATIONS = _ids(operations.c.key, operations.c.work_item_id)


def streams_of(cursor: Cursor, dialect: str, subject: Subject) -> tuple[str, ...]:
    """The streams that hold all that happened to something, whether there are such streams or not.

    Args:
        cursor: Sees the read models that say what belongs to a thread or a work item.
        dialect: Of the store.
        subject: What it is about.
    """

    def ids(what: Any) -> list[str]:
        return [one for (one,) in run_statement(cursor, dialect, what, {"id": subject.id})]

    match subject.kind:
        case "thread":
            own = (thread_queue.stream_id(subject.id), inbox.stream_id(subject.id))
            timers = map(timer.stream_id, ids(_TIMERS))
            return (thread.stream_id(subject.id), *_with_evidence(*own), *timers)
        case "work_item":
            turns = map(coordinator_turn.stream_id, ids(_TURNS))
            of_runs = map(run.stream_id, ids(_RUNS))
            effects = map(operation.stream_id, ids(_OPERATIONS))
            return (work_item.stream_id(subject.id), *_with_evidence(*turns, *of_runs, *effects))
        case "turn":
            return _with_evidence(coordinator_turn.stream_id(subject.id))
        case "timer":
            return (timer.stream_id(subject.id),)
        case "run":
            return _with_evidence(run.stream_id(subject.id))
        case "operation":
            return _with_evidence(operation.stream_id(subject.id))
        case _:
            assert_never(subject.kind)


def _with_evidence(*streams: str) -> tuple[str, ...]:
    """Each stream, and behind it that of the evidence about it."""
    return tuple(one for stream in streams for one in (stream, evidence.stream_id(stream)))
