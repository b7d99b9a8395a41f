"""What an owner knew whose claim was lost is kept as evidence, in a stream of its own."""

from typing import Any

from sqlalchemy import bindparam, select

from turnledger.domain import evidence, thread_queue
from turnledger.domain.errors import QueuedTurnNotFound
from turnledger.domain.identifier import LARGEST
from turnledger.domain.payload import decode
from turnledger.domain.thread_queue import Claim, ThreadQueue
from turnledger.infrastructure import queue_repository as repository
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.queue_reader import DISPATCH
from turnledger.infrastructure.queue_rows import TurnRow, as_queued_turn
from turnledger.infrastructure.rows import HeadChange
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import statement
from turnledger.infrastructure.unit_of_work import UnitOfWork

_CLAIMS = statement(
    select(events.c.data)
    .where(
        events.c.stream_id == bindparam("stream_id"),
        events.c.type == bindparam("type"),
    )
    .order_by(events.c.version.desc())
)


def keep_lost_result(
    backend: Backend, claim: Claim, kind: str, value: Any, *, altered: bool = False
) -> None:
    """Keep a result whose claim is lost, if that claim was ever given out.

    It has a transaction of its own, committed before the refusal goes on to the caller.
    """

    def work(unit: UnitOfWork) -> None:
        queued_turn_id = _claimed_turn(unit, claim)
        if queued_turn_id is None:
            return
        command = evidence.Keep(
            thread_id=claim.thread_id,
            queued_turn_id=queued_turn_id,
            owner=claim.owner,
            epoch=claim.epoch,
            kind=kind,
            value=value,
            altered=altered,
        )
        _keep(backend, unit, command)

    backend.keep(work)


def keep_lost_dispatch(
    backend: Backend, thread_id: str, dispatch_id: str, unit: UnitOfWork
) -> None:
    """Keep the report of a dispatch that was recovered; one that was acked needs none."""
    row = unit.run(DISPATCH, {"thread_id": thread_id, "dispatch_id": dispatch_id}).fetchone()
    if row is None:
        return
    _, _, queued_turn_id, owner, epoch = row
    stored = repository.turn_row(unit.cursor, unit.dialect, thread_id, queued_turn_id)
    if stored is None or _was_acked(backend, stored, dispatch_id):
        return
    command = evidence.Keep(
        thread_id=thread_id,
        queued_turn_id=queued_turn_id,
        owner=owner,
        epoch=epoch,
        kind="ack_dispatch",
        value={"dispatch_id": dispatch_id},
    )
    _keep(backend, unit, command)


def _claimed_turn(unit: UnitOfWork, claim: Claim) -> str | None:
    """The queued turn for which a claim was given out, or None if it never was."""
    stream_id = thread_queue.stream_id(claim.thread_id)
    given = {"stream_id": stream_id, "type": ThreadQueue.Claimed.TOPIC}
    for (data,) in unit.run(_CLAIMS, given):
        claimed = _readable(data)
        if claimed["epoch"] <= claim.epoch:
            same = (claimed["epoch"], claimed["owner"]) == (claim.epoch, claim.owner)
            return str(claimed["queued_turn_id"]) if same else None
    return None


def _readable(data: object) -> dict[str, Any]:
    """A claimed event's fields; of a damaged one, nothing that fits a claim."""
    try:
        fields = decode(str(data))
        return {"epoch": int(fields["epoch"]), **fields}
    except (ValueError, TypeError, KeyError):
        return {"epoch": LARGEST}


def _was_acked(backend: Backend, turn: TurnRow, dispatch_id: str) -> bool:
    """Whether the last event of a turn is the ack of a dispatch, and not a decision on it."""
    stream_id, version = thread_queue.stream_id(turn.thread_id), turn.version
    found = backend.application.envelopes(stream_id, after=version - 1, until=version)
    event = next(found).event
    return isinstance(event, ThreadQueue.Acked) and event.dispatch_id == dispatch_id


def _turn(unit: UnitOfWork, thread_id: str, queued_turn_id: str) -> thread_queue.QueuedTurn:
    row = repository.turn_row(unit.cursor, unit.dialect, thread_id, queued_turn_id)
    if row is None:
        raise QueuedTurnNotFound(thread_id, queued_turn_id)
    return as_queued_turn(row)


def _keep(backend: Backend, unit: UnitOfWork, command: evidence.Keep) -> None:
    kept = _turn(unit, command.thread_id, command.queued_turn_id).evidence
    known = [(one.owner, one.epoch, one.kind) for one in kept]
    decided = evidence.decide(known, command)
    if decided:
        target = thread_queue.stream_id(command.thread_id)
        head = unit.head(evidence.stream_id(target))
        change = HeadChange(head, head.epoch, evidence.STATE_FORM, head.state)
        unit.save(change, decided, command, backend.origin(), unit.context(head))
