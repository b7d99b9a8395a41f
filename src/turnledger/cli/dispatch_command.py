"""`turnledger queue …` for workers that hold a claim: dispatch, ack, fail."""

import click

from turnledger.cli.claim_command import FENCED, say_done
from turnledger.cli.command import LedgerCommand
from turnledger.cli.parameter import (
    THREAD,
    ShownClaim,
    epoch_option,
    identifier,
    json_or_text,
    owner_option,
    thread_argument,
)
from turnledger.cli.session import Finding, current

_NEEDS = {"THREAD": THREAD}


@click.command(
    "dispatch",
    cls=LedgerCommand,
    needs={**_NEEDS, "DISPATCH": "the host's own id of the hand-over; used once in a thread"},
    example="turnledger queue dispatch chat-1 turn-99 --owner worker-7 --epoch 3",
    exits=FENCED,
)
@thread_argument
@click.argument("dispatch_id", metavar="DISPATCH", type=identifier("dispatch_id"))
@owner_option
@epoch_option
def dispatch(thread_id: str, dispatch_id: str, owner: str, epoch: int) -> None:
    """Record that the hand-over is about to be made. Run this BEFORE making it."""
    shown = ShownClaim(thread_id, owner, epoch)
    with current().writing() as ledger:
        ledger.queue.start_dispatch(shown.on(ledger), dispatch_id)
    say_done(shown, "dispatching", dispatch_id=dispatch_id)


@click.command(
    "ack",
    cls=LedgerCommand,
    needs=_NEEDS,
    example="turnledger queue ack chat-1 --owner worker-7 --epoch 3",
    exits=FENCED,
)
@thread_argument
@owner_option
@epoch_option
def ack(thread_id: str, owner: str, epoch: int) -> None:
    """Say that the dispatch took effect: the queued turn is done."""
    shown = ShownClaim(thread_id, owner, epoch)
    with current().writing() as ledger:
        ledger.queue.ack(shown.on(ledger))
    say_done(shown, "acked")


@click.command(
    "ack-dispatch",
    cls=LedgerCommand,
    needs={**_NEEDS, "DISPATCH": "the id that was given to `queue dispatch`"},
    example="turnledger queue ack-dispatch chat-1 turn-99",
    exits={0: "acked", 1: "that dispatch isn't in flight"},
)
@thread_argument
@click.argument("dispatch_id", metavar="DISPATCH", type=identifier("dispatch_id"))
def ack_dispatch(thread_id: str, dispatch_id: str) -> None:
    """Say that a dispatch took effect, where only its id is known."""
    with current().writing() as ledger:
        acked = ledger.queue.ack_dispatch(thread_id, dispatch_id)
    facts = {"thread_id": thread_id, "dispatch_id": dispatch_id}
    if not acked:
        message = f"dispatch {dispatch_id} isn't in flight in thread {thread_id}"
        raise Finding(message, code="not_in_flight", **facts)
    said = f"acked: dispatch {dispatch_id} in thread {thread_id}"
    current().answer({**facts, "acked": True}, lambda layout: layout.line(said))


@click.command(
    "fail",
    cls=LedgerCommand,
    needs=_NEEDS,
    example="turnledger queue fail chat-1 --owner worker-7 --epoch 3 --failure '{\"status\": 400}'",
    exits=FENCED,
)
@thread_argument
@owner_option
@epoch_option
@click.option("--failure", required=True, metavar="JSON_OR_TEXT", help="Why.")
@click.option("--outcome-unknown", is_flag=True, help="Nobody can know whether it took effect.")
def fail(
    thread_id: str,
    owner: str,
    epoch: int,
    failure: str,
    outcome_unknown: bool,  # noqa: FBT001 - click passes it by name
) -> None:
    """Say that the queued turn failed: it blocks the queue at its old place."""
    shown = ShownClaim(thread_id, owner, epoch)
    why = json_or_text("failure", failure)
    with current().writing() as ledger:
        ledger.queue.fail(shown.on(ledger), why, outcome_unknown=outcome_unknown)
    say_done(shown, "failed", failure=why, outcome_unknown=outcome_unknown)


COMMANDS = (dispatch, ack, ack_dispatch, fail)
