"""`turnledger turn …` for those who begin coordinator turns and look after them."""

from typing import Any, get_args

import click

from turnledger.cli.command import LedgerCommand
from turnledger.cli.coordinator_view import begun_card, begun_table, recoverable_table
from turnledger.cli.parameter import count, identifier, json_of, key_option
from turnledger.cli.plain_text import counted, instant
from turnledger.cli.session import Finding, current
from turnledger.cli.turn_parameter import (
    TURN,
    WORK_ITEM,
    never_was,
    turn_argument,
    value_of,
    work_item_argument,
)
from turnledger.domain.coordinator_turn import TurnStatus

_CHANGE = {0: "done", 1: "refused, and nothing changed"}
_ITEM = {"WORK_ITEM": WORK_ITEM}
_ONE = {"TURN": TURN}


@click.command(
    "begin",
    cls=LedgerCommand,
    needs={**_ITEM, "MESSAGE": "JSON, - for standard input, or @FILE"},
    example="""turnledger turn begin order-7 '{"text": "please look"}'
    turnledger turn begin order-7 @mail.json --attach scan.pdf --owner boot-3""",
    exits=_CHANGE,
)
@work_item_argument
@click.argument("message", metavar="MESSAGE", type=json_of("message"))
@click.option(
    "--kind",
    type=identifier("kind"),
    default="message",
    show_default=True,
    metavar="WORD",
    help="message, recovery, or another word of the host's.",
)
@click.option(
    "--target",
    type=identifier("target"),
    default="coordinator",
    show_default=True,
    metavar="NAME",
    help="Who is to answer it.",
)
@click.option(
    "--id",
    "turn_id",
    type=identifier("turn_id"),
    metavar="ID",
    help="The turn's id, which acts as a key as well.  [default: a new UUIDv7]",
)
@key_option
@click.option("--owner", type=identifier("owner"), metavar="NAME", help="Who claims it at once.")
@click.option("--lease", default=60.0, metavar="SECONDS", help="For how long.  [default: 60]")
@click.option("--attach", "attachments", multiple=True, metavar="FILE", help="A file; repeatable.")
def begin(work_item_id: str, message: object, **said: Any) -> None:
    """Let a turn wait, behind the others of its work item."""
    with current().writing() as ledger:
        turn = ledger.coordinator.begin(work_item_id, message, **said)
    word = "was begun before" if turn.duplicate else "begun"
    claimed = "" if turn.claim is None else f", claimed by {turn.claim.owner} (epoch 1)"
    line = f"{word}: {turn.turn_id}, order {turn.turn_order} of work item {work_item_id}{claimed}"
    current().answer(turn, lambda layout: layout.line(line))


@click.command(
    "list",
    cls=LedgerCommand,
    needs={"WORK_ITEM": "only of this one; default all"},
    example="turnledger turn list order-7\nturnledger turn list --status pending",
    exits={0: "listed, also if there is none"},
)
@click.argument(
    "work_item_id", metavar="[WORK_ITEM]", required=False, type=identifier("work_item_id")
)
@click.option("--status", type=click.Choice(get_args(TurnStatus)), help="Only these.")
def list_(work_item_id: str | None, status: TurnStatus | None) -> None:
    """The turns of a work item, in the order in which they were begun."""
    with current().reading() as ledger:
        turns = ledger.coordinator.list(work_item_id, status=status)
    current().answer(turns, lambda layout: layout.table(begun_table(turns)))


@click.command(
    "get",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger turn get turn-1",
    exits={0: "there it is, also if it is settled", 1: "it never was"},
)
@turn_argument
def get(turn_id: str) -> None:
    """What has become of a turn, with its attempts and its evidence."""
    with current().reading() as ledger:
        turn = ledger.coordinator.get(turn_id)
    if turn is None:
        raise never_was(turn_id)
    current().answer(turn, lambda layout: layout.card(begun_card(turn)))


@click.command(
    "cancel",
    cls=LedgerCommand,
    needs=_ONE,
    example='turnledger turn cancel turn-1 --reason "the user left"',
    exits=_CHANGE,
)
@turn_argument
@click.option(
    "--reason", required=True, type=value_of("reason"), metavar="JSON_OR_TEXT", help="Why."
)
def cancel(turn_id: str, reason: object) -> None:
    """End a turn, whoever holds it; its owner finds its claim lost."""
    with current().writing() as ledger:
        turn = ledger.coordinator.cancel(turn_id, reason)
    current().answer(turn, lambda layout: layout.line(f"cancelled: {turn_id}"))


@click.command(
    "recover",
    cls=LedgerCommand,
    example="turnledger turn recover",
    exits={0: "done, also if nothing was over"},
)
def recover() -> None:
    """End what is over: dispatches become unknown, turns wait again. Nothing live is touched."""
    with current().writing() as ledger:
        done = ledger.coordinator.recover()
    unknown = f"outcome unknown: {counted(done.attempts_unknown, 'attempt')}"
    said = f"{unknown}; waiting again: {counted(done.turns_pending, 'turn')}"
    current().answer(done, lambda layout: layout.line(said))


@click.command(
    "recoverable",
    cls=LedgerCommand,
    example="turnledger turn recoverable --limit 20",
    exits={0: "listed, also if there is none"},
)
@click.option("--limit", type=count, metavar="N", help="At most.  [default: all]")
def recoverable(limit: int | None) -> None:
    """The turns that a worker should take up now, the oldest first."""
    with current().reading() as ledger:
        turns = ledger.coordinator.recoverable(limit=limit)
    current().answer(turns, lambda layout: layout.table(recoverable_table(turns)))


@click.command(
    "receipt",
    cls=LedgerCommand,
    needs={**_ITEM, "KEY": "the idempotency key"},
    example="turnledger turn receipt order-7 mail-81",
    exits={0: "there it is", 1: "the key is new"},
)
@work_item_argument
@click.argument("key", metavar="KEY", type=identifier("key"))
def receipt(work_item_id: str, key: str) -> None:
    """What an idempotency key did in a work item."""
    with current().reading() as ledger:
        found = ledger.coordinator.receipt(work_item_id, key)
    if found is None:
        message = f"work item {work_item_id} doesn't know the key {key}"
        raise Finding(message, code="key_not_found", work_item_id=work_item_id, key=key)
    when = instant(found.recorded_at)
    said = f"{found.command} of {found.id} for {found.target}, at {when}"
    current().answer(found, lambda layout: layout.line(said))


@click.command(
    "touch",
    cls=LedgerCommand,
    needs=_ITEM,
    example="turnledger turn touch order-7",
    exits={0: "done"},
)
@work_item_argument
def touch(work_item_id: str) -> None:
    """Say that a work item is another one now: it gets a new revision."""
    with current().writing() as ledger:
        revision = ledger.coordinator.touch(work_item_id)
    answer = {"work_item_id": work_item_id, "revision": revision}
    said = f"work item {work_item_id} is at revision {revision}"
    current().answer(answer, lambda layout: layout.line(said))


@click.command(
    "work-item",
    cls=LedgerCommand,
    needs=_ITEM,
    example="turnledger turn work-item order-7",
    exits={0: "there it is; at revision 0 if nothing was ever done on it"},
)
@work_item_argument
def work_item(work_item_id: str) -> None:
    """The revision of a work item, and how many turns it has had."""
    with current().reading() as ledger:
        item = ledger.coordinator.work_item(work_item_id)
    turns = f"{counted(item.turns, 'turn')}, {item.settled} of them settled"
    said = f"work item {work_item_id} is at revision {item.revision}: {turns}"
    current().answer(item, lambda layout: layout.line(said))


@click.command(
    "sweep",
    cls=LedgerCommand,
    example="turnledger turn sweep",
    exits={0: "done, also if there was nothing to remove"},
)
def sweep() -> None:
    """Remove the attachments that no turn refers to, and that are older than an hour."""
    with current().writing() as ledger:
        count = ledger.attachments.sweep()
    said = f"removed {counted(count, 'attachment')}"
    current().answer({"removed": count}, lambda layout: layout.line(said))


COMMANDS = (begin, list_, get, cancel, recover, recoverable, receipt, touch, work_item, sweep)
