"""`turnledger checkpoint`, `check` and `bundle`: proof for those who can't trust the file alone."""

from collections.abc import Sequence
from pathlib import Path

import click

from turnledger import Checked, Checkpoint, InvalidPayload
from turnledger.cli.command import LedgerCommand
from turnledger.cli.parameter import THREAD, identifier
from turnledger.cli.plain_text import counted
from turnledger.cli.session import current
from turnledger.cli.sheet import Layout
from turnledger.infrastructure.new_file import new_file


@click.command(
    "checkpoint",
    cls=LedgerCommand,
    example="turnledger checkpoint -o monday.checkpoint",
    exits={0: "made", 1: "the file can't be written"},
)
@click.option("-o", "--output", metavar="FILE", help="A new file.  [default: standard out]")
def checkpoint(output: str | None) -> None:
    """What the whole log is now, in a few lines that can be kept elsewhere, or signed."""
    session = current()
    with session.reading() as ledger:
        made = ledger.checkpoint()
    if output is not None:
        with new_file(Path(output).absolute(), "output") as partial:
            partial.write_text(str(made))
    text = {"text": str(made), "path": None if output is None else str(Path(output).absolute())}
    answer = {**_fields(made), **text}

    def show(layout: Layout) -> None:
        if output is not None:
            layout.line(f"wrote the checkpoint of {counted(made.size, 'event')} to {output}")
            return
        for line in str(made).splitlines():
            layout.copyable(line)

    session.answer(answer, show)


@click.command(
    "check",
    cls=LedgerCommand,
    needs={"FILE": "one or more checkpoints, signed or not; - for standard input"},
    example="turnledger check monday.checkpoint",
    exits={0: "the log begins with what they say", 1: "it doesn't, or it is another ledger"},
)
@click.argument("file", metavar="FILE")
def check(file: str) -> int:
    """Look whether the log still begins with what checkpoints say it was."""
    session = current()
    wanted = read_checkpoints(file)
    with session.reading() as ledger:
        found = ledger.check_all(wanted)
    session.answer(found, lambda layout: show_checked(layout, found))
    return 0 if all(one.ok for one in found) else 1


@click.command(
    "bundle",
    cls=LedgerCommand,
    needs={"THREAD": THREAD},
    example="""turnledger bundle chat-1 -o chat-1.bundle
    turnledger --db chat-1.bundle verify""",
    exits={0: "written", 1: "there is nothing about it, or the file can't be written"},
)
@click.argument("thread_id", metavar="[THREAD]", required=False, type=identifier("thread_id"))
@click.option(
    "--work-item",
    "work_item_id",
    metavar="ID",
    type=identifier("work_item_id"),
    help="About a work item, its turns, runs and operations, instead of a thread.",
)
@click.option("-o", "--output", metavar="FILE", required=True, help="A new file.")
def bundle(output: str, **subject: str | None) -> None:
    """Write all that happened to a thread into a file that proves itself, for somebody else."""
    if sum(one is not None for one in subject.values()) != 1:
        msg = "give a THREAD, or a --work-item"
        raise click.UsageError(msg)
    with current().reading() as ledger:
        made = ledger.bundle(output, **subject)

    def show(layout: Layout) -> None:
        what = f"{counted(made.events, 'event')} of {counted(made.streams, 'stream')}"
        layout.line(f"wrote {what} to {output}, proven by this checkpoint of the ledger:")
        for line in str(made.checkpoint).splitlines():
            layout.copyable(line)

    current().answer(made, show)


def read_checkpoints(file: str) -> tuple[Checkpoint, ...]:
    """The checkpoints in a file.

    Raises:
        InvalidPayload: There is none, or one that can't be read.
    """
    try:
        with click.open_file(file, encoding="utf-8") as opened:
            return Checkpoint.read(opened.read())
    except OSError as error:
        reason = f"{file} can't be read: {error.strerror or error}"
        raise InvalidPayload("checkpoint", reason) from error
    except UnicodeDecodeError as error:
        raise InvalidPayload("checkpoint", f"{file} is no text") from error


def show_checked(layout: Layout, found: Sequence[Checked]) -> None:
    """A line for each checkpoint."""
    for one in found:
        name = f"checkpoint of {counted(one.checkpoint.size, 'event')}"
        verdict = "holds" if one.ok else "doesn't hold"
        layout.line(f"{name} {verdict}: {one.message}", "green" if one.ok else "red")


def _fields(made: Checkpoint) -> dict[str, object]:
    names = ("ledger_id", "generation", "size", "root", "recorded_at")
    return {name: getattr(made, name) for name in names}


COMMANDS = (checkpoint, check, bundle)
