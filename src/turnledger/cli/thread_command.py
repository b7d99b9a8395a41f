"""`turnledger thread …`: the life of each thread."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import get_args

import click

from turnledger import ThreadSummary
from turnledger.cli.command import LedgerGroup
from turnledger.cli.parameter import THREAD, count, identifier, thread_argument
from turnledger.cli.plain_text import age, counted, instant
from turnledger.cli.session import Finding, current
from turnledger.cli.sheet import Cell, Column, Fields, Table
from turnledger.thread_values import ThreadState

_CHANGE = {0: "done, also if it was so before", 1: "refused, and nothing changed"}
_NEEDS = {"THREAD": THREAD}
_STYLES = {"in_flight": "cyan", "blocked": "red", "archived": "dim", "deleted": "dim"}

thread = LedgerGroup(name="thread", help="The life of each thread, and what it is doing.")


@thread.command("archive", needs=_NEEDS, example="turnledger thread archive chat-1", exits=_CHANGE)
@thread_argument
def archive(thread_id: str) -> None:
    """Let a thread take and start no work; what is under way may end."""
    with current().writing() as ledger:
        ledger.threads.archive(thread_id)
    answer = {"thread_id": thread_id, "archived": True}
    current().answer(answer, lambda layout: layout.line(f"archived: thread {thread_id}"))


@thread.command(
    "unarchive", needs=_NEEDS, example="turnledger thread unarchive chat-1", exits=_CHANGE
)
@thread_argument
def unarchive(thread_id: str) -> None:
    """Let a thread take and start work again: everything is there as it was."""
    with current().writing() as ledger:
        ledger.threads.unarchive(thread_id)
    answer = {"thread_id": thread_id, "archived": False}
    current().answer(answer, lambda layout: layout.line(f"unarchived: thread {thread_id}"))


@thread.command("delete", needs=_NEEDS, example="turnledger thread delete chat-1", exits=_CHANGE)
@thread_argument
def delete(thread_id: str) -> None:
    """End a thread and all that waits in it. This can't be undone; its history remains."""
    with current().writing() as ledger:
        ended = ledger.threads.delete(thread_id)
    waiting = counted(ended.queued_turns, "queued turn")
    others = f"{counted(ended.messages, 'message')}, {counted(ended.timers, 'timer')}"
    said = f"deleted: thread {thread_id}, with {waiting}, {ended.in_flight} in flight, {others}"
    current().answer(ended, lambda layout: layout.line(said))


@thread.command(
    "fork",
    needs={**_NEEDS, "NEW": "the thread that begins: one that no command ever named"},
    example="turnledger thread fork chat-1 chat-1-again",
    exits=_CHANGE,
)
@thread_argument
@click.argument("new_id", metavar="NEW", type=identifier("new_id"))
def fork(thread_id: str, new_id: str) -> None:
    """Let a new thread begin as a fork of another one: nothing is copied, its origin is kept."""
    with current().writing() as ledger:
        summary = ledger.threads.fork(thread_id, new_id)
    said = f"forked: thread {new_id}, from thread {thread_id}"
    current().answer(summary, lambda layout: layout.line(said))


@thread.command(
    "list",
    example="turnledger thread list --state blocked",
    exits={0: "listed, also if there is none"},
)
@click.option(
    "--state", type=click.Choice(get_args(ThreadState)), help="Only those.  [default: not deleted]"
)
@click.option("--limit", type=count, metavar="N", help="At most so many.  [default: all]")
@click.option(
    "--after",
    type=identifier("after"),
    metavar="THREAD",
    help="Only those whose id comes behind it.",
)
def list_(state: ThreadState | None, limit: int | None, after: str | None) -> None:
    """Threads by id, with what they are doing."""
    with current().reading() as ledger:
        summaries = ledger.threads.list(state, limit=limit, after=after)
    current().answer(summaries, lambda layout: layout.table(_table(summaries)))


@thread.command(
    "show",
    needs=_NEEDS,
    example="turnledger thread show chat-1",
    exits={0: "there it is", 1: "no command ever named it"},
)
@thread_argument
def show(thread_id: str) -> None:
    """What one thread is doing."""
    with current().reading() as ledger:
        summary = ledger.threads.get(thread_id)
    if summary is None:
        message = f"no command ever named thread {thread_id}"
        raise Finding(message, code="thread_not_found", thread_id=thread_id)
    current().answer(summary, lambda layout: layout.card(_card(summary)))


def _table(summaries: Sequence[ThreadSummary]) -> Table:
    columns = (
        Column("thread"),
        Column("state"),
        Column("why"),
        Column("waiting", right=True),
        Column("oldest"),
        Column("owner"),
    )
    now = datetime.now(UTC)
    rows = [
        (
            Cell(summary.thread_id),
            _state(summary),
            Cell(_why(summary)),
            Cell(str(summary.waiting)),
            Cell(_oldest(summary, now)),
            Cell(summary.owner or ""),
        )
        for summary in summaries
    ]
    return Table(columns, rows, "no threads")


def _card(summary: ThreadSummary) -> Fields:
    return [
        ("thread", Cell(summary.thread_id)),
        ("state", _state(summary)),
        ("why blocked", Cell(summary.why_blocked or "")),
        ("waiting", Cell(counted(summary.waiting, "queued turn"))),
        ("oldest", Cell(_oldest(summary, datetime.now(UTC)))),
        ("owner", Cell(summary.owner or "")),
        ("forked from", Cell(summary.forked_from or "")),
        ("expires at", Cell("" if summary.expires_at is None else instant(summary.expires_at))),
    ]


def _state(summary: ThreadSummary) -> Cell:
    return Cell(summary.state, _STYLES.get(summary.state, ""))


def _why(summary: ThreadSummary) -> str:
    """What the state doesn't say already."""
    return (summary.why_blocked or "") if summary.state == "blocked" else ""


def _oldest(summary: ThreadSummary, now: datetime) -> str:
    return "" if summary.oldest_waiting_at is None else age(summary.oldest_waiting_at, now)
