"""`turnledger flow`: which ways things went, as tables or as a graph in Mermaid."""

from datetime import datetime
from typing import Any, get_args

import click

from turnledger import Flow
from turnledger.analytics import Of
from turnledger.cli.command import LedgerCommand
from turnledger.cli.flow_view import mermaid, step_table, variant_table
from turnledger.cli.parameter import count
from turnledger.cli.plain_text import counted
from turnledger.cli.session import current
from turnledger.cli.sheet import Layout
from turnledger.cli.stats_command import in_range


@click.command(
    "flow",
    cls=LedgerCommand,
    example="turnledger flow --of coordinator_turns\nturnledger flow --mermaid >flow.mmd",
    exits={0: "told, also if nothing happened"},
)
@in_range
@click.option(
    "--of",
    type=click.Choice(get_args(Of)),
    default="queued_turns",
    help="Of what.  [default: queued_turns]",
)
@click.option("--top", type=count, default=10, help="So many ways at most.  [default: 10]")
@click.option("--mermaid", "as_graph", is_flag=True, help="As a graph, in the text of Mermaid.")
def flow(*, of: Of, top: int, as_graph: bool, **chosen: datetime | str | None) -> None:
    """Which ways things went: what followed on what, how often, and how long it took."""
    wanted: dict[str, Any] = chosen
    with current().reading() as ledger:
        found = ledger.flow(of, **wanted)
    current().answer(found, lambda layout: _show(layout, found, top=top, as_graph=as_graph))


def _show(layout: Layout, found: Flow, *, top: int, as_graph: bool) -> None:
    if as_graph:
        for line in mermaid(found):
            layout.copyable(line)
        return
    layout.line(f"{found.over:,} are over, {found.unfinished:,} aren't")
    layout.line("")
    layout.table(variant_table(found, top))
    more = len(found.variants) - top
    if more > 0:
        layout.line(f"and {counted(more, 'other way')}", "dim")
    if found.steps:
        layout.line("")
        layout.table(step_table(found))


COMMANDS = (flow,)
