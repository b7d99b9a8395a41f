"""`turnledger migrate`."""

import click

import turnledger
from turnledger.cli.command import LedgerCommand
from turnledger.cli.session import current
from turnledger.cli.sheet import Layout


@click.command(
    "migrate",
    cls=LedgerCommand,
    example="turnledger migrate --db postgresql+psycopg://owner@host/ledger",
    exits={0: "the schema is this release's"},
)
@click.option(
    "--encrypt",
    is_flag=True,
    help="Make an encrypted ledger, whose contents can be purged.",
)
@click.option(
    "--new-generation",
    is_flag=True,
    help="After pg_restore: claims and cursors of before are refused from now on.",
)
def migrate(*, encrypt: bool, new_generation: bool) -> None:
    """Bring the ledger's schema up to this release's; make it if there is none."""
    session = current()
    done = turnledger.migrate(session.location, encrypt=encrypt)
    generation = done.generation
    if new_generation:
        generation = turnledger.new_generation(session.location)
    answer = {
        "before": done.before,
        "after": done.after,
        "ledger_id": done.ledger_id,
        "generation": generation,
    }

    def show(layout: Layout) -> None:
        layout.line(_said(done))
        if new_generation:
            layout.line(f"generation {generation}: claims and cursors of before are refused")

    session.answer(answer, show)


def _said(done: turnledger.Migration) -> str:
    if done.before is None:
        return f"made schema {done.after}: ledger {done.ledger_id}"
    if done.before == done.after:
        return f"schema {done.after} is this release's: nothing was to be done"
    return f"brought schema {done.before} up to {done.after}"


COMMANDS = (migrate,)
