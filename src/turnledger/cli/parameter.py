"""The types of what is typed, and the options that several commands take.

Identifiers, times and submissions are checked here by the library's own rules, with its own words,
so that bad input is refused before a ledger is opened, or made.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import click

import turnledger
from turnledger.cli import json_text
from turnledger.cli.source import text_from
from turnledger.domain.duration import check_time
from turnledger.domain.identifier import check_identifier
from turnledger.domain.payload import check_object, check_payload

_LARGEST = 2**63 - 1  # what a column of SQLite holds

THREAD = "the thread: 1 to 256 characters, chosen by the host; after -- if it begins with -"
QUEUED_TURN = "the queued turn's id"
MESSAGE = "the message's id"
SUBMISSION = "a JSON object, - for standard input, or @FILE"

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def identifier(name: str) -> Callable[[str], str]:
    """The type of an id that somebody chose.

    Args:
        name: What it identifies, for the message.
    """

    def convert(text: str) -> str:
        return check_identifier(name, text)

    return convert


def position(text: str) -> int:
    """A position, an order or an epoch: a whole number from 0 on."""
    return _whole_number(text, 0)


def count(text: str | int) -> int:
    """How many: a whole number from 1 on."""
    return _whole_number(text, 1)


def _whole_number(text: str | int, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if not least <= number <= _LARGEST:
        msg = f"{text!r} is no whole number from {least} to {_LARGEST}"
        raise click.BadParameter(msg)
    return number


def instant(name: str) -> Callable[[str], datetime]:
    """The type of a time with its zone.

    Args:
        name: What it is, for the message.
    """

    def convert(text: str) -> datetime:
        try:
            time = datetime.fromisoformat(text)
        except ValueError as error:
            reason = f"is {text!r}, not an ISO 8601 time such as 2030-01-31T09:00:00Z"
            raise turnledger.InvalidTime(name, reason) from error
        return check_time(name, time)

    return convert


def object_of(name: str) -> Callable[[str], dict[str, Any]]:
    """The type of a JSON object: typed, in a file, or on standard input.

    Args:
        name: What it is, for the message.
    """

    def convert(text: str) -> dict[str, Any]:
        return checked_submission(name, json_text.parse(name, text_from(name, text)))

    return convert


def checked_submission(name: str, value: object) -> dict[str, Any]:
    """A JSON object that a ledger will take.

    Raises:
        InvalidInput: It is none, or too large.
    """
    return check_object(name, value, turnledger.Settings().max_payload_bytes)


def json_of(name: str) -> Callable[[str], object]:
    """The type of a JSON value: typed, in a file, or on standard input.

    Args:
        name: What it is, for the message.
    """

    def convert(text: str) -> object:
        value = json_text.parse(name, text_from(name, text))
        return check_payload(name, value, turnledger.Settings().max_payload_bytes)

    return convert


def json_or_text(name: str, text: str) -> object:
    """What settles something is never refused for its form: what isn't JSON is text."""
    try:
        return json_text.parse(name, text)
    except turnledger.InvalidPayload:
        return text


class ShownClaim(NamedTuple):
    """A claim as it is typed: a thread, an owner and an epoch."""

    thread_id: str
    owner: str
    epoch: int

    def on(self, ledger: turnledger.Ledger) -> turnledger.Claim:
        """The claim, as the ledger's commands take it."""
        return turnledger.Claim(**self._asdict(), generation=ledger.generation)

    def of_message(self, ledger: turnledger.Ledger) -> turnledger.MessageClaim:
        """The claim of a message."""
        return turnledger.MessageClaim(**self._asdict(), generation=ledger.generation)


def thread_argument(function: Decorated) -> Decorated:
    """The thread, as the first argument."""
    convert = identifier("thread_id")
    return click.argument("thread_id", metavar="THREAD", type=convert)(function)


def queued_turn_argument(function: Decorated) -> Decorated:
    """A queued turn of the thread."""
    convert = identifier("queued_turn_id")
    return click.argument("queued_turn_id", metavar="QUEUED_TURN", type=convert)(function)


def message_argument(function: Decorated) -> Decorated:
    """A message of the thread's inbox."""
    convert = identifier("message_id")
    return click.argument("message_id", metavar="MESSAGE", type=convert)(function)


def owner_option(function: Decorated) -> Decorated:
    """Who claims."""
    text = "Who claims: a name that is new for every boot of a process."
    convert = identifier("owner")
    return click.option("--owner", required=True, type=convert, metavar="NAME", help=text)(function)


def epoch_option(function: Decorated) -> Decorated:
    """Under which claim."""
    text = "The claim's epoch, as `claim` gave it."
    return click.option("--epoch", required=True, type=position, metavar="N", help=text)(function)


def lease_option(function: Decorated) -> Decorated:
    """For how long."""
    text = "For how long.  [default: 60]"
    return click.option("--lease", default=60.0, metavar="SECONDS", help=text)(function)


def key_option(function: Decorated) -> Decorated:
    """An idempotency key."""
    text = "An idempotency key: the same again gives the first result."
    name = "idempotency_key"
    return click.option("--key", name, type=identifier(name), metavar="KEY", help=text)(function)
