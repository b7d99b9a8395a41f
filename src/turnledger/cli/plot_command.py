"""`turnledger plot`: charts of what `stats` tells."""

from datetime import datetime
from pathlib import Path
from typing import Any

import click

from turnledger.analytics import CHARTS, Chart
from turnledger.cli.command import LedgerCommand
from turnledger.cli.session import current
from turnledger.cli.stats_command import in_range


@click.command(
    "plot",
    cls=LedgerCommand,
    needs={"FILE": "the picture to write, .svg, .png or .pdf; one that is there is replaced"},
    example="turnledger plot figures.svg\nturnledger plot depth.png --chart depth",
    exits={0: "drawn, also if nothing happened"},
)
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@in_range
@click.option(
    "--chart",
    "charts",
    multiple=True,
    type=click.Choice(CHARTS),
    help="Only this one; repeatable.  [default: all]",
)
def plot(*, path: Path, charts: tuple[Chart, ...], **chosen: datetime | str | None) -> None:
    """How long turns waited, how many did, how they came out, and how late timers were: charts."""
    wanted: dict[str, Any] = chosen
    with current().reading() as ledger:
        ledger.plot(path, charts or CHARTS, **wanted)
    current().answer({"path": str(path)}, lambda layout: layout.copyable(f"drawn: {path}"))


COMMANDS = (plot,)
