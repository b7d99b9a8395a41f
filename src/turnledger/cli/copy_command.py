"""`turnledger copy`."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import click

import turnledger
from turnledger.cli.audit_command import is_watched
from turnledger.cli.command import LedgerCommand
from turnledger.cli.plain_text import counted
from turnledger.cli.session import current, explained
from turnledger.cli.sheet import Layout

_PLACE = "a file, or postgresql+psycopg://USER@HOST/DATABASE"


@click.command(
    "copy",
    cls=LedgerCommand,
    needs={
        "SOURCE": f"the ledger: {_PLACE}",
        "TARGET": "where it goes: a new file, or an empty database",
    },
    example="turnledger copy turnledger.db postgresql+psycopg://agents@db.example/agents",
    exits={0: "copied, and verified"},
)
@click.argument("source", metavar="SOURCE")
@click.argument("target", metavar="TARGET")
def copy(source: str, target: str) -> None:
    """Copy a ledger into another store, where it goes on; stop its workers first."""
    session = current()
    if session.store is not None:
        msg = "copy goes from SOURCE to TARGET; --db is of no use here"
        raise click.UsageError(msg)
    try:
        with _bar(shown=is_watched() and not session.as_json) as progress:
            copied = turnledger.copy(source, target, progress)
    except (turnledger.StoreUnavailable, turnledger.StoreReadOnly) as error:
        raise explained(error, read_only=True) from error
    session.answer(copied, lambda layout: _show(layout, copied))


def _show(layout: Layout, copied: turnledger.Copied) -> None:
    before = copied.events - copied.copied
    rest = f"; {before:,} were there already" if before else ""
    layout.line(f"copied {counted(copied.copied, 'event')} to {copied.target}{rest}")
    found = copied.verification
    counts = (
        counted(found.events, "event"),
        counted(found.streams, "stream"),
        counted(found.rows, "row"),
    )
    layout.line(f"verified: {', '.join(counts)}", "green")
    for note in found.notes:
        layout.line(f"note: {note}", "yellow")
    layout.line(f"it is ledger {copied.ledger_id} still: don't go on with {copied.source}")


@contextmanager
def _bar(*, shown: bool) -> Generator[Callable[[str, int, int], None] | None]:
    """A bar on standard error, gone at the end."""
    if not shown:
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

    columns = (TextColumn("events {task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks = {step: bar.add_task(step, total=None) for step in ("copied", "verified")}
        yield lambda step, count, total: bar.update(tasks[step], completed=count, total=total)


COMMANDS = (copy,)
