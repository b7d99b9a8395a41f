"""`turnledger why`, `verify`, `rebuild` and `doctor`: what is the matter, and what helps?"""

import dataclasses
import sys

import click

from turnledger import Checked, Rebuilt, Verification, Why
from turnledger.cli.command import LedgerCommand
from turnledger.cli.event_view import COLUMNS, event_row
from turnledger.cli.evidence_command import read_checkpoints, show_checked
from turnledger.cli.parameter import THREAD, thread_argument
from turnledger.cli.plain_text import counted
from turnledger.cli.reason import explained
from turnledger.cli.session import current
from turnledger.cli.sheet import Cell, Column, Layout, Row, Table

_STYLES = {"ok": "green", "note": "yellow", "problem": "red"}


@click.command(
    "why",
    cls=LedgerCommand,
    needs={"THREAD": THREAD},
    example="turnledger why chat-1",
    exits={0: "answered, whether it is blocked or not"},
)
@thread_argument
def why(thread_id: str) -> None:
    """Why a thread doesn't move, the events that caused it, and what would unblock it."""
    with current().reading() as ledger:
        answer = ledger.why(thread_id)
    current().answer(answer, lambda layout: _show_why(layout, answer))


def _show_why(layout: Layout, answer: Why) -> None:
    if answer.reason is None:
        layout.line(f"thread {answer.thread_id} isn't blocked: its head can be claimed")
        return
    layout.line(f"thread {answer.thread_id}: {explained(answer.reason)}")
    if answer.events:
        layout.line("")
        layout.line("caused by", "bold")
        for event in answer.events:
            layout.entry(COLUMNS, event_row(event))
    if answer.commands:
        layout.line("")
        layout.line("unblocked by" if len(answer.commands) == 1 else "unblocked by one of", "bold")
        for command in answer.commands:
            layout.copyable(command)


@click.command(
    "verify",
    cls=LedgerCommand,
    example="turnledger verify",
    exits={0: "the ledger is whole", 1: "something isn't as it ought to be"},
)
@click.option(
    "--checkpoint",
    metavar="FILE",
    help="Look also whether the log begins with what the checkpoints in it say, as check does.",
)
def verify(checkpoint: str | None) -> int:
    """Look whether the ledger is whole: events, hash chain, rules, read models."""
    session = current()
    wanted = () if checkpoint is None else read_checkpoints(checkpoint)
    with session.reading() as ledger:
        shows = is_watched() and not session.as_json
        found = ledger.verify(_progress if shows else None)
        checked = ledger.check_all(wanted) if wanted else ()
    fine = found.ok and all(one.ok for one in checked)

    def show(layout: Layout) -> None:
        _show_verification(layout, found)
        show_checked(layout, checked)

    session.answer(_with_checkpoints(found, checked), show)
    return 0 if fine else 1


def _with_checkpoints(found: Verification, checked: tuple[Checked, ...]) -> object:
    """The answer to --json; only where checkpoints were given, it says something of them."""
    if not checked:
        return found
    fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
    fine = found.ok and all(one.ok for one in checked)
    return {**fields, "ok": fine, "checkpoints": checked}


def is_watched() -> bool:
    """Whether somebody sees what standard error says while it goes on."""
    return sys.stderr.isatty()


def _progress(count: int) -> None:
    """Say how far it is, on a line that the next one overwrites."""
    click.echo(f"\r{counted(count, 'event')} looked at\r", nl=False, err=True)


def _show_verification(layout: Layout, found: Verification) -> None:
    tables = {finding.where for finding in found.findings} - {"events", "streams"}
    parts = (
        ("events", found.events, {"events"}),
        ("streams", found.streams, {"streams"}),
        ("read-model rows", found.rows, tables),
    )
    rows: list[Row] = []
    for name, count, places in parts:
        bad = sum(finding.where in places for finding in found.findings)
        result = Cell(counted(bad, "finding"), "red") if bad else Cell("ok", "green")
        rows.append((Cell(name), Cell(f"{count:,}"), result))
    columns = (Column("verified"), Column("count", right=True), Column("result"))
    layout.table(Table(columns, rows, ""))
    for finding in found.findings:
        place = f"position {finding.position}" if finding.row is None else f"row {finding.row}"
        layout.line(f"{finding.where}, {place}: {finding.message}", "red")
    for note in found.notes:
        layout.line(f"note: {note}", "yellow")


@click.command(
    "rebuild",
    cls=LedgerCommand,
    needs={"PROJECTION": "names of read models' tables, or streams for the head rows"},
    example="turnledger rebuild\nturnledger rebuild queued_turns",
    exits={0: "the read models are as the events say"},
)
@click.argument("projections", metavar="[PROJECTION]...", nargs=-1)
def rebuild(projections: tuple[str, ...]) -> None:
    """Make read models anew out of the events, beside the live ones, and put right what differs."""
    session = current()
    with session.writing() as ledger:
        shows = is_watched() and not session.as_json
        found = ledger.rebuild(*projections, progress=_progress if shows else None)
    session.answer(found, lambda layout: _show_rebuilt(layout, found))


def _show_rebuilt(layout: Layout, found: Rebuilt) -> None:
    columns = (
        Column("rebuilt"),
        *(Column(name, right=True) for name in ("added", "removed", "changed")),
    )
    rows = [
        (Cell(one.name), Cell(f"{one.added:,}"), Cell(f"{one.removed:,}"), Cell(f"{one.changed:,}"))
        for one in found.tables
    ]
    layout.table(Table(columns, rows, ""))
    put_right = counted(found.mended, "row")
    layout.line(f"out of {counted(found.events, 'event')}: {put_right} put right")
    for stream_id, reason in found.unread.items():
        layout.line(f"note: {stream_id} was left as it is: {reason}", "yellow")


@click.command(
    "doctor",
    cls=LedgerCommand,
    example="turnledger doctor",
    exits={0: "nothing is wrong; there may be notes", 1: "there is a problem"},
)
def doctor() -> int:
    """Look whether the place where the ledger lives is a safe one."""
    with current().reading() as ledger:
        checks = ledger.doctor()
    columns = (Column("check"), Column("status"), Column("what was seen", "folded"))
    rows = [
        (Cell(check.name), Cell(check.status, _STYLES[check.status]), Cell(check.message))
        for check in checks
    ]
    current().answer(checks, lambda layout: layout.table(Table(columns, rows, "")))
    return int(any(check.status == "problem" for check in checks))


COMMANDS = (why, verify, rebuild, doctor)
