"""`turnledger run …`: the leases under which operations are executed."""

import click

from turnledger.cli.claim_command import FENCED
from turnledger.cli.command import LedgerCommand
from turnledger.cli.operation_view import run_card, run_claim_card
from turnledger.cli.parameter import epoch_option, lease_option, owner_option
from turnledger.cli.run_parameter import (
    RUN,
    ShownRunClaim,
    action_option,
    run_argument,
    run_never_was,
    work_item_option,
)
from turnledger.cli.session import Finding, current
from turnledger.cli.turn_parameter import value_of

_ONE = {"RUN": RUN}


@click.command(
    "start",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger run start run-1 --work-item order-7 --action send --owner boot-3",
    exits={0: "a claim", 1: "somebody's claim is live, or the run is over"},
)
@run_argument
@work_item_option
@action_option
@owner_option
@lease_option
def start(run_id: str, work_item_id: str, action_id: str, owner: str, lease: float) -> None:
    """Begin a run, or take it over if its lease is over."""
    with current().writing() as ledger:
        taken = ledger.runs.start(run_id, work_item_id, action_id, owner, lease)
    if taken is None:
        message = f"somebody's claim on run {run_id} is live"
        raise Finding(message, code="nothing_to_claim", run_id=run_id)
    current().answer(taken, lambda layout: layout.card(run_claim_card(taken)))


@click.command(
    "renew",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger run renew run-1 --owner boot-3 --epoch 1 --lease 300",
    exits=FENCED,
)
@run_argument
@owner_option
@epoch_option
@lease_option
def renew(run_id: str, owner: str, epoch: int, lease: float) -> None:
    """Give a live claim a new end."""
    with current().writing() as ledger:
        renewed = ledger.runs.renew(ShownRunClaim(run_id, owner, epoch).on(ledger), lease)
    current().answer(renewed, lambda layout: layout.card(run_claim_card(renewed)))


@click.command(
    "finish",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger run finish run-1 --owner boot-3 --epoch 1 --outcome done",
    exits=FENCED,
)
@run_argument
@owner_option
@epoch_option
@click.option(
    "--outcome", type=value_of("outcome"), metavar="JSON_OR_TEXT", help="What came of it."
)
def finish(run_id: str, owner: str, epoch: int, outcome: object) -> None:
    """End a run with what came of it."""
    with current().writing() as ledger:
        run = ledger.runs.finish(ShownRunClaim(run_id, owner, epoch).on(ledger), outcome)
    current().answer(run, lambda layout: layout.card(run_card(run)))


@click.command(
    "interrupt",
    cls=LedgerCommand,
    needs=_ONE,
    example='turnledger run interrupt run-1 --reason "the user left"',
    exits={0: "interrupted", 1: "it is over already, or never was"},
)
@run_argument
@click.option("--reason", type=value_of("reason"), metavar="JSON_OR_TEXT", help="Why.")
def interrupt(run_id: str, reason: object) -> None:
    """End a run, whoever holds it; its owner finds its claim lost."""
    with current().writing() as ledger:
        interrupted = ledger.runs.interrupt(run_id, reason)
    if not interrupted:
        message = f"run {run_id} is over already, or never was"
        raise Finding(message, code="not_interrupted", run_id=run_id)
    answer = {"run_id": run_id, "interrupted": True}
    current().answer(answer, lambda layout: layout.line(f"interrupted: run {run_id}"))


@click.command(
    "get",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger run get run-1",
    exits={0: "there it is, also if it is over", 1: "it never was"},
)
@run_argument
def get(run_id: str) -> None:
    """What has become of a run."""
    with current().reading() as ledger:
        run = ledger.runs.get(run_id)
    if run is None:
        raise run_never_was(run_id)
    current().answer(run, lambda layout: layout.card(run_card(run)))


COMMANDS = (start, renew, finish, interrupt, get)
