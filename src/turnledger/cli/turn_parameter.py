"""What the commands of `turnledger turn` and `turnledger attempt` take."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import click

import turnledger
from turnledger.cli.parameter import count, identifier, json_or_text
from turnledger.cli.session import Finding, current
from turnledger.cli.source import text_from

TURN = "the turn's id"
WORK_ITEM = "the work item: 1 to 256 characters, chosen by the host"
ATTEMPT = "the attempt's number, from 1"
VALUE = "JSON or text, - for standard input, or @FILE"

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class ShownTurnClaim(NamedTuple):
    """A claim as it is typed: a turn, an owner and an epoch."""

    turn_id: str
    owner: str
    epoch: int

    def on(self, ledger: turnledger.Ledger) -> turnledger.TurnClaim:
        """The claim, as the ledger's commands take it."""
        return turnledger.TurnClaim(**self._asdict(), generation=ledger.generation)

    def say(self, done: str) -> None:
        """Answer a command on it that has no value of its own."""
        said = f"{done}: turn {self.turn_id}, owner {self.owner}, epoch {self.epoch}"
        answer = {**self._asdict(), "done": done}
        current().answer(answer, lambda layout: layout.line(said))


def turn_argument(function: Decorated) -> Decorated:
    """The turn, as the first argument."""
    return click.argument("turn_id", metavar="TURN", type=identifier("turn_id"))(function)


def work_item_argument(function: Decorated) -> Decorated:
    """The work item, as the first argument."""
    convert = identifier("work_item_id")
    return click.argument("work_item_id", metavar="WORK_ITEM", type=convert)(function)


def attempt_argument(function: Decorated) -> Decorated:
    """An attempt of the turn."""
    return click.argument("attempt", metavar="ATTEMPT", type=count)(function)


def value_of(name: str) -> Callable[[str], object]:
    """The type of what settles something: never refused for its form.

    Args:
        name: What it is, for the message.
    """

    def convert(text: str) -> object:
        return json_or_text(name, text_from(name, text))

    return convert


def never_was(turn_id: str) -> Finding:
    """The finding that there never was such a turn."""
    return Finding(f"there never was a turn {turn_id}", code="turn_not_found", turn_id=turn_id)
