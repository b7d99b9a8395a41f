"""`turnledger work`: a worker for a function."""

import asyncio
import importlib
import inspect
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

import turnledger
from turnledger import Happening, RetryPolicy
from turnledger.cli.command import LedgerCommand
from turnledger.cli.parameter import count, lease_option
from turnledger.cli.session import Session, current
from turnledger.cli.sheet import Cell, Column

_DONE = (
    Column("kind", least=9),
    Column("thread", least=20),
    Column("turn", least=36),
    Column("error", "shortened"),
)


@click.command(
    "work",
    cls=LedgerCommand,
    example="turnledger work --call agent:answer --concurrency 4",
    exits={0: "stopped by SIGTERM, or with --once when nothing was left to do"},
)
@click.option(
    "--call",
    required=True,
    metavar="MODULE:FUNCTION",
    help="Is called with each turn; found from this folder on. A coroutine is awaited.",
)
@click.option("--owner", metavar="OWNER", help="Who works.  [default: one that is made up]")
@click.option("--concurrency", type=count, default=1, show_default=True, metavar="N", help="Calls.")
@lease_option
@click.option("--max-attempts", type=count, default=5, show_default=True, metavar="N", help="Most.")
@click.option("--grace", type=float, default=30, show_default=True, metavar="SECONDS", help="Rest.")
@click.option("--once", is_flag=True, help="End when nothing is left to do.")
def work(  # noqa: PLR0913, PLR0917 - all that can be said of a worker
    call: str,
    owner: str | None,
    concurrency: int,
    lease: float,
    max_attempts: int,
    grace: float,
    *,
    once: bool,
) -> None:
    """Call a function with each queued turn, until SIGTERM; its dispatch is recorded before."""
    function, session = _found(call), current()
    given: dict[str, Any] = {"owner": owner, "concurrency": concurrency, "lease": lease}
    given["retry"] = RetryPolicy(max_attempts=max_attempts)
    given["report"] = lambda happening: _report(session, happening)
    run: dict[str, Any] = {"once": once, "stop_on": signal.SIGTERM, "grace": grace}
    if inspect.iscoroutinefunction(function):
        asyncio.run(_work(session.location, function, given, run))
    else:
        with session.writing() as ledger:
            turnledger.Worker(ledger, function, **given).run(**run)


async def _work(location: str, function: Any, given: dict[str, Any], run: dict[str, Any]) -> None:
    async with turnledger.open_async(location) as ledger:
        await turnledger.AsyncWorker(ledger, function, **given).run(**run)


def _found(call: str) -> Callable[..., Any]:
    """The function of that name."""
    module_name, _, name = call.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module_name)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise click.BadParameter(f"{call!r} can't be found: {error}") from error
    if not callable(found):
        raise click.BadParameter(f"{call!r} can't be called")
    return found  # type: ignore[no-any-return]


def _report(session: Session, happening: Happening) -> None:
    if happening.kind == "begun":
        return
    if session.as_json:
        session.json_line(happening)
    else:
        place = (Cell(happening.kind), Cell(happening.thread_id), Cell(happening.queued_turn_id))
        session.layout.entry(_DONE, (*place, Cell(happening.error or "")))
    sys.stdout.flush()
