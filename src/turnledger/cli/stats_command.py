"""`turnledger stats`: how long things waited and ran, and how they came out."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import click

from turnledger import Stats
from turnledger.cli.command import LedgerCommand
from turnledger.cli.parameter import identifier, instant
from turnledger.cli.plain_text import counted
from turnledger.cli.session import current
from turnledger.cli.sheet import Layout
from turnledger.cli.stats_view import count_table, depth_table, group_table, spread_table

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def in_range(function: Decorated) -> Decorated:
    """Of when, and of what; default everything."""
    decorated: Any = function
    for option, name, metavar, kind, text in reversed(
        (
            ("--since", "since", "TIME", instant("since"), "Only what happened from then on."),
            ("--until", "until", "TIME", instant("until"), "Only what happened before then."),
            ("--thread", "thread_id", "THREAD", identifier("thread_id"), "Only this thread."),
            ("--work-item", "work_item_id", "ITEM", identifier("work_item_id"), "Likewise."),
        )
    ):
        decorated = click.option(option, name, metavar=metavar, type=kind, help=text)(decorated)
    result: Decorated = decorated
    return result


@click.command(
    "stats",
    cls=LedgerCommand,
    example="""turnledger stats --by owner
    turnledger stats --since 2030-01-31T09:00:00Z --json | jq .total""",
    exits={0: "counted, also if nothing happened"},
)
@in_range
@click.option(
    "--by",
    type=click.Choice(["thread", "owner", "day"]),
    help="Figures of each thread (or work item), owner or day (UTC).",
)
@click.option("--depth", is_flag=True, help="How many turns waited and were held, over time.")
def stats(*, by: Any, depth: bool, **chosen: datetime | str | None) -> None:
    """How long things waited and ran, how they came out, and what was lost on the way."""
    wanted: dict[str, Any] = chosen
    with current().reading() as ledger:
        found = ledger.stats(by=by, **wanted)
    current().answer(found, lambda layout: _show(layout, found, depth=depth))


def _show(layout: Layout, found: Stats, *, depth: bool) -> None:
    layout.table(count_table(found))
    if not found.total:
        return
    for table in (spread_table(found), group_table(found) if found.by else None):
        if table is not None:
            layout.line("")
            layout.table(table)
    if depth:
        layout.line("")
        layout.table(depth_table(found.depth))
    if found.unread:
        text = f"{counted(found.unread, 'event')} couldn't be read; see `turnledger verify`"
        layout.line(text, "yellow")


COMMANDS = (stats,)
