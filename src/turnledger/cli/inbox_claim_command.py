"""`turnledger inbox …` for those who deliver messages: claim, confirm, release, recover."""

import click

from turnledger import MessageClaim, NotReady, Rejected
from turnledger.cli.claim_command import FENCED, say_done
from turnledger.cli.command import LedgerCommand
from turnledger.cli.inbox_view import message_claim_card
from turnledger.cli.parameter import (
    THREAD,
    ShownClaim,
    epoch_option,
    identifier,
    lease_option,
    owner_option,
    thread_argument,
)
from turnledger.cli.plain_text import counted
from turnledger.cli.session import Finding, current
from turnledger.domain.inbox import RecoveryMode

_NEEDS = {"THREAD": THREAD}
_REASONS = {
    "in_flight": "it is in flight",
    "expired_claim": "its claim is over; `turnledger inbox recover` ends it",
    "not_deliverable": "the thread is busy",
}


@click.command(
    "claim",
    cls=LedgerCommand,
    needs=_NEEDS,
    example="turnledger inbox claim chat-1 --owner worker-7 --can-after-turn",
    exits={0: "a claim", 1: "there is nothing to claim now; the message says why"},
)
@thread_argument
@owner_option
@click.option("--can-after-turn", is_flag=True, help="The thread is idle.")
@click.option("--can-steer-current-turn", is_flag=True, help="A turn runs that can be steered.")
@lease_option
def claim(
    thread_id: str,
    owner: str,
    can_after_turn: bool,  # noqa: FBT001 - click passes it by name
    can_steer_current_turn: bool,  # noqa: FBT001 - likewise
    lease: float,
) -> None:
    """Take the oldest message for the time of a lease, if it can be delivered now."""
    with current().writing() as ledger:
        taken = ledger.inbox.claim_next(
            thread_id,
            owner,
            can_after_turn=can_after_turn,
            can_steer_current_turn=can_steer_current_turn,
            lease=lease,
        )
    if not isinstance(taken, MessageClaim):
        raise _nothing(thread_id, taken)
    current().answer(taken, lambda layout: layout.card(message_claim_card(taken)))


@click.command(
    "confirm",
    cls=LedgerCommand,
    needs=_NEEDS,
    example="turnledger inbox confirm chat-1 --owner worker-7 --epoch 3",
    exits=FENCED,
)
@thread_argument
@owner_option
@epoch_option
def confirm(thread_id: str, owner: str, epoch: int) -> None:
    """Say that the message was delivered."""
    shown = ShownClaim(thread_id, owner, epoch)
    with current().writing() as ledger:
        ledger.inbox.confirm(shown.of_message(ledger))
    say_done(shown, "confirmed")


@click.command(
    "release",
    cls=LedgerCommand,
    needs=_NEEDS,
    example="turnledger inbox release chat-1 --owner worker-7 --epoch 3",
    exits=FENCED,
)
@thread_argument
@owner_option
@epoch_option
def release(thread_id: str, owner: str, epoch: int) -> None:
    """Give a message back that wasn't delivered."""
    shown = ShownClaim(thread_id, owner, epoch)
    with current().writing() as ledger:
        ledger.inbox.release(shown.of_message(ledger))
    say_done(shown, "released")


@click.command(
    "recover",
    cls=LedgerCommand,
    needs={"THREAD": "only this thread; default all"},
    example="turnledger inbox recover\nturnledger inbox recover chat-1 --mode at_least_once",
    exits={0: "done, also if no claim was over", 1: "refused"},
)
@click.argument("thread_id", metavar="[THREAD]", required=False, type=identifier("thread_id"))
@click.option(
    "--mode",
    type=click.Choice(["at_most_once", "at_least_once"]),
    default="at_most_once",
    show_default=True,
    help="Keep the messages as undelivered, or let them wait again.",
)
def recover(thread_id: str | None, mode: RecoveryMode) -> None:
    """End the claims of messages that are over."""
    with current().writing() as ledger:
        done = ledger.inbox.recover(thread_id, mode=mode)
    ended = counted(done.messages_pending + done.messages_expired, "claim")
    said = f"ended: {ended}; waiting again: {done.messages_pending}"
    current().answer(
        done, lambda layout: layout.line(f"{said}; undelivered: {done.messages_expired}")
    )


def _nothing(thread_id: str, answer: NotReady | Rejected | None) -> Finding:
    """The finding that there is no claim, and why."""
    match answer:
        case NotReady():
            why = _REASONS[answer.reason]
            message = f"message {answer.message_id} can't be delivered now: {why}"
            code = "not_ready"
        case Rejected():
            message = f"message {answer.message_id} was rejected: {answer.reason}"
            code = "rejected"
        case _:
            message = f"nothing to claim in the inbox of thread {thread_id}"
            return Finding(message, code="nothing_to_claim", thread_id=thread_id)
    facts = {"message_id": answer.message_id, "reason": answer.reason}
    return Finding(message, code=code, thread_id=thread_id, **facts)


COMMANDS = (claim, confirm, release, recover)
