"""`turnledger purge`: erasing contents, for good."""

import click

from turnledger.cli.command import LedgerCommand
from turnledger.cli.parameter import THREAD, identifier
from turnledger.cli.session import current


@click.command(
    "purge",
    cls=LedgerCommand,
    needs={"THREAD": THREAD},
    example="""turnledger purge chat-1
    turnledger purge --work-item item-1""",
    exits={
        0: "erased, also if there was nothing (any more)",
        1: "refused: the ledger wasn't made with `turnledger migrate --encrypt`",
    },
)
@click.argument("thread_id", metavar="[THREAD]", required=False, type=identifier("thread_id"))
@click.option(
    "--work-item",
    "work_item_id",
    metavar="ID",
    type=identifier("work_item_id"),
    help="The contents of a work item, its turns, runs and operations, instead of a thread's.",
)
def purge(thread_id: str | None, work_item_id: str | None) -> None:
    """Erase all contents of a thread, by destroying their key. This can't be undone."""
    if (thread_id is None) == (work_item_id is None):
        msg = "give a THREAD, or a --work-item"
        raise click.UsageError(msg)
    with current().writing() as ledger:
        purged = ledger.purge(thread_id=thread_id, work_item_id=work_item_id)
    what = f"thread {thread_id}" if work_item_id is None else f"work item {work_item_id}"
    said = f"erased: the contents of {what}" if purged else f"{what} has no contents"
    answer = {"thread_id": thread_id, "work_item_id": work_item_id, "purged": purged}
    current().answer(answer, lambda layout: layout.line(said))


COMMANDS = (purge,)
