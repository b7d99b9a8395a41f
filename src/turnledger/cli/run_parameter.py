"""What the commands of `turnledger run` and `turnledger operation` take."""

from typing import NamedTuple

import click

import turnledger
from turnledger.cli.parameter import Decorated, epoch_option, identifier, owner_option
from turnledger.cli.session import Finding

RUN = "the run: 1 to 256 characters, chosen by the host"
KEY = "the operation's key"
WORK_ITEM = "the work item"


class ShownRunClaim(NamedTuple):
    """A claim of a run as it is typed: a run, an owner and an epoch."""

    run_id: str
    owner: str
    epoch: int

    def on(self, ledger: turnledger.Ledger) -> turnledger.RunClaim:
        """The claim, as the ledger's commands take it."""
        return turnledger.RunClaim(**self._asdict(), generation=ledger.generation)


def run_argument(function: Decorated) -> Decorated:
    """The run, as the first argument."""
    return click.argument("run_id", metavar="RUN", type=identifier("run_id"))(function)


def key_argument(function: Decorated) -> Decorated:
    """The operation, as the first argument."""
    return click.argument("key", metavar="KEY", type=identifier("key"))(function)


def run_option(function: Decorated) -> Decorated:
    """The run of an operation."""
    text = "The run under whose lease it is executed."
    return _named(function, "--run", "run_id", text)


def work_item_option(function: Decorated) -> Decorated:
    """What it is about."""
    return _named(function, "--work-item", "work_item_id", "What it is about.")


def action_option(function: Decorated) -> Decorated:
    """What it is a part of."""
    return _named(function, "--action", "action_id", "What is done to the work item.")


def claim_options(function: Decorated) -> Decorated:
    """The claim of a run: the run, the owner and the epoch."""
    return run_option(owner_option(epoch_option(function)))


def _named(function: Decorated, option: str, name: str, text: str) -> Decorated:
    convert = identifier(name)
    option_of = click.option(option, name, required=True, type=convert, metavar="ID", help=text)
    return option_of(function)


def run_never_was(run_id: str) -> Finding:
    """The finding that there never was such a run."""
    return Finding(f"there never was a run {run_id}", code="run_not_found", run_id=run_id)


def operation_never_was(key: str) -> Finding:
    """The finding that there never was such an operation."""
    return Finding(f"there never was an operation {key}", code="operation_not_found", key=key)
