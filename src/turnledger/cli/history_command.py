"""`turnledger history` and `show`: what happened to one thing."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import click

from turnledger import Ledger, RecordedEvent
from turnledger.cli.about import NEEDS, chosen_of, events_about, thread_or
from turnledger.cli.command import LedgerCommand
from turnledger.cli.log_command import ended_quietly, write_events
from turnledger.cli.parameter import count, position
from turnledger.cli.session import current
from turnledger.cli.sheet import Layout
from turnledger.cli.story import Story, told
from turnledger.cli.story_view import LEGEND, story_table

_PATIENCE_SECONDS = 3_600.0  # no reader waits longer than this without looking again


@click.command(
    "history",
    cls=LedgerCommand,
    needs=NEEDS,
    example="turnledger history chat-1\nturnledger history --work-item issue-7 --json",
    exits={0: "written, also if nothing happened"},
)
@thread_or()
@click.option(
    "--after", type=position, default=0, metavar="POSITION", help="Only what comes behind it."
)
@click.option("--limit", type=count, metavar="N", help="At most so many.  [default: all]")
def history(*, after: int, limit: int | None, **names: str | None) -> None:
    """All events about one thing, over all its parts, in order; in JSON, a line each."""
    chosen, session = chosen_of(names), current()
    with session.reading() as ledger:
        write_events(session, islice(events_about(ledger, chosen, after), limit))


@click.command(
    "show",
    cls=LedgerCommand,
    needs=NEEDS,
    example="turnledger show chat-1 --last 3\nturnledger show --work-item issue-7",
    exits={0: "shown, also if nothing happened"},
)
@thread_or()
@click.option("--last", type=count, metavar="N", help="Only the last ones.  [default: all]")
@click.option("--events", "flat", is_flag=True, help="Its events, as they are, a line each.")
@click.option("--follow", is_flag=True, help="Likewise, and each new one as it is recorded.")
def show(*, last: int | None, flat: bool, follow: bool, **names: str | None) -> None:
    """What happened to one thing: its turns, messages and operations, in time."""
    chosen, session = chosen_of(names), current()
    with session.reading() as ledger:
        if follow:
            with ended_quietly():
                write_events(session, _followed(ledger, chosen, last), at_once=True)
            return
        events = list(events_about(ledger, chosen))
    if flat:
        write_events(session, events[-(last or 0) :])
        return
    stories = told(events)[-(last or 0) :]
    now = datetime.now(UTC)
    answer = [story.as_json(now) for story in stories]
    session.answer(answer, lambda layout: _show(layout, stories, now))


def _show(layout: Layout, stories: list[Story], now: datetime) -> None:
    layout.table(story_table(stories, now))
    if stories:
        layout.line("")
        layout.line(LEGEND, "dim")


def _followed(ledger: Ledger, chosen: dict[str, str], last: int | None) -> Iterator[RecordedEvent]:
    """The events so far, or the last of them, and then each new one, for ever."""
    newest = ledger.wait_for_change(0, 0)
    so_far = list(events_about(ledger, chosen))
    yield from so_far[-(last or 0) :]
    after = max(newest, so_far[-1].position if so_far else 0)
    while True:
        newest = ledger.wait_for_change(after, _PATIENCE_SECONDS)
        for event in events_about(ledger, chosen, after):
            yield event
            newest = max(newest, event.position)
        after = max(after, newest)


COMMANDS = (history, show)
