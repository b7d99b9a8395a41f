"""`turnledger attempt …`: the requests to model providers, and what comes back."""

from datetime import datetime
from typing import Any, get_args

import click
from click.core import ParameterSource

from turnledger import ProviderTurn
from turnledger.cli.claim_command import FENCED
from turnledger.cli.command import LedgerCommand
from turnledger.cli.coordinator_view import attempt_card, begun_card
from turnledger.cli.parameter import count, epoch_option, identifier, instant, json_of, owner_option
from turnledger.cli.session import current
from turnledger.cli.turn_parameter import (
    ATTEMPT,
    TURN,
    VALUE,
    ShownTurnClaim,
    attempt_argument,
    turn_argument,
    value_of,
)
from turnledger.domain.coordinator_turn.commands import Decision

_ONE = {"TURN": TURN, "ATTEMPT": ATTEMPT}


@click.command(
    "prepare",
    cls=LedgerCommand,
    needs={"TURN": TURN, "REQUEST": "JSON, - for standard input, or @FILE"},
    example='turnledger attempt prepare turn-1 \'{"model": "m"}\' --owner boot-3 --epoch 2',
    exits=FENCED,
)
@turn_argument
@click.argument("request", metavar="REQUEST", type=json_of("request"))
@owner_option
@epoch_option
@click.option(
    "--attempt",
    type=count,
    metavar="N",
    help="Its number.  [default: the latest that isn't settled, else a new one]",
)
def prepare(turn_id: str, request: object, owner: str, epoch: int, attempt: int | None) -> None:
    """Fix the request of an attempt, before it is sent."""
    shown = ShownTurnClaim(turn_id, owner, epoch)
    with current().writing() as ledger:
        _show(ledger.coordinator.prepare(shown.on(ledger), request, attempt=attempt))


@click.command(
    "start-dispatch",
    cls=LedgerCommand,
    needs=_ONE,
    example="turnledger attempt start-dispatch turn-1 1 --owner boot-3 --epoch 2",
    exits=FENCED,
)
@turn_argument
@attempt_argument
@owner_option
@epoch_option
def start_dispatch(turn_id: str, attempt: int, owner: str, epoch: int) -> None:
    """Record that the request is about to be sent. Send it only if this says so."""
    shown = ShownTurnClaim(turn_id, owner, epoch)
    with current().writing() as ledger:
        _show(ledger.coordinator.start_dispatch(shown.on(ledger), attempt))


@click.command(
    "respond",
    cls=LedgerCommand,
    needs={**_ONE, "RESPONSE": VALUE},
    example="turnledger attempt respond turn-1 1 @answer.json --hash HASH --owner b --epoch 2",
    exits=FENCED,
)
@turn_argument
@attempt_argument
@click.argument("response", metavar="RESPONSE", type=value_of("response"))
@click.option(
    "--hash",
    "request_hash",
    required=True,
    type=identifier("request_hash"),
    metavar="HASH",
    help="Of the request that is answered, as `prepare` gave it.",
)
@owner_option
@epoch_option
def respond(turn_id: str, attempt: int, response: object, request_hash: str, **claim: Any) -> None:
    """Keep the provider's answer."""
    shown = ShownTurnClaim(turn_id, **claim)
    with current().writing() as ledger:
        told = (attempt, request_hash, response)
        _show(ledger.coordinator.respond(shown.on(ledger), *told))


@click.command(
    "refuse",
    cls=LedgerCommand,
    needs={**_ONE, "ERROR": VALUE},
    example="turnledger attempt refuse turn-1 1 '{\"code\": 429}' --retryable --owner b --epoch 2",
    exits=FENCED,
)
@turn_argument
@attempt_argument
@click.argument("error", metavar="ERROR", type=value_of("error"))
@click.option("--retryable", is_flag=True, help="Another attempt may help.")
@click.option(
    "--retry-at",
    type=instant("retry_at"),
    metavar="ISO8601",
    help="From when on, with a zone.  [default: by the retry policy]",
)
@owner_option
@epoch_option
def refuse(
    turn_id: str,
    attempt: int,
    error: object,
    retryable: bool,  # noqa: FBT001 - click passes it by name
    retry_at: datetime | None,
    **claim: Any,
) -> None:
    """Record that the provider said no, so that nothing happened."""
    shown = ShownTurnClaim(turn_id, **claim)
    with current().writing() as ledger:
        _show(
            ledger.coordinator.refuse(
                shown.on(ledger), attempt, error, retryable=retryable, retry_at=retry_at
            )
        )


@click.command(
    "reject",
    cls=LedgerCommand,
    needs={**_ONE, "ERROR": VALUE},
    example='turnledger attempt reject turn-1 1 "no decision in it" --owner boot-3 --epoch 2',
    exits=FENCED,
)
@turn_argument
@attempt_argument
@click.argument("error", metavar="ERROR", type=value_of("error"))
@owner_option
@epoch_option
def reject(turn_id: str, attempt: int, error: object, owner: str, epoch: int) -> None:
    """Say that an answer is no good; it is kept, and another attempt can be made."""
    shown = ShownTurnClaim(turn_id, owner, epoch)
    with current().writing() as ledger:
        _show(ledger.coordinator.reject(shown.on(ledger), attempt, error))


@click.command(
    "late-response",
    cls=LedgerCommand,
    needs={**_ONE, "RESPONSE": VALUE},
    example="turnledger attempt late-response turn-1 1 @answer.json",
    exits={0: "kept", 1: "refused: no such attempt was dispatched"},
)
@turn_argument
@attempt_argument
@click.argument("response", metavar="RESPONSE", type=value_of("response"))
def late_response(turn_id: str, attempt: int, response: object) -> None:
    """Keep an answer that came when nobody could use it any more; `resolve` can adopt it."""
    with current().writing() as ledger:
        _show(ledger.coordinator.late_response(turn_id, attempt, response))


@click.command(
    "resolve",
    cls=LedgerCommand,
    needs={
        **_ONE,
        "DECISION": "adopt its answer, retry the same request once more, or cancel it",
    },
    example="turnledger attempt resolve turn-1 1 retry --by ann\n"
    "turnledger attempt resolve turn-1 1 adopt --by ann --response @answer.json",
    exits={0: "done", 1: "refused: the outcome isn't unknown (any more)"},
)
@turn_argument
@attempt_argument
@click.argument("decision", metavar="DECISION", type=click.Choice(get_args(Decision)))
@click.option("--by", required=True, metavar="NAME", help="Who decides.")
@click.option(
    "--response",
    metavar="JSON_OR_TEXT",
    type=value_of("response"),
    help="The answer to adopt.  [default: the one that came too late]",
)
@click.option("--reason", metavar="JSON_OR_TEXT", type=value_of("reason"), help="Why.")
def resolve(turn_id: str, attempt: int, decision: Decision, **said: Any) -> None:
    """Decide what became of an attempt whose outcome is unknown."""
    if click.get_current_context().get_parameter_source("response") is ParameterSource.DEFAULT:
        del said["response"]  # null is an answer too
    with current().writing() as ledger:
        turn = ledger.coordinator.resolve(turn_id, attempt, decision, **said)
    current().answer(turn, lambda layout: layout.card(begun_card(turn)))


def _show(attempt: ProviderTurn) -> None:
    current().answer(attempt, lambda layout: layout.card(attempt_card(attempt)))


COMMANDS = (prepare, start_dispatch, respond, refuse, reject, late_response, resolve)
