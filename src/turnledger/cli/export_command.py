"""`turnledger export`: the events in a file for other tools."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from turnledger import Exported
from turnledger.cli.audit_command import is_watched
from turnledger.cli.command import LedgerCommand
from turnledger.cli.parameter import identifier, instant, position
from turnledger.cli.plain_text import counted
from turnledger.cli.session import current
from turnledger.cli.sheet import Layout
from turnledger.exporting import FORMATS, Format


@click.command(
    "export",
    cls=LedgerCommand,
    needs={"FORMAT": ", ".join(FORMATS)},
    example="""turnledger export jsonl -o events.jsonl
    turnledger export parquet -o events.parquet --redact""",
    exits={0: "written, also if there was nothing to write", 1: "the file can't be written"},
)
@click.argument("name", metavar="FORMAT", type=click.Choice(FORMATS))
@click.option(
    "-o",
    "--output",
    "path",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Into which new file.",
)
@click.option(
    "--after", type=position, default=0, metavar="POSITION", help="Only what comes behind it."
)
@click.option(
    "--since", type=instant("since"), metavar="TIME", help="Only what was recorded then or later."
)
@click.option(
    "--thread",
    "thread_id",
    type=identifier("thread_id"),
    metavar="THREAD",
    help="Only what is about it.",
)
@click.option("--redact", is_flag=True, help="Leave all contents out: names and times stay.")
def export(*, name: Format, path: Path, **wanted: Any) -> None:
    """Write the events into a file: jsonl, csv, parquet, CloudEvents, OCEL 2.0 or OTLP spans."""
    session = current()
    with session.reading() as ledger, _bar(shown=is_watched() and not session.as_json) as progress:
        done = ledger.export(name, path, **wanted, progress=progress)
    session.answer(done, lambda layout: _show(layout, done))


def _show(layout: Layout, done: Exported) -> None:
    layout.line(f"{counted(done.events, 'event')} written to {done.path}")
    layout.line(
        f"up to position {done.position}: what comes later is behind --after {done.position}"
    )


@contextmanager
def _bar(*, shown: bool) -> Generator[Callable[[int, int], None] | None]:
    """A bar on standard error, gone at the end."""
    if not shown:
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("exporting"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("exporting", total=None)
        yield lambda passed, total: bar.update(task, completed=passed, total=total)


COMMANDS = (export,)
