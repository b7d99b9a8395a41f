"""`turnledger turn …` for workers: claim, renew, release, resume, and how a turn ends."""

from typing import Any

import click

from turnledger.cli.claim_command import FENCED
from turnledger.cli.command import LedgerCommand
from turnledger.cli.coordinator_view import begun_card, resumption_card, turn_claim_card
from turnledger.cli.parameter import (
    Decorated,
    epoch_option,
    identifier,
    lease_option,
    owner_option,
    position,
)
from turnledger.cli.session import Finding, current
from turnledger.cli.turn_parameter import TURN, VALUE, ShownTurnClaim, turn_argument, value_of

_ONE = {"TURN": TURN}
_NOTHING = {0: "a claim", 1: "it isn't pending, and its lease isn't over"}


def _revision_option(function: Decorated) -> Decorated:
    text = "What the work item's revision must be."
    name = "--expected-revision"
    return click.option(name, type=position, metavar="N", help=text)(function)


@click.command(
    "claim",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger turn claim turn-1 --owner boot-3 --lease 300",
    exits=_NOTHING,
)
@turn_argument
@owner_option
@lease_option
def claim(turn_id: str, owner: str, lease: float) -> None:
    """Take a turn that is pending, or whose lease is over."""
    with current().writing() as ledger:
        taken = ledger.coordinator.claim(turn_id, owner, lease)
    if taken is None:
        raise _nothing(turn_id)
    current().answer(taken, lambda layout: layout.card(turn_claim_card(taken)))


@click.command(
    "claim-next",
    cls=LedgerCommand,
    needs={"WORK_ITEM": "only of this one; default any"},
    example="turnledger turn claim-next --owner boot-3\n"
    "turnledger turn claim-next order-7 --owner boot-3",
    exits={0: "a claim", 1: "no turn can be claimed now"},
)
@click.argument(
    "work_item_id", metavar="[WORK_ITEM]", required=False, type=identifier("work_item_id")
)
@owner_option
@lease_option
def claim_next(work_item_id: str | None, owner: str, lease: float) -> None:
    """Take the oldest turn that is pending, or whose lease is over."""
    with current().writing() as ledger:
        taken = ledger.coordinator.claim_next(work_item_id, owner=owner, lease=lease)
    if taken is None:
        where = "" if work_item_id is None else f" of work item {work_item_id}"
        raise Finding(f"no turn{where} can be claimed now", code="nothing_to_claim")
    current().answer(taken, lambda layout: layout.card(turn_claim_card(taken)))


@click.command(
    "resume",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger turn resume turn-1 --owner boot-3",
    exits=_NOTHING,
)
@turn_argument
@owner_option
@lease_option
def resume(turn_id: str, owner: str, lease: float) -> None:
    """Take a turn, and be told what to do first: dispatch, use_response, and so on."""
    with current().writing() as ledger:
        found = ledger.coordinator.resume(turn_id, owner, lease)
    if found is None:
        raise _nothing(turn_id)
    current().answer(found, lambda layout: layout.card(resumption_card(found)))


@click.command(
    "renew",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger turn renew turn-1 --owner boot-3 --epoch 2 --lease 300",
    exits=FENCED,
)
@turn_argument
@owner_option
@epoch_option
@lease_option
def renew(turn_id: str, owner: str, epoch: int, lease: float) -> None:
    """Give a live claim a new end."""
    with current().writing() as ledger:
        shown = ShownTurnClaim(turn_id, owner, epoch).on(ledger)
        renewed = ledger.coordinator.renew(shown, lease)
    current().answer(renewed, lambda layout: layout.card(turn_claim_card(renewed)))


@click.command(
    "release",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger turn release turn-1 --owner boot-3 --epoch 2",
    exits=FENCED,
)
@turn_argument
@owner_option
@epoch_option
def release(turn_id: str, owner: str, epoch: int) -> None:
    """Give a turn back: it waits again."""
    shown = ShownTurnClaim(turn_id, owner, epoch)
    with current().writing() as ledger:
        ledger.coordinator.release(shown.on(ledger))
    shown.say("released")


@click.command(
    "complete",
    cls=LedgerCommand,
    needs={**_ONE, "RESULT": VALUE},
    example="turnledger turn complete turn-1 '{\"ok\": true}' --owner boot-3 --epoch 2",
    exits=FENCED,
)
@turn_argument
@click.argument("result", metavar="RESULT", type=value_of("result"))
@owner_option
@epoch_option
@_revision_option
def complete(turn_id: str, result: object, owner: str, epoch: int, **said: Any) -> None:
    """End a turn with a result."""
    _end("complete", ShownTurnClaim(turn_id, owner, epoch), result, **said)


@click.command(
    "fail",
    cls=LedgerCommand,
    needs={**_ONE, "ERROR": VALUE},
    example='turnledger turn fail turn-1 "no access" --owner boot-3 --epoch 2',
    exits=FENCED,
)
@turn_argument
@click.argument("error", metavar="ERROR", type=value_of("error"))
@owner_option
@epoch_option
@_revision_option
def fail(turn_id: str, error: object, owner: str, epoch: int, **said: Any) -> None:
    """End a turn with an error; an answer that is there has to be rejected first."""
    _end("fail", ShownTurnClaim(turn_id, owner, epoch), error, **said)


@click.command(
    "ack",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger turn ack turn-1 --owner boot-3 --epoch 2",
    exits=FENCED,
)
@turn_argument
@owner_option
@epoch_option
def ack(turn_id: str, owner: str, epoch: int) -> None:
    """End a turn without a result."""
    _end("ack", ShownTurnClaim(turn_id, owner, epoch))


def _end(how: str, shown: ShownTurnClaim, *said: object, **more: Any) -> None:
    with current().writing() as ledger:
        turn = getattr(ledger.coordinator, how)(shown.on(ledger), *said, **more)
    current().answer(turn, lambda layout: layout.card(begun_card(turn)))


def _nothing(turn_id: str) -> Finding:
    message = f"turn {turn_id} isn't pending, and its lease isn't over"
    return Finding(message, code="nothing_to_claim", turn_id=turn_id)


COMMANDS = (claim, claim_next, resume, renew, release, complete, fail, ack)
