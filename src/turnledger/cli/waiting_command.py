"""`turnledger queue …` for those who look after what waits: list, get, edit, delete, reorder."""

from collections.abc import Sequence
from typing import Any

import click

from turnledger import QueuedTurn
from turnledger.cli.command import LedgerCommand
from turnledger.cli.parameter import (
    QUEUED_TURN,
    SUBMISSION,
    THREAD,
    count,
    identifier,
    object_of,
    position,
    queued_turn_argument,
    thread_argument,
)
from turnledger.cli.plain_text import counted
from turnledger.cli.session import Finding, current
from turnledger.cli.turn_view import turn_card, turn_table

_CHANGE = {0: "done", 1: "refused, and nothing changed"}
_ONE = {"THREAD": THREAD, "QUEUED_TURN": QUEUED_TURN}


@click.command(
    "list",
    cls=LedgerCommand,
    needs={"THREAD": THREAD},
    example="turnledger queue list chat-1 --limit 20",
    exits={0: "listed, also if nothing waits"},
)
@thread_argument
@click.option("--limit", type=count, metavar="N", help="At most so many.  [default: all]")
@click.option("--after", type=position, metavar="ORDER", help="Only what comes behind this order.")
def list_(thread_id: str, limit: int | None, after: int | None) -> None:
    """The visible queue of a thread, in order."""
    with current().reading() as ledger:
        turns = ledger.queue.list(thread_id, limit=limit, after=after)
    _show(turns)


@click.command(
    "get",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger queue get chat-1 0190f3c4-8a5e-7cc1-b4d2-0242ac120002",
    exits={0: "there it is, also if it is settled or gone", 1: "the thread never had it"},
)
@thread_argument
@queued_turn_argument
def get(thread_id: str, queued_turn_id: str) -> None:
    """What has become of a queued turn, with its evidence."""
    with current().reading() as ledger:
        turn = ledger.queue.get(thread_id, queued_turn_id)
    if turn is None:
        raise _never_was(thread_id, queued_turn_id)
    current().answer(turn, lambda layout: layout.card(turn_card(turn)))


def _never_was(thread_id: str, queued_turn_id: str) -> Finding:
    """The finding that a thread never had a queued turn."""
    message = f"thread {thread_id} never had a queued turn {queued_turn_id}"
    facts = {"thread_id": thread_id, "queued_turn_id": queued_turn_id}
    return Finding(message, code="queued_turn_not_found", **facts)


@click.command(
    "edit",
    cls=LedgerCommand,
    needs={**_ONE, "SUBMISSION": SUBMISSION},
    example="""turnledger queue edit chat-1 reminder '{"text": "hello"}'""",
    exits=_CHANGE,
)
@thread_argument
@queued_turn_argument
@click.argument("submission", type=object_of("submission"))
def edit(thread_id: str, queued_turn_id: str, submission: dict[str, Any]) -> None:
    """Give a visible queued turn another submission; it keeps its id and place."""
    with current().writing() as ledger:
        turn = ledger.queue.edit(thread_id, queued_turn_id, submission)
    said = f"edited: {queued_turn_id}, order {turn.queue_order} in thread {thread_id}"
    current().answer(turn, lambda layout: layout.line(said))


@click.command(
    "delete",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger queue delete chat-1 reminder",
    exits={0: "deleted", 1: "no such turn is visible, or refused"},
)
@thread_argument
@queued_turn_argument
def delete(thread_id: str, queued_turn_id: str) -> None:
    """Take a visible queued turn out; its history remains."""
    with current().writing() as ledger:
        deleted = ledger.queue.delete(thread_id, queued_turn_id)
        turn = ledger.queue.get(thread_id, queued_turn_id)
    if turn is None:
        raise _never_was(thread_id, queued_turn_id)
    facts = {"thread_id": thread_id, "queued_turn_id": queued_turn_id}
    if not deleted:
        message = f"{queued_turn_id} is {turn.state}; only what is pending or failed is deleted"
        raise Finding(message, code="not_visible", **facts, state=turn.state)
    said = f"deleted: {queued_turn_id} of thread {thread_id}"
    current().answer({**facts, "deleted": True}, lambda layout: layout.line(said))


@click.command(
    "clear",
    cls=LedgerCommand,
    needs={"THREAD": THREAD},
    example="turnledger queue clear chat-1",
    exits=_CHANGE,
)
@thread_argument
def clear(thread_id: str) -> None:
    """End every queued turn of a thread, what is in flight too; the thread lives on."""
    with current().writing() as ledger:
        ended = ledger.queue.clear(thread_id)
    said = f"ended: {counted(ended, 'queued turn')} of thread {thread_id}"
    answer = {"thread_id": thread_id, "count": ended}
    current().answer(answer, lambda layout: layout.line(said))


@click.command(
    "reorder",
    cls=LedgerCommand,
    needs={"THREAD": THREAD, "QUEUED_TURN": "every id of the visible queue, in the new order"},
    example="turnledger queue reorder chat-1 second first third",
    exits=_CHANGE,
)
@thread_argument
@click.argument(
    "queued_turn_ids",
    metavar="QUEUED_TURN...",
    nargs=-1,
    required=True,
    type=identifier("queued_turn_id"),
)
def reorder(thread_id: str, queued_turn_ids: tuple[str, ...]) -> None:
    """Put the visible queued turns in another order."""
    with current().writing() as ledger:
        turns = ledger.queue.reorder(thread_id, queued_turn_ids)
    _show(turns)


def _show(turns: Sequence[QueuedTurn]) -> None:
    current().answer(turns, lambda layout: layout.table(turn_table(turns)))


COMMANDS = (list_, get, edit, delete, clear, reorder)
