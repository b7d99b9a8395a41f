"""`turnledger queue …` for those who look after it: retry, resolve, pause, recover."""

from typing import Any, Literal

import click

from turnledger.cli.command import LedgerCommand
from turnledger.cli.parameter import (
    QUEUED_TURN,
    THREAD,
    identifier,
    json_or_text,
    queued_turn_argument,
    thread_argument,
)
from turnledger.cli.plain_text import counted
from turnledger.cli.session import current
from turnledger.cli.turn_view import turn_table

_CHANGE = {0: "done", 1: "refused, and nothing changed"}
_NEEDS = {"THREAD": THREAD}
_ONE = {**_NEEDS, "QUEUED_TURN": QUEUED_TURN}


@click.command(
    "retry",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger queue retry chat-1 reminder",
    exits=_CHANGE,
)
@thread_argument
@queued_turn_argument
def retry(thread_id: str, queued_turn_id: str) -> None:
    """Let a failed queued turn wait again, in its place."""
    with current().writing() as ledger:
        turn = ledger.queue.retry(thread_id, queued_turn_id)
    said = f"waits again: {queued_turn_id}, order {turn.queue_order} in thread {thread_id}"
    current().answer(turn, lambda layout: layout.line(said))


@click.command(
    "resolve",
    cls=LedgerCommand,
    needs={**_ONE, "DECISION": "acked, it did take effect; or retry, it didn't"},
    example="turnledger queue resolve chat-1 reminder acked --by ann",
    exits=_CHANGE,
)
@thread_argument
@queued_turn_argument
@click.argument("decision", metavar="DECISION", type=click.Choice(["acked", "retry"]))
@click.option("--by", required=True, metavar="NAME", help="Who decided.")
@click.option("--evidence", metavar="JSON_OR_TEXT", help="On what grounds.")
def resolve(
    thread_id: str,
    queued_turn_id: str,
    decision: Literal["acked", "retry"],
    by: str,
    evidence: str | None,
) -> None:
    """Decide what became of a failed queued turn whose outcome is unknown."""
    grounds = None if evidence is None else json_or_text("evidence", evidence)
    with current().writing() as ledger:
        turn = ledger.queue.resolve(thread_id, queued_turn_id, decision, by=by, evidence=grounds)
    said = f"{turn.state}: {queued_turn_id} of thread {thread_id}, as {by} decided"
    current().answer(turn, lambda layout: layout.line(said))


@click.command(
    "pause",
    cls=LedgerCommand,
    needs=_NEEDS,
    example='turnledger queue pause chat-1 --reason "the provider is down"',
    exits=_CHANGE,
)
@thread_argument
@click.option("--reason", required=True, metavar="TEXT", help="Why.")
def pause(thread_id: str, reason: str) -> None:
    """Give out no claims of a thread until it is resumed; all else is accepted."""
    with current().writing() as ledger:
        ledger.queue.pause(thread_id, reason)
    answer = {"thread_id": thread_id, "paused": True, "reason": reason}
    current().answer(answer, lambda layout: layout.line(f"paused: thread {thread_id}"))


@click.command(
    "resume",
    cls=LedgerCommand,
    needs=_NEEDS,
    example="turnledger queue resume chat-1",
    exits=_CHANGE,
)
@thread_argument
def resume(thread_id: str) -> None:
    """Give out claims of a paused thread again."""
    with current().writing() as ledger:
        ledger.queue.resume(thread_id)
    answer = {"thread_id": thread_id, "paused": False}
    current().answer(answer, lambda layout: layout.line(f"resumed: thread {thread_id}"))


@click.command(
    "recover",
    cls=LedgerCommand,
    needs={"THREAD": "only this thread; default all"},
    example="turnledger queue recover\nturnledger queue recover --owner worker-7",
    exits={0: "done, also if no claim was over", 1: "refused"},
)
@click.argument("thread_id", metavar="[THREAD]", required=False, type=identifier("thread_id"))
@click.option(
    "--owner",
    type=identifier("owner"),
    metavar="NAME",
    help="A dead owner, whose claims are over too.",
)
@click.option("--failure", metavar="JSON_OR_TEXT", help="What dispatched turns failed of.")
def recover(thread_id: str | None, owner: str | None, failure: str | None) -> None:
    """End the claims that are over: undispatched turns wait again, dispatched ones are failed."""
    given: dict[str, Any] = {}
    if failure is not None:
        given["failure"] = json_or_text("failure", failure)
    with current().writing() as ledger:
        turns = ledger.queue.recover(thread_id, owner=owner, **given)
    table = turn_table(turns, with_thread=True)
    current().answer(turns, lambda layout: layout.table(table))


@click.command(
    "fail-in-flight",
    cls=LedgerCommand,
    needs=_NEEDS,
    example='turnledger queue fail-in-flight chat-1 --failure "the host was restarted"',
    exits={0: "done, also if nothing was in flight", 1: "refused"},
)
@thread_argument
@click.option("--failure", required=True, metavar="JSON_OR_TEXT", help="Why.")
def fail_in_flight(thread_id: str, failure: str) -> None:
    """Fail what is in flight, live or not: for a host that is the only owner."""
    why = json_or_text("failure", failure)
    with current().writing() as ledger:
        count = ledger.queue.fail_in_flight(thread_id, why)
    said = f"failed: {counted(count, 'queued turn')} of thread {thread_id}"
    answer = {"thread_id": thread_id, "count": count}
    current().answer(answer, lambda layout: layout.line(said))


COMMANDS = (retry, resolve, pause, resume, recover, fail_in_flight)
