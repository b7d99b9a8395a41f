"""`turnledger operation …` for those who execute: claim, create-and-claim, complete."""

from typing import Any

import click

from turnledger import RecordedOperation
from turnledger.cli.claim_command import FENCED
from turnledger.cli.command import LedgerCommand
from turnledger.cli.operation_command import PAYLOAD, policy_option, type_option
from turnledger.cli.operation_view import operation_card
from turnledger.cli.parameter import Decorated, json_of
from turnledger.cli.run_parameter import (
    KEY,
    ShownRunClaim,
    claim_options,
    key_argument,
    operation_never_was,
)
from turnledger.cli.session import Finding, current
from turnledger.cli.turn_parameter import value_of
from turnledger.domain.operation import EFFECTS

_ONE = {"KEY": KEY}
_CLAIMED = {0: "it runs now", 1: "it can't be claimed, or the run's claim is lost"}


def _automatic_option(function: Decorated) -> Decorated:
    text = "Nobody decided on this very execution; then its policy must be safe."
    return click.option("--automatic", is_flag=True, help=text)(function)


@click.command(
    "claim",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger operation claim mail-9 --run run-1 --owner boot-3 --epoch 1",
    exits=_CLAIMED,
)
@key_argument
@claim_options
@_automatic_option
def claim(
    key: str,
    run_id: str,
    owner: str,
    epoch: int,
    automatic: bool,  # noqa: FBT001 - click passes it by name
) -> None:
    """Record that an operation is about to be executed, which can't be taken back."""
    with current().writing() as ledger:
        shown = ShownRunClaim(run_id, owner, epoch).on(ledger)
        _show(key, ledger.operations.claim(shown, key, automatic=automatic))


@click.command(
    "create-and-claim",
    cls=LedgerCommand,
    needs={**_ONE, "PAYLOAD": PAYLOAD},
    example='turnledger operation create-and-claim mail-9 \'{"to": "ann"}\' --type send '
    "--run run-1 --owner boot-3 --epoch 1",
    exits=_CLAIMED,
)
@key_argument
@click.argument("payload", metavar="PAYLOAD", type=json_of("payload"))
@claim_options
@type_option
@policy_option
@_automatic_option
def create_and_claim(
    key: str, payload: object, run_id: str, owner: str, epoch: int, **said: Any
) -> None:
    """Both in one transaction; if it can't be claimed, nothing is written."""
    with current().writing() as ledger:
        shown = ShownRunClaim(run_id, owner, epoch).on(ledger)
        _show(key, ledger.operations.create_and_claim(shown, key, payload=payload, **said))


@click.command(
    "complete",
    cls=LedgerCommand,
    needs={**_ONE, "EFFECT": "applied, not_applied, failed_no_effect or unknown"},
    example="turnledger operation complete mail-9 applied --result '{\"id\": 5}' "
    "--run run-1 --owner boot-3 --epoch 1",
    exits=FENCED,
)
@key_argument
@click.argument("effect", metavar="EFFECT", type=click.Choice(EFFECTS))
@claim_options
@click.option("--result", type=value_of("result"), metavar="JSON_OR_TEXT", help="What came back.")
def complete(  # noqa: PLR0913, PLR0917 - what came of it, and whose it was
    key: str, effect: Any, run_id: str, owner: str, epoch: int, result: object
) -> None:
    """Say what came of an operation, once."""
    with current().writing() as ledger:
        shown = ShownRunClaim(run_id, owner, epoch).on(ledger)
        completed = ledger.operations.complete(shown, key, effect, result)
        operation = ledger.operations.get(key)
    if operation is None:
        raise operation_never_was(key)
    if not completed:
        message = f"operation {key} isn't settled by this: it is {operation.execution}"
        facts = {"execution": operation.execution, "effect": operation.effect}
        raise Finding(message, code="not_completed", key=key, **facts)
    current().answer(operation, lambda layout: layout.card(operation_card(operation)))


def _show(key: str, operation: RecordedOperation | None) -> None:
    if operation is None:
        message = f"operation {key} can't be claimed: see `turnledger operation get`"
        raise Finding(message, code="nothing_to_claim", key=key)
    current().answer(operation, lambda layout: layout.card(operation_card(operation)))


COMMANDS = (claim, create_and_claim, complete)
