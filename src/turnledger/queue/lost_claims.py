"""What an owner knew whose claim was lost is kept as evidence, in a stream of its own."""

from typing import Any

from turnledger.claiming import claimed_id, keep_evidence
from turnledger.domain import evidence, thread_queue
from turnledger.domain.errors import QueuedTurnNotFound
from turnledger.domain.thread_queue import Claim, ThreadQueue
from turnledger.infrastructure import queue_repository as repository
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.queue_reader import DISPATCH
from turnledger.infrastructure.queue_rows import TurnRow, as_queued_turn
from turnledger.infrastructure.unit_of_work import UnitOfWork


def keep_lost_result(
    backend: Backend, claim: Claim, kind: str, value: Any, *, altered: bool = False
) -> None:
    """Keep a result whose claim is lost, if that claim was ever given out.

    It has a transaction of its own, committed before the refusal goes on to the caller.
    """

    def work(unit: UnitOfWork) -> None:
        stream_id = thread_queue.stream_id(claim.thread_id)
        queued_turn_id = claimed_id(unit, stream_id, ThreadQueue.Claimed, "queued_turn_id", claim)
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
    known = _turn(unit, command.thread_id, command.queued_turn_id).evidence
    keep_evidence(backend, unit, thread_queue.stream_id(command.thread_id), known, command)
