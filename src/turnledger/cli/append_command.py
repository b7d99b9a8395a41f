"""`turnledger queue append` and `append-many`: put work in."""

from datetime import datetime
from typing import Any

import click

from turnledger.cli import json_text
from turnledger.cli.command import LedgerCommand
from turnledger.cli.parameter import (
    SUBMISSION,
    THREAD,
    checked_submission,
    identifier,
    instant,
    key_option,
    object_of,
    thread_argument,
)
from turnledger.cli.session import current
from turnledger.cli.source import text_from
from turnledger.cli.turn_view import turn_table

_CHANGE = {0: "done", 1: "refused, and nothing changed"}


@click.command(
    "append",
    cls=LedgerCommand,
    needs={"THREAD": THREAD, "SUBMISSION": SUBMISSION},
    example="""turnledger queue append chat-1 '{"text": "hi"}'
    turnledger queue append chat-1 @request.json --key request-17""",
    exits=_CHANGE,
)
@thread_argument
@click.argument("submission", type=object_of("submission"))
@key_option
@click.option(
    "--id",
    "queued_turn_id",
    type=identifier("queued_turn_id"),
    metavar="ID",
    help="The queued turn's id, which acts as a key as well.  [default: a new UUIDv7]",
)
@click.option(
    "--not-before",
    type=instant("not_before"),
    metavar="ISO8601",
    help="It keeps its place, but can't be claimed earlier. With a zone: 2030-01-31T09:00:00Z.",
)
def append(
    thread_id: str,
    submission: dict[str, Any],
    idempotency_key: str | None,
    queued_turn_id: str | None,
    not_before: datetime | None,
) -> None:
    """Put a submission behind everything that is there."""
    names = {"idempotency_key": idempotency_key, "queued_turn_id": queued_turn_id}
    with current().writing() as ledger:
        turn = ledger.queue.append(thread_id, submission, **names, not_before=not_before)
    before = "was appended before" if turn.duplicate else "appended"
    said = f"{before}: {turn.queued_turn_id}, order {turn.queue_order} in thread {thread_id}"
    current().answer(turn, lambda layout: layout.line(said))


@click.command(
    "append-many",
    cls=LedgerCommand,
    needs={"THREAD": THREAD, "SUBMISSIONS": "JSON lines: - for standard input, or @FILE"},
    example="turnledger queue append-many chat-1 @requests.jsonl",
    exits=_CHANGE,
)
@thread_argument
@click.argument("submissions", default="-")
@key_option
def append_many(thread_id: str, submissions: str, idempotency_key: str | None) -> None:
    """Put submissions behind everything that is there, in order, all or none."""
    given = list(_lines(text_from("submissions", submissions)))
    with current().writing() as ledger:
        turns = ledger.queue.append_many(thread_id, given, idempotency_key=idempotency_key)
    current().answer(turns, lambda layout: layout.table(turn_table(turns)))


def _lines(text: str) -> list[dict[str, Any]]:
    """A submission for each line that isn't blank. Only a line feed ends a line of JSON."""
    found: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        name = f"line {number} of the submissions"
        if line.strip():
            found.append(checked_submission(name, json_text.parse(name, line)))
    return found


COMMANDS = (append, append_many)
