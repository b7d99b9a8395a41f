"""How coordinator turns, their attempts and their claims are shown to people."""

from collections.abc import Sequence
from datetime import UTC, datetime

from turnledger import BegunTurn, ProviderTurn, RecoverableTurn, Resumption, TurnClaim
from turnledger.cli import json_text
from turnledger.cli.plain_text import age, squeezed
from turnledger.cli.sheet import Cell, Column, Fields, Table
from turnledger.cli.turn_view import moment, reported, summary

_STYLES = {
    "claimed": "yellow",
    "acked": "green",
    "dispatching": "cyan",
    "responded": "green",
    "unknown": "red",
    "refused": "red",
}


def begun_table(turns: Sequence[BegunTurn], now: datetime | None = None) -> Table:
    """Turns as rows, in order; how old they are at a time, default now."""
    columns = (
        Column("work item"),
        Column("order", right=True),
        Column("turn"),
        Column("status"),
        Column("attempts", right=True),
        Column("begun"),
        Column("message", "shortened"),
    )
    now = now or datetime.now(UTC)
    rows = [
        (
            Cell(turn.work_item_id),
            Cell(str(turn.turn_order)),
            Cell(turn.turn_id),
            _status(turn.status, turn.outcome),
            Cell(str(len(turn.attempts) or "")),
            Cell(age(turn.created_at, now)),
            _message(turn),
        )
        for turn in turns
    ]
    return Table(columns, rows, "no turns")


def recoverable_table(turns: Sequence[RecoverableTurn]) -> Table:
    """Turns that can be taken up, as rows."""
    columns = (
        Column("work item"),
        Column("turn"),
        Column("status"),
        Column("attempt", right=True),
        Column("its status"),
        Column("begun"),
    )
    now = datetime.now(UTC)
    rows = [
        (
            Cell(turn.work_item_id),
            Cell(turn.turn_id),
            _status(turn.status),
            Cell("" if turn.attempt is None else str(turn.attempt)),
            _status(turn.attempt_status or ""),
            Cell(age(turn.created_at, now)),
        )
        for turn in turns
    ]
    return Table(columns, rows, "no turns to be taken up")


def begun_card(turn: BegunTurn) -> Fields:
    """All that is known of one turn."""
    return [
        ("work item", Cell(turn.work_item_id)),
        ("turn", Cell(turn.turn_id)),
        ("order", Cell(str(turn.turn_order))),
        ("status", _status(turn.status, turn.outcome)),
        ("message", _message(turn)),
        ("kind", Cell(turn.kind)),
        ("target", Cell(turn.target)),
        ("result", Cell(json_text.short(turn.result))),
        ("error", Cell(json_text.short(turn.error), "red")),
        ("reason", Cell(json_text.short(turn.reason))),
        ("owner", Cell(turn.owner or "")),
        ("epoch", Cell(str(turn.epoch or ""))),
        ("expires at", Cell(moment(turn.expires_at))),
        ("not before", Cell(moment(turn.not_before))),
        ("created at", Cell(moment(turn.created_at))),
        ("updated at", Cell(moment(turn.updated_at))),
        *(("attachment", Cell(sha256)) for sha256 in turn.attachments),
        *(("attempt", _short(attempt)) for attempt in turn.attempts),
        *(("evidence", Cell(reported(piece))) for piece in turn.evidence),
    ]


def attempt_card(attempt: ProviderTurn) -> Fields:
    """All that is known of one attempt."""
    answered = attempt.response_hash is not None
    return [
        ("turn", Cell(attempt.turn_id)),
        ("attempt", Cell(str(attempt.attempt))),
        ("status", _status(attempt.status)),
        ("request", Cell(squeezed(json_text.compact(attempt.request)))),
        ("request hash", Cell(attempt.request_hash)),
        ("response", Cell(squeezed(json_text.compact(attempt.response)) if answered else "")),
        ("error", Cell(json_text.short(attempt.error), "red")),
        ("owner", Cell(attempt.owner)),
        ("epoch", Cell(str(attempt.epoch))),
        ("prepared at", Cell(moment(attempt.prepared_at))),
        ("dispatched at", Cell(moment(attempt.dispatched_at))),
        ("resolved by", Cell(squeezed(attempt.resolved_by or ""))),
        *(("evidence", Cell(reported(piece))) for piece in attempt.evidence),
    ]


def turn_claim_card(claim: TurnClaim) -> Fields:
    """What is needed to work on a turn."""
    return [
        ("work item", Cell(claim.work_item_id or "")),
        ("turn", Cell(claim.turn_id)),
        ("owner", Cell(claim.owner)),
        ("epoch", Cell(str(claim.epoch))),
        ("expires at", Cell(moment(claim.expires_at))),
        ("message", Cell("" if claim.message is None else summary(claim.message))),
    ]


def resumption_card(resumption: Resumption) -> Fields:
    """What is to be done first."""
    return [
        *turn_claim_card(resumption.claim),
        ("step", Cell(resumption.step, "bold")),
        ("attempt", Cell(str(resumption.attempt))),
        ("request", Cell(json_text.short(resumption.request))),
        ("response", Cell(json_text.short(resumption.response))),
    ]


def _status(status: str, outcome: str | None = None) -> Cell:
    word = status if outcome is None else f"{status}, {outcome}"
    return Cell(word, "red" if outcome == "failed" else _STYLES.get(status, ""))


def _short(attempt: ProviderTurn) -> Cell:
    said = f"{attempt.attempt} {attempt.status}, {attempt.owner} at epoch {attempt.epoch}"
    error = f": {json_text.short(attempt.error)}" if attempt.error is not None else ""
    return Cell(f"{said}{error}", _STYLES.get(attempt.status, ""))


def _message(turn: BegunTurn) -> Cell:
    if turn.unreadable is not None:
        return Cell(f"(unreadable: {turn.unreadable})", "red")
    return Cell(summary(turn.message))
