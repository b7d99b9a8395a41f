"""`turnledger inbox …` for those who send messages and look after them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from turnledger import InboxMessage
from turnledger.cli.command import LedgerCommand
from turnledger.cli.inbox_view import message_card, message_table
from turnledger.cli.parameter import (
    MESSAGE,
    THREAD,
    identifier,
    instant,
    json_of,
    json_or_text,
    key_option,
    message_argument,
    object_of,
    thread_argument,
)
from turnledger.cli.session import Finding, current
from turnledger.domain.inbox import DELIVERIES

_CHANGE = {0: "done", 1: "refused, and nothing changed"}
_NEEDS = {"THREAD": THREAD}
_ONE = {**_NEEDS, "MESSAGE": MESSAGE}


@click.command(
    "post",
    cls=LedgerCommand,
    needs={**_NEEDS, "CONTENT": "JSON, - for standard input, or @FILE"},
    example="""turnledger inbox post chat-1 '{"text": "the build is green"}' --source ci
    turnledger inbox post chat-1 @mail.json --source mail --delivery steer-current-turn""",
    exits=_CHANGE,
)
@thread_argument
@click.argument("content", type=json_of("content"))
@click.option(
    "--source", required=True, type=identifier("source"), metavar="NAME", help="Who sends it."
)
@click.option(
    "--delivery",
    type=click.Choice(DELIVERIES),
    default="after-turn",
    show_default=True,
    help="When the thread is idle, or also into the turn that runs.",
)
@click.option("--instructions", metavar="JSON_OR_TEXT", help="How the content is to be taken.")
@click.option("--metadata", type=object_of("metadata"), metavar="JSON", help="A JSON object.")
@click.option(
    "--queued-at",
    type=instant("queued_at"),
    metavar="ISO8601",
    help="Its place: older ones come first. With a zone: 2030-01-31T09:00:00Z.  [default: now]",
)
@click.option(
    "--id",
    "message_id",
    type=identifier("message_id"),
    metavar="ID",
    help="The message's id, which acts as a key as well.  [default: a new UUIDv7]",
)
@key_option
def post(
    thread_id: str,
    content: object,
    instructions: str | None,
    metadata: dict[str, Any] | None,
    queued_at: datetime | None,
    **named: Any,
) -> None:
    """Put a message into a thread's inbox."""
    how = None if instructions is None else json_or_text("instructions", instructions)
    with current().writing() as ledger:
        message = ledger.inbox.post(
            thread_id,
            content,
            instructions=how,
            metadata=metadata or {},
            queued_at=queued_at,
            **named,
        )
    before = "was posted before" if message.duplicate else "posted"
    said = f"{before}: {message.message_id}, {message.delivery} in thread {thread_id}"
    current().answer(message, lambda layout: layout.line(said))


@click.command(
    "list",
    cls=LedgerCommand,
    needs=_NEEDS,
    example="turnledger inbox list chat-1",
    exits={0: "listed, also if nothing waits"},
)
@thread_argument
def list_(thread_id: str) -> None:
    """The messages of a thread that wait, the oldest first."""
    with current().reading() as ledger:
        _show(ledger.inbox.list(thread_id))


@click.command(
    "get",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger inbox get chat-1 0190f3c4-8a5e-7cc1-b4d2-0242ac120002",
    exits={0: "there it is, also if it is settled or gone", 1: "the thread never had it"},
)
@thread_argument
@message_argument
def get(thread_id: str, message_id: str) -> None:
    """What has become of a message, with its evidence."""
    with current().reading() as ledger:
        message = ledger.inbox.get(thread_id, message_id)
    if message is None:
        raise _never_was(thread_id, message_id)
    current().answer(message, lambda layout: layout.card(message_card(message)))


@click.command(
    "delete",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger inbox delete chat-1 reminder",
    exits={0: "deleted", 1: "no such message waits or is undelivered, or refused"},
)
@thread_argument
@message_argument
def delete(thread_id: str, message_id: str) -> None:
    """Take a message out that waits, or is undelivered; its history remains."""
    with current().writing() as ledger:
        deleted = ledger.inbox.delete(thread_id, message_id)
        message = ledger.inbox.get(thread_id, message_id)
    if message is None:
        raise _never_was(thread_id, message_id)
    facts = {"thread_id": thread_id, "message_id": message_id}
    if not deleted:
        said = f"{message_id} is {message.state}; only what waits or is undelivered is deleted"
        raise Finding(said, code="not_deleted", **facts, state=message.state)
    done = f"deleted: {message_id} of thread {thread_id}"
    current().answer({**facts, "deleted": True}, lambda layout: layout.line(done))


@click.command(
    "undelivered",
    cls=LedgerCommand,
    needs=_NEEDS,
    example="turnledger inbox undelivered chat-1",
    exits={0: "listed, also if there is none"},
)
@thread_argument
def undelivered(thread_id: str) -> None:
    """The messages that were handed out and never confirmed; `requeue` brings one back."""
    with current().reading() as ledger:
        _show(ledger.inbox.undelivered(thread_id))


@click.command(
    "requeue",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger inbox requeue chat-1 reminder",
    exits=_CHANGE,
)
@thread_argument
@message_argument
def requeue(thread_id: str, message_id: str) -> None:
    """Bring an undelivered message back on purpose, in its own place."""
    with current().writing() as ledger:
        message = ledger.inbox.requeue(thread_id, message_id)
    said = f"waits again: {message_id} in thread {thread_id}"
    current().answer(message, lambda layout: layout.line(said))


def _show(messages: Sequence[InboxMessage]) -> None:
    current().answer(messages, lambda layout: layout.table(message_table(messages)))


def _never_was(thread_id: str, message_id: str) -> Finding:
    """The finding that a thread never had a message."""
    message = f"thread {thread_id} never had a message {message_id}"
    facts = {"thread_id": thread_id, "message_id": message_id}
    return Finding(message, code="message_not_found", **facts)


COMMANDS = (post, list_, get, delete, undelivered, requeue)
