"""`turnledger backup` and `restore`."""

from pathlib import Path

import click

import turnledger
from turnledger.cli.command import LedgerCommand
from turnledger.cli.session import current


@click.command(
    "backup",
    cls=LedgerCommand,
    needs={"FILE": "a new file"},
    example="turnledger backup monday.db",
    exits={0: "backed up", 1: "the file can't be written"},
)
@click.argument("file", metavar="FILE", type=click.Path())
def backup(file: str) -> None:
    """Copy the ledger into a new file, while others may go on writing."""
    folder = Path(file).absolute().parent
    if not folder.is_dir():
        msg = f"there is no folder {folder}"
        raise click.UsageError(msg)
    with current().reading() as ledger:
        ledger.backup(file)
        facts = {"ledger_id": ledger.ledger_id, "generation": ledger.generation}
    answer = {"path": str(Path(file).absolute()), **facts}
    current().answer(answer, lambda layout: layout.line(f"backed up to {file}"))


@click.command(
    "restore",
    cls=LedgerCommand,
    needs={"FILE": "a backup"},
    example="turnledger restore monday.db",
    exits={0: "restored", 1: "the file can't be written"},
)
@click.argument("file", metavar="FILE", type=click.Path())
def restore(file: str) -> None:
    """Put a backup in the ledger's place, as a new generation: earlier claims are void."""
    session = current()
    turnledger.restore(file, session.location)
    with session.reading() as ledger:
        facts = {"ledger_id": ledger.ledger_id, "generation": ledger.generation}
    said = f"restored {session.location} from {file}: generation {facts['generation']}"
    session.answer({"path": session.location, **facts}, lambda layout: layout.line(said))


COMMANDS = (backup, restore)
