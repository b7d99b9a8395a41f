"""`turnledger operation …` for those who wish effects, look after them and decide on them."""

from typing import Any

import click

from turnledger.cli.command import LedgerCommand
from turnledger.cli.operation_view import blocking_table, operation_card, operation_table
from turnledger.cli.parameter import Decorated, identifier, json_of
from turnledger.cli.plain_text import counted
from turnledger.cli.run_parameter import (
    KEY,
    WORK_ITEM,
    action_option,
    key_argument,
    operation_never_was,
    run_option,
    work_item_option,
)
from turnledger.cli.session import Finding, current
from turnledger.cli.turn_parameter import value_of, work_item_argument
from turnledger.domain.operation import DECISIONS, POLICIES

PAYLOAD = "JSON, - for standard input, or @FILE"

_CHANGE = {0: "done", 1: "refused, and nothing changed"}
_ONE = {"KEY": KEY}


def type_option(function: Decorated) -> Decorated:
    """What kind of effect it is."""
    text = "What kind of effect it is: a name that the host chose."
    convert = identifier("operation_type")
    option = click.option(
        "--type", "operation_type", required=True, type=convert, metavar="NAME", help=text
    )
    return option(function)


def policy_option(function: Decorated) -> Decorated:
    """Whether it may be claimed automatically."""
    option = click.option(
        "--policy",
        "replay_policy",
        type=click.Choice(POLICIES),
        default="never_automatic",
        show_default=True,
        help="Whether it may be claimed without anybody's decision.",
    )
    return option(function)


@click.command(
    "create",
    cls=LedgerCommand,
    needs={**_ONE, "PAYLOAD": PAYLOAD},
    example='turnledger operation create mail-9 \'{"to": "ann"}\' --type send --run run-1 '
    "--work-item order-7 --action answer",
    exits=_CHANGE,
)
@key_argument
@click.argument("payload", metavar="PAYLOAD", type=json_of("payload"))
@run_option
@work_item_option
@action_option
@type_option
@policy_option
def create(key: str, payload: object, **said: Any) -> None:
    """Record that an effect is wished; its key is its identity."""
    with current().writing() as ledger:
        operation = ledger.operations.create(key, payload=payload, **said)
    word = "was created before" if operation.duplicate else "created"
    line = f"{word}: {key} of run {operation.run_id}"
    current().answer(operation, lambda layout: layout.line(line))


@click.command(
    "list",
    cls=LedgerCommand,
    needs={"WORK_ITEM": "only of this one; default all"},
    example="turnledger operation list order-7",
    exits={0: "listed, also if there is none"},
)
@click.argument(
    "work_item_id", metavar="[WORK_ITEM]", required=False, type=identifier("work_item_id")
)
def list_(work_item_id: str | None) -> None:
    """The operations of a work item, by their keys."""
    with current().reading() as ledger:
        operations = ledger.operations.list(work_item_id)
    current().answer(operations, lambda layout: layout.table(operation_table(operations)))


@click.command(
    "get",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger operation get mail-9",
    exits={0: "there it is, also if it is settled", 1: "it never was"},
)
@key_argument
def get(key: str) -> None:
    """What is known of an operation, with its evidence."""
    with current().reading() as ledger:
        operation = ledger.operations.get(key)
    if operation is None:
        raise operation_never_was(key)
    current().answer(operation, lambda layout: layout.card(operation_card(operation)))


@click.command(
    "request-cancel",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger operation request-cancel mail-9",
    exits={0: "requested", 1: "it doesn't run, or that was requested before"},
)
@key_argument
def request_cancel(key: str) -> None:
    """Say that an operation isn't wanted any more; its owner may still complete it."""
    with current().writing() as ledger:
        requested = ledger.operations.request_cancel(key)
    if not requested:
        message = f"operation {key} doesn't run, or its cancellation was requested before"
        raise Finding(message, code="not_requested", key=key)
    answer = {"key": key, "requested": True}
    current().answer(answer, lambda layout: layout.line(f"cancellation requested: {key}"))


@click.command(
    "recover",
    cls=LedgerCommand,
    example="turnledger operation recover",
    exits={0: "done, also if there was nothing"},
)
def recover() -> None:
    """Say of what nobody answers for that nobody does. Nothing live is touched."""
    with current().writing() as ledger:
        done = ledger.operations.recover()
    orphaned = f"to be resolved: {counted(done.operations_orphaned, 'operation')}"
    never = f"never claimed: {counted(done.operations_never_claimed, 'operation')}"
    current().answer(done, lambda layout: layout.line(f"{orphaned}; {never}"))


@click.command(
    "resolve",
    cls=LedgerCommand,
    needs={**_ONE, "DECISION": ", ".join(DECISIONS)},
    example="turnledger operation resolve mail-9 confirm_applied --by ann --evidence seen",
    exits={0: "decided", 1: "it isn't in doubt (any more), or never was"},
)
@key_argument
@click.argument("decision", metavar="DECISION", type=click.Choice(DECISIONS))
@click.option("--by", required=True, metavar="NAME", help="Who decides.")
@click.option(
    "--evidence", type=value_of("evidence"), metavar="JSON_OR_TEXT", help="What that rests on."
)
def resolve(key: str, decision: Any, by: str, evidence: object) -> None:
    """Decide whether an operation took effect, of which nobody can know it."""
    with current().writing() as ledger:
        operation = ledger.operations.resolve(key, decision, by=by, evidence=evidence)
    current().answer(operation, lambda layout: layout.card(operation_card(operation)))


@click.command(
    "safe-to-proceed",
    cls=LedgerCommand,
    needs={"WORK_ITEM": WORK_ITEM},
    example="turnledger operation safe-to-proceed order-7",
    exits={0: "nothing stands in the way, or what does is listed"},
)
@work_item_argument
def safe_to_proceed(work_item_id: str) -> None:
    """What stands in the way of going on with a work item."""
    with current().reading() as ledger:
        blocking = ledger.operations.safe_to_proceed(work_item_id)
    current().answer(blocking, lambda layout: layout.table(blocking_table(blocking)))


COMMANDS = (create, list_, get, request_cancel, recover, resolve, safe_to_proceed)
