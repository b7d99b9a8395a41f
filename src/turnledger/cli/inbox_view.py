"""How messages and their claims are shown to people."""

from collections.abc import Sequence
from datetime import UTC, datetime

from turnledger import InboxMessage, MessageClaim
from turnledger.cli import json_text
from turnledger.cli.plain_text import age, squeezed
from turnledger.cli.sheet import Cell, Column, Fields, Table
from turnledger.cli.turn_view import moment, reported, summary

_STYLES = {"claimed": "yellow", "confirmed": "green", "expired": "red", "rejected": "red"}
_COLUMNS = (
    Column("message"),
    Column("source"),
    Column("delivery"),
    Column("queued"),
    Column("deliveries", right=True),
    Column("content", "shortened"),
)


def message_table(messages: Sequence[InboxMessage], now: datetime | None = None) -> Table:
    """Messages as rows, in order; how old they are at a time, default now."""
    now = now or datetime.now(UTC)
    rows = [
        (
            Cell(message.message_id),
            Cell(message.source),
            Cell(message.delivery),
            Cell(age(message.queued_at, now)),
            Cell(str(message.deliveries)),
            _content(message),
        )
        for message in messages
    ]
    return Table(_COLUMNS, rows, "no messages")


def message_card(message: InboxMessage) -> Fields:
    """All that is known of one message."""
    return [
        ("thread", Cell(message.thread_id)),
        ("message", Cell(message.message_id)),
        ("state", Cell(message.state, _STYLES.get(message.state, ""))),
        ("reason", Cell(squeezed(message.reason or ""))),
        ("content", _content(message)),
        ("source", Cell(message.source)),
        ("delivery", Cell(message.delivery)),
        ("instructions", Cell(json_text.short(message.instructions))),
        ("metadata", Cell(json_text.short(message.metadata or None))),
        ("deliveries", Cell(str(message.deliveries or ""))),
        ("owner", Cell(message.owner or "")),
        ("epoch", Cell("" if message.epoch is None else str(message.epoch))),
        ("expires at", Cell(moment(message.expires_at))),
        ("queued at", Cell(moment(message.queued_at))),
        ("created at", Cell(moment(message.created_at))),
        ("updated at", Cell(moment(message.updated_at))),
        *(("evidence", Cell(reported(piece))) for piece in message.evidence),
    ]


def message_claim_card(claim: MessageClaim) -> Fields:
    """What is needed to deliver a message."""
    return [
        ("thread", Cell(claim.thread_id)),
        ("message", Cell(claim.message_id or "")),
        ("owner", Cell(claim.owner)),
        ("epoch", Cell(str(claim.epoch))),
        ("expires at", Cell(moment(claim.expires_at))),
        ("source", Cell(claim.source or "")),
        ("delivery", Cell(claim.delivery or "")),
        ("instructions", Cell(json_text.short(claim.instructions))),
        ("content", Cell(summary(claim.content))),
    ]


def _content(message: InboxMessage) -> Cell:
    if message.unreadable is not None:
        return Cell(f"(unreadable: {message.unreadable})", "red")
    return Cell(summary(message.content))
