"""`turnledger demo`."""

import click

from turnledger.cli.command import LedgerCommand


@click.command(
    "demo",
    cls=LedgerCommand,
    example="turnledger demo\nturnledger demo --coordinator",
    exits={0: "everything held", 1: "something didn't"},
)
@click.option(
    "--coordinator", is_flag=True, help="Of coordinators and a provider, not of the queue."
)
def demo(*, coordinator: bool) -> int:
    """Show on a ledger of its own what turnledger does when things go wrong."""
    from rich.console import Console  # noqa: PLC0415 - slow to import, for this command alone

    from turnledger import demo as demonstrations  # noqa: PLC0415 - likewise

    show = demonstrations.run_coordinator if coordinator else demonstrations.run
    status: int = show(Console(highlight=False))
    return status


COMMANDS = (demo,)
