"""`turnledger replay`: does the code of now answer every command as it was answered then?"""

from collections.abc import Callable

import click

from turnledger import Difference, ReplayReport
from turnledger.cli import json_text
from turnledger.cli.audit_command import is_watched
from turnledger.cli.command import LedgerCommand
from turnledger.cli.parameter import THREAD, identifier
from turnledger.cli.plain_text import counted, squeezed
from turnledger.cli.session import current
from turnledger.cli.sheet import Cell, Column, Layout, Row, Table

_BAR = 20  # characters
_VALUE = 80  # characters of a value in a line


@click.command(
    "replay",
    cls=LedgerCommand,
    needs={"THREAD": f"{THREAD}; default: all that is in the ledger"},
    example="""turnledger replay
    turnledger replay chat-1
    turnledger replay --work-item item-1 --json""",
    exits={
        0: "every command is answered as it was recorded",
        1: "one is answered otherwise, or an event is damaged",
    },
)
@click.argument(
    "thread_id", metavar="[THREAD]", required=False, type=identifier("thread_id"), default=None
)
@click.option(
    "--work-item",
    "work_item_id",
    type=identifier("work_item_id"),
    metavar="ID",
    help="Only its turns, runs and operations.",
)
def replay(thread_id: str | None, work_item_id: str | None) -> int:
    """Decide every recorded command again, and compare: nothing is called, nothing changed."""
    if thread_id is not None and work_item_id is not None:
        msg = "THREAD and --work-item can't be given together"
        raise click.UsageError(msg)
    session = current()
    shows = is_watched() and not session.as_json
    whole = thread_id is None and work_item_id is None
    with session.reading() as ledger:
        progress = _progress(ledger.wait_for_change(0, 0) if whole else 0) if shows else None
        found = ledger.replay(thread_id=thread_id, work_item_id=work_item_id, progress=progress)
    session.answer(found, lambda layout: _show(layout, found))
    return 0 if found.ok else 1


def _progress(total: int) -> Callable[[int], None]:
    """Says how far it is, on a line that the next one overwrites."""

    def told(seen: int) -> None:
        bar = ""
        if total:
            done = _BAR * min(seen, total) // total
            bar = f"[{'#' * done}{'-' * (_BAR - done)}] "
        click.echo(f"\r{bar}{counted(seen, 'event')} looked at\r", nl=False, err=True)

    return told


def _show(layout: Layout, found: ReplayReport) -> None:
    passed = sum(one.events for one in found.unread)
    damaged = any(one.damaged for one in found.unread)
    events = Cell(f"{passed:,} not looked at", "red" if damaged else "yellow")
    commands = Cell(counted(found.different, "difference"), "red")
    rows: list[Row] = [
        (Cell("events"), Cell(f"{found.events:,}"), events if passed else Cell("ok", "green")),
        (
            Cell("commands"),
            Cell(f"{found.commands:,}"),
            commands if found.different else Cell("ok", "green"),
        ),
    ]
    layout.table(
        Table((Column("replayed"), Column("count", right=True), Column("result")), rows, "")
    )
    for one in found.differences:
        layout.line(_difference(one), "red")
    if found.different > len(found.differences):
        layout.line(f"and {found.different - len(found.differences):,} more", "red")
    for unread in found.unread:
        word = "damage" if unread.damaged else "note"
        place = f"position {unread.position}, {unread.stream_id}"
        said = f"{word}: {place}: {unread.reason} ({counted(unread.events, 'event')})"
        layout.line(said, "red" if unread.damaged else "yellow")
    for note in found.notes:
        layout.line(f"note: {note}", "yellow")


def _difference(one: Difference) -> str:
    then = ", ".join(event.type for event in one.recorded)
    now = ", ".join(event.type for event in one.answered) or "nothing"
    answered = f"now it leads to {now}" if one.refusal is None else f"now refused: {one.refusal}"
    values = f"{_brief(one.recorded_value)} then, {_brief(one.answered_value)} now"
    return (
        f"position {one.position}, {one.stream_id}, {one.command}: recorded {then}, {answered}; "
        f"first field that differs: {one.field}, {values}"
    )


def _brief(value: object) -> str:
    text = squeezed(json_text.compact(value))
    return text if len(text) <= _VALUE else f"{text[:_VALUE]}…"


COMMANDS = (replay,)
