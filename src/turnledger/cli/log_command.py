"""`turnledger log`: every event, in the order of its position."""

import signal
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from types import FrameType
from typing import Any, NoReturn

import click

from turnledger import Ledger, RecordedEvent
from turnledger.cli.command import LedgerCommand
from turnledger.cli.event_view import COLUMNS, event_row
from turnledger.cli.parameter import count, position
from turnledger.cli.session import Session, current

_PAGE = 200
_TERMINATED = 128 + signal.SIGTERM


@click.command(
    "log",
    cls=LedgerCommand,
    example="""turnledger log --stream thread_queue:chat-1
    turnledger log --follow --json | jq .type""",
    exits={0: "written, also if there is none"},
)
@click.option("--follow", is_flag=True, help="Go on, with each event as it is recorded.")
@click.option(
    "--after", type=position, default=0, metavar="POSITION", help="Only what comes behind it."
)
@click.option(
    "--stream", "streams", multiple=True, metavar="STREAM", help="Only of this one; repeatable."
)
@click.option("--type", "types", multiple=True, metavar="TYPE", help="Likewise.")
@click.option("--limit", type=count, metavar="N", help="At most so many.  [default: all]")
def log(*, follow: bool, after: int, limit: int | None, **wanted: tuple[str, ...]) -> None:
    """Every event, in order: its position, time, type, stream and content."""
    session = current()
    chosen = {name: names or None for name, names in wanted.items()}
    with session.reading() as ledger:
        if follow:
            with ended_quietly():
                found = ledger.log.follow(after, **chosen)
                write_events(session, islice(found, limit), at_once=True)
        else:
            write_events(session, islice(_pages(ledger, after, chosen), limit), at_once=False)


def _pages(ledger: Ledger, after: int, chosen: dict[str, Any]) -> Iterator[RecordedEvent]:
    """All events behind a position, page by page: no snapshot is held while they are written."""
    while page := ledger.log.read(after, limit=_PAGE, **chosen):
        yield from page
        after = page[-1].position


def write_events(
    session: Session, events: Iterable[RecordedEvent], *, at_once: bool = False
) -> None:
    """Write events, a line each, as JSON or for people; at once, where somebody waits for them."""
    for event in events:
        if session.as_json:
            session.json_line(event)
        else:
            session.layout.entry(COLUMNS, event_row(event))
        if at_once:
            sys.stdout.flush()


@contextmanager
def ended_quietly() -> Generator[None]:
    """Let SIGTERM end the block like Ctrl-C does: what was written is whole lines."""
    former = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def _end(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(_TERMINATED)


COMMANDS = (log,)
