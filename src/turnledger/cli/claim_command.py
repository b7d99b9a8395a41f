"""`turnledger queue …` for workers: claim, claim-next, renew, release."""

import click

from turnledger.cli.command import LedgerCommand
from turnledger.cli.parameter import (
    THREAD,
    ShownClaim,
    count,
    epoch_option,
    lease_option,
    owner_option,
    thread_argument,
)
from turnledger.cli.reason import explained
from turnledger.cli.session import Finding, current
from turnledger.cli.turn_view import claim_card, claim_table

FENCED = {0: "done", 1: "the claim is lost, or refused; nothing changed"}
_NEEDS = {"THREAD": THREAD}


@click.command(
    "claim",
    cls=LedgerCommand,
    needs=_NEEDS,
    example="turnledger queue claim chat-1 --owner worker-7 --lease 300",
    exits={0: "a claim", 1: "there is nothing to claim; the message says why"},
)
@thread_argument
@owner_option
@lease_option
def claim(thread_id: str, owner: str, lease: float) -> None:
    """Take the head of a thread's queue for the time of a lease."""
    with current().writing() as ledger:
        taken = ledger.queue.claim_head(thread_id, owner, lease)
        reason = None if taken else ledger.queue.why_blocked(thread_id)
    if taken is None:
        facts = {"thread_id": thread_id, "why_blocked": reason}
        message = f"nothing to claim in thread {thread_id}: {explained(reason)}"
        raise Finding(message, code="nothing_to_claim", **facts)
    current().answer(taken, lambda layout: layout.card(claim_card(taken)))


@click.command(
    "claim-next",
    cls=LedgerCommand,
    example="turnledger queue claim-next --owner worker-7 --limit 5",
    exits={0: "at least one claim", 1: "no thread has a head that can be claimed"},
)
@owner_option
@lease_option
@click.option("--limit", type=count, default=1, show_default=True, metavar="N", help="At most.")
def claim_next(owner: str, lease: float, limit: int) -> None:
    """Take the heads of several threads, the longest waiting first."""
    with current().writing() as ledger:
        claims = ledger.queue.claim_next(owner, limit=limit, lease=lease)
    if not claims:
        message = "no thread has a head that can be claimed; see `turnledger thread list`"
        raise Finding(message, code="nothing_to_claim")
    current().answer(claims, lambda layout: layout.table(claim_table(claims)))


@click.command(
    "renew",
    cls=LedgerCommand,
    needs=_NEEDS,
    example="turnledger queue renew chat-1 --owner worker-7 --epoch 3 --lease 300",
    exits=FENCED,
)
@thread_argument
@owner_option
@epoch_option
@lease_option
def renew(thread_id: str, owner: str, epoch: int, lease: float) -> None:
    """Give a live claim a new end."""
    shown = ShownClaim(thread_id, owner, epoch)
    with current().writing() as ledger:
        renewed = ledger.queue.renew(shown.on(ledger), lease)
    current().answer(renewed, lambda layout: layout.card(claim_card(renewed)))


@click.command(
    "release",
    cls=LedgerCommand,
    needs=_NEEDS,
    example="turnledger queue release chat-1 --owner worker-7 --epoch 3",
    exits=FENCED,
)
@thread_argument
@owner_option
@epoch_option
def release(thread_id: str, owner: str, epoch: int) -> None:
    """Give a queued turn back that wasn't dispatched."""
    shown = ShownClaim(thread_id, owner, epoch)
    with current().writing() as ledger:
        ledger.queue.release(shown.on(ledger))
    say_done(shown, "released")


def say_done(shown: ShownClaim, done: str, **facts: object) -> None:
    """Answer a command on a claim, which has no value of its own."""
    said = f"{done}: thread {shown.thread_id}, owner {shown.owner}, epoch {shown.epoch}"
    answer = {**shown._asdict(), **facts, "done": done}
    current().answer(answer, lambda layout: layout.line(said))


COMMANDS = (claim, claim_next, renew, release)
