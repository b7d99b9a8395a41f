"""`turnledger demo`."""

import click

from turnledger.cli.command import LedgerCommand


@click.command(
    "demo",
    cls=LedgerCommand,
    example="turnledger demo",
    exits={0: "everything held", 1: "something didn't"},
)
def demo() -> int:
    """Show on a ledger of its own what turnledger does when things go wrong."""
    from rich.console import Console  # noqa: PLC0415 - slow to import, for this command alone

    from turnledger.demo import run  # noqa: PLC0415 - likewise

    status: int = run(Console(highlight=False))
    return status


COMMANDS = (demo,)
