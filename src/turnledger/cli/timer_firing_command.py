"""`turnledger timer …` for schedulers, and `turnledger run-timers`."""

import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import click

from turnledger import InboxMessage, Scheduler
from turnledger.cli.command import LedgerCommand
from turnledger.cli.inbox_view import message_table
from turnledger.cli.parameter import count, owner_option, thread_argument
from turnledger.cli.plain_text import instant
from turnledger.cli.session import Session, current
from turnledger.cli.sheet import Cell, Column
from turnledger.cli.timer_command import ONE, never_was, timer_argument
from turnledger.cli.timer_view import run_table, timer_table
from turnledger.cli.turn_view import summary

_POSTED = (
    Column("posted at", least=20),
    Column("message", least=36),
    Column("thread", least=20),
    Column("content", "shortened"),
)


@click.command(
    "due",
    cls=LedgerCommand,
    example="turnledger timer due",
    exits={0: "marked, also if there is none"},
)
@click.option("--limit", type=count, metavar="N", help="At most so many.  [default: all]")
def due(limit: int | None) -> None:
    """Mark the timers whose next run has come, for those who fire them one by one."""
    with current().writing() as ledger:
        timers = ledger.timers.mark_due(limit=limit)
    current().answer(timers, lambda layout: layout.table(timer_table(timers)))


@click.command(
    "fire",
    cls=LedgerCommand,
    example="turnledger timer fire --owner scheduler-1",
    exits={0: "fired, also if nothing was due"},
)
@owner_option
@click.option("--limit", type=count, default=100, show_default=True, metavar="N", help="At most.")
def fire(owner: str, limit: int) -> None:
    """Fire the timers that are due: their messages are in the inboxes then."""
    with current().writing() as ledger:
        messages = ledger.timers.fire_due(owner, limit)
    current().answer(messages, lambda layout: layout.table(message_table(messages)))


@click.command(
    "history",
    cls=LedgerCommand,
    needs=ONE,
    example="turnledger timer history chat-1 standup",
    exits={0: "listed, also if it never ran", 1: "the thread never had it"},
)
@thread_argument
@timer_argument
def history(thread_id: str, timer_id: str) -> None:
    """What became of a timer's runs: planned, actual, how late, and how many were missed."""
    with current().reading() as ledger:
        if ledger.timers.get(thread_id, timer_id) is None:
            raise never_was(thread_id, timer_id)
        runs = ledger.timers.history(thread_id, timer_id)
    current().answer(runs, lambda layout: layout.table(run_table(runs)))


@click.command(
    "run-timers",
    cls=LedgerCommand,
    example="turnledger run-timers --owner scheduler-1",
    exits={0: "stopped by SIGTERM, or with --once when nothing was due any more"},
)
@owner_option
@click.option("--once", is_flag=True, help="End when nothing is due any more.")
def run_timers(owner: str, *, once: bool) -> None:
    """Fire timers as they come due, until SIGTERM; several of these share the work."""
    session = current()
    with session.writing() as ledger:
        scheduler = ledger.timers.scheduler(owner, lambda posted: _report(session, posted))
        with _stopped_by_sigterm(scheduler):
            scheduler.run(once=once)


def _report(session: Session, messages: Sequence[InboxMessage]) -> None:
    for message in messages:
        if session.as_json:
            session.json_line(message)
        else:
            place = (Cell(instant(message.created_at)), Cell(message.message_id))
            said = (Cell(message.thread_id), Cell(summary(message.content)))
            session.layout.entry(_POSTED, (*place, *said))
    sys.stdout.flush()


@contextmanager
def _stopped_by_sigterm(scheduler: Scheduler) -> Generator[None]:
    """Let SIGTERM end the work between two transactions, or the wait at once."""
    former = signal.signal(signal.SIGTERM, lambda _number, _frame: scheduler.stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


COMMANDS = (due, fire, history)
