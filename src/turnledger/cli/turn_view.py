"""How queued turns and claims are shown to people."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import cast

from turnledger import Claim, Evidence, QueuedTurn
from turnledger.cli import json_text
from turnledger.cli.plain_text import age, instant, squeezed
from turnledger.cli.sheet import Cell, Column, Fields, Row, Table

_STYLES = {"claimed": "yellow", "dispatching": "cyan", "failed": "red", "acked": "green"}
_TEXT_FIELDS = ("input", "text", "prompt", "content")


def summary(submission: object) -> str:
    """What a submission says, on one line: its text if it has one, else its JSON."""
    said = squeezed(" ".join(_texts(submission)))
    return said or squeezed(json_text.compact(submission))


def _texts(submission: object) -> list[str]:
    """The texts in the first field that has any."""
    if isinstance(submission, dict):
        fields = cast("dict[str, object]", submission)
        for value in map(fields.get, _TEXT_FIELDS):
            if isinstance(value, str):
                return [value]
            if isinstance(value, list):
                return [_part(part) for part in cast("list[object]", value)]
    return []


def _part(part: object) -> str:
    """The text of one part of an input; of another kind, the name of that kind."""
    match part:
        case str():
            return part
        case {"text": str() as text}:
            return text
        case {"type": str() as kind}:
            return f"[{kind}]"
        case _:
            return json_text.compact(part)


def turn_table(
    turns: Sequence[QueuedTurn], *, with_thread: bool = False, now: datetime | None = None
) -> Table:
    """Queued turns as rows: their place, their state, how long they wait, what they say."""
    failed = any(turn.failure is not None for turn in turns)
    columns = [
        *([Column("thread")] if with_thread else []),
        Column("order", right=True),
        Column("queued turn"),
        Column("state"),
        Column("appended"),
        Column("submission", "shortened"),
        *([Column("failure", "shortened")] if failed else []),
    ]
    now = now or datetime.now(UTC)
    rows: list[Row] = []
    for turn in turns:
        thread = [Cell(turn.thread_id)] if with_thread else []
        failure = [Cell(_failure(turn))] if failed else []
        place = [Cell(str(turn.queue_order)), Cell(turn.queued_turn_id), _state(turn)]
        said = [Cell(age(turn.created_at, now)), _submission(turn)]
        rows.append((*thread, *place, *said, *failure))
    return Table(tuple(columns), rows, "no queued turns")


def turn_card(turn: QueuedTurn) -> Fields:
    """All that is known of one queued turn."""
    return [
        ("thread", Cell(turn.thread_id)),
        ("queued turn", Cell(turn.queued_turn_id)),
        ("order", Cell(str(turn.queue_order))),
        ("state", _state(turn)),
        ("submission", _submission(turn)),
        ("failure", Cell(_failure(turn), "red")),
        ("dispatch", Cell(turn.dispatch_id or "")),
        ("owner", Cell(turn.owner or "")),
        ("epoch", Cell("" if turn.epoch is None else str(turn.epoch))),
        ("expires at", Cell(moment(turn.expires_at))),
        ("retried", Cell(str(turn.attempts or ""))),
        ("not before", Cell(moment(turn.not_before))),
        ("created at", Cell(moment(turn.created_at))),
        ("updated at", Cell(moment(turn.updated_at))),
        *(("evidence", Cell(reported(piece))) for piece in turn.evidence),
    ]


def claim_card(claim: Claim) -> Fields:
    """What a worker needs to go on."""
    return [
        ("thread", Cell(claim.thread_id)),
        ("queued turn", Cell(claim.queued_turn_id or "")),
        ("owner", Cell(claim.owner)),
        ("epoch", Cell(str(claim.epoch))),
        ("expires at", Cell(moment(claim.expires_at))),
        ("submission", Cell("" if claim.submission is None else summary(claim.submission))),
    ]


def claim_table(claims: Sequence[Claim]) -> Table:
    """Claims as rows."""
    columns = (
        Column("thread"),
        Column("epoch", right=True),
        Column("queued turn"),
        Column("expires at"),
        Column("submission", "shortened"),
    )
    rows = [
        (
            Cell(claim.thread_id),
            Cell(str(claim.epoch)),
            Cell(claim.queued_turn_id or ""),
            Cell(moment(claim.expires_at)),
            Cell(summary(claim.submission)),
        )
        for claim in claims
    ]
    return Table(columns, rows, "no claims")


def _state(turn: QueuedTurn) -> Cell:
    unknown = ", outcome unknown" if turn.outcome_unknown else ""
    return Cell(f"{turn.state}{unknown}", _STYLES.get(turn.state, ""))


def _submission(turn: QueuedTurn) -> Cell:
    if turn.unreadable is not None:
        return Cell(f"(unreadable: {turn.unreadable})", "red")
    return Cell(summary(turn.submission))


def _failure(turn: QueuedTurn) -> str:
    match turn.failure:
        case None:
            return ""
        case str() as text:
            return squeezed(text)
        case other:
            return squeezed(json_text.compact(other))


def reported(piece: Evidence) -> str:
    """A piece of evidence on one line."""
    value = "" if piece.value is None else f": {squeezed(json_text.compact(piece.value))}"
    who = f"{piece.owner} (epoch {piece.epoch})"
    return f"{instant(piece.recorded_at)} {who} {piece.kind}{value}"


def moment(time: datetime | None) -> str:
    """A time, or nothing."""
    return "" if time is None else instant(time)
