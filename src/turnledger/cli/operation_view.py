"""How runs and operations are shown to people."""

from collections.abc import Sequence
from datetime import UTC, datetime

from turnledger import BlockingOperation, RecordedOperation, RunClaim, StartedRun
from turnledger.cli import json_text
from turnledger.cli.plain_text import age, squeezed
from turnledger.cli.sheet import Cell, Column, Fields, Table
from turnledger.cli.turn_view import moment, reported, summary

_STYLES = {
    "running": "cyan",
    "cancel_requested": "yellow",
    "hazardous_orphan": "red",
    "unknown": "red",
    "applied": "green",
    "interrupted": "red",
}


def run_claim_card(claim: RunClaim) -> Fields:
    """What is needed to execute a run's operations."""
    return [
        ("run", Cell(claim.run_id)),
        ("work item", Cell(claim.work_item_id or "")),
        ("action", Cell(claim.action_id or "")),
        ("owner", Cell(claim.owner)),
        ("epoch", Cell(str(claim.epoch))),
        ("expires at", Cell(moment(claim.expires_at))),
    ]


def run_card(run: StartedRun) -> Fields:
    """All that is known of one run."""
    return [
        ("run", Cell(run.run_id)),
        ("work item", Cell(run.work_item_id)),
        ("action", Cell(run.action_id)),
        ("status", _word(run.status)),
        ("owner", Cell(run.owner)),
        ("epoch", Cell(str(run.epoch))),
        ("expires at", Cell(moment(run.expires_at))),
        ("outcome", Cell(json_text.short(run.outcome))),
        ("reason", Cell(json_text.short(run.reason))),
        ("started at", Cell(moment(run.created_at))),
        ("updated at", Cell(moment(run.updated_at))),
        *(("evidence", Cell(reported(piece))) for piece in run.evidence),
    ]


def operation_table(operations: Sequence[RecordedOperation], now: datetime | None = None) -> Table:
    """Operations as rows, by their keys; how old they are at a time, default now."""
    columns = (
        Column("work item"),
        Column("operation"),
        Column("execution"),
        Column("effect"),
        Column("type"),
        Column("created"),
        Column("payload", "shortened"),
    )
    now = now or datetime.now(UTC)
    rows = [
        (
            Cell(one.work_item_id),
            Cell(one.key),
            _word(one.execution),
            _word(one.effect),
            Cell(one.operation_type),
            Cell(age(one.created_at, now)),
            _payload(one),
        )
        for one in operations
    ]
    return Table(columns, rows, "no operations")


def operation_card(operation: RecordedOperation) -> Fields:
    """All that is known of one operation."""
    return [
        ("operation", Cell(operation.key)),
        ("run", Cell(operation.run_id)),
        ("work item", Cell(operation.work_item_id)),
        ("action", Cell(operation.action_id)),
        ("type", Cell(operation.operation_type)),
        ("policy", Cell(operation.replay_policy)),
        ("execution", _word(operation.execution)),
        ("effect", _word(operation.effect)),
        ("payload", _payload(operation)),
        ("result", Cell(json_text.short(operation.result))),
        ("reason", Cell(operation.reason or "")),
        ("owner", Cell(operation.owner or "")),
        ("run epoch", Cell(str(operation.run_epoch or ""))),
        ("resolved by", Cell(squeezed(operation.resolved_by or ""))),
        ("resolution", Cell(json_text.short(operation.resolution))),
        ("created at", Cell(moment(operation.created_at))),
        ("updated at", Cell(moment(operation.updated_at))),
        *(("evidence", Cell(reported(piece))) for piece in operation.evidence),
    ]


def blocking_table(blocking: Sequence[BlockingOperation]) -> Table:
    """What stands in the way of going on, as rows."""
    columns = (
        Column("operation"),
        Column("run"),
        Column("execution"),
        Column("effect"),
        Column("why"),
    )
    rows = [
        (Cell(one.key), Cell(one.run_id), _word(one.execution), _word(one.effect), Cell(one.reason))
        for one in blocking
    ]
    return Table(columns, rows, "every operation is settled, and its effect known")


def _word(word: str) -> Cell:
    return Cell(word, _STYLES.get(word, ""))


def _payload(operation: RecordedOperation) -> Cell:
    if operation.unreadable is not None:
        return Cell(f"(unreadable: {operation.unreadable})", "red")
    return Cell(summary(operation.payload))
