"""`turnledger state` and `diff`: how things stood, and what is different since."""

from datetime import datetime
from typing import Any

import click

from turnledger import Ledger, PastLedger, ThreadSummary
from turnledger.cli import json_text
from turnledger.cli.about import MOMENT, NEEDS, chosen_of, moment, thread_or
from turnledger.cli.command import LedgerCommand
from turnledger.cli.coordinator_view import begun_table
from turnledger.cli.inbox_view import message_table
from turnledger.cli.operation_view import operation_table
from turnledger.cli.parameter import THREAD, identifier
from turnledger.cli.plain_text import instant, squeezed
from turnledger.cli.reason import explained
from turnledger.cli.session import current
from turnledger.cli.sheet import Layout, Table
from turnledger.cli.state_view import Change, State, differences
from turnledger.cli.timer_view import timer_table
from turnledger.cli.turn_view import moment as moment_text
from turnledger.cli.turn_view import turn_table

_EXAMPLE = "turnledger state chat-1 --at 7\nturnledger state --work-item issue-7 --at {}"
_STYLES = {"added": "green", "gone": "red", "changed": "yellow"}
_SIGNS = {"added": "+", "gone": "-", "changed": "~"}


@click.command(
    "state",
    cls=LedgerCommand,
    needs=NEEDS,
    example=_EXAMPLE.format("2030-01-31T09:00:00Z"),
    exits={0: "shown, also if there was nothing"},
)
@thread_or("--work-item")
@click.option("--at", type=moment, required=True, metavar="POSITION|TIME", help=f"As of {MOMENT}.")
def state(*, at: int | datetime, **names: str | None) -> None:
    """How a thread or a work item stood: no model or tool is ever called, nothing is changed."""
    chosen = chosen_of(names)
    with current().reading() as ledger, ledger.as_of(at, **chosen) as past:
        found = _state_of(past, chosen)
        now = past.now
    current().answer(found, lambda layout: _show(layout, found, now))


@click.command(
    "diff",
    cls=LedgerCommand,
    needs={"THREAD": f"{THREAD}; left out with --work-item", "A": MOMENT, "B": "likewise"},
    example="turnledger diff chat-1 7 12\nturnledger diff --work-item issue-7 7 12",
    exits={0: "compared, whether something is different or not"},
)
@click.argument("first", metavar="THREAD")
@click.argument("second", metavar="A")
@click.argument("third", metavar="B", required=False)
@click.option(
    "--work-item",
    "work_item_id",
    metavar="ITEM",
    type=identifier("work_item_id"),
    help="A work item, instead of a thread.",
)
def diff(first: str, second: str, third: str | None, work_item_id: str | None) -> None:
    """What is different between two moments; no model or tool is called, nothing is changed."""
    if (third is None) == (work_item_id is None):
        msg = "name a thread and two moments, or --work-item ITEM and two moments"
        raise click.UsageError(msg)
    if third is None:
        chosen, texts = {"work_item_id": work_item_id}, (first, second)
    else:
        chosen, texts = {"thread_id": identifier("thread_id")(first)}, (second, third)
    moments = [moment(text) for text in texts]
    states: list[State] = []
    with current().reading() as ledger:
        for at in moments:
            with ledger.as_of(at, **chosen) as past:
                states.append(_state_of(past, chosen))
    changes = differences(*states)
    places = [{"position": one["position"], "now": one["now"]} for one in states]
    answer = {**chosen, "from": places[0], "to": places[1], "changes": changes}
    current().answer(answer, lambda layout: _show_changes(layout, changes))


def _show(layout: Layout, found: State, now: datetime) -> None:
    layout.line(f"as of position {found['position']}, {instant(now)}", "bold")
    for stream_id, reason in found["unread"].items():
        layout.line(f"{stream_id} isn't known to its end: {reason}", "red")
    if "work_item" in found:
        layout.line(f"work item {found['work_item_id']}: revision {found['work_item'].revision}")
    else:
        layout.line(f"thread {found['thread_id']}: {_standing(found['summary'])}")
    for name, table in _tables(found, now).items():
        layout.line("")
        layout.line(name, "bold")
        layout.table(table)


def _standing(summary: ThreadSummary | None) -> str:
    if summary is None:
        return "no command had named it"
    if summary.unreadable is not None:
        return f"how it stood can't be read: {summary.unreadable}"
    if summary.owner is not None:
        return f"{summary.state}, held by {summary.owner} until {moment_text(summary.expires_at)}"
    blocked = summary.state == "blocked"
    return explained(summary.why_blocked) if blocked else summary.state


def _tables(found: State, now: datetime) -> dict[str, Table]:
    """The lists that hold something; the first one always."""
    if "work_item" in found:
        tables = {"turns": begun_table(found["turns"], now)}
        if found["operations"]:
            tables["operations"] = operation_table(found["operations"], now)
        return tables
    tables = {"queue": turn_table(found["queue"], now=now)}
    for name in ("inbox", "undelivered"):
        if found[name]:
            tables[name] = message_table(found[name], now)
    if found["timers"]:
        tables["timers"] = timer_table(found["timers"], now)
    return tables


def _show_changes(layout: Layout, changes: list[Change]) -> None:
    if not changes:
        layout.line("nothing is different")
    for change in changes:
        style = _STYLES[change.kind]
        layout.line(f"{_SIGNS[change.kind]} {change.table} {change.id}", style)
        for name, (was, is_) in change.fields.items():
            said = {"added": _brief(is_), "gone": _brief(was)}
            both = f"{_brief(was)} -> {_brief(is_)}"
            layout.line(f"    {name}: {said.get(change.kind, both)}")


def _brief(value: object) -> str:
    return squeezed(json_text.compact(value))


def _state_of(past: PastLedger, chosen: dict[str, Any]) -> State:
    """What the past says of a thread or a work item."""
    about = {"position": past.position, "now": past.now, "unread": past.unread, **chosen}
    if "thread_id" in chosen:
        return {**about, **_of_thread(past, chosen["thread_id"])}
    return {**about, **_of_work_item(past, chosen["work_item_id"])}


def _of_thread(past: Ledger, thread_id: str) -> State:
    return {
        "summary": past.threads.get(thread_id),
        "queue": past.queue.list(thread_id),
        "inbox": past.inbox.list(thread_id),
        "undelivered": past.inbox.undelivered(thread_id),
        "timers": past.timers.list(thread_id),
    }


def _of_work_item(past: Ledger, work_item_id: str) -> State:
    return {
        "work_item": past.coordinator.work_item(work_item_id),
        "turns": past.coordinator.list(work_item_id),
        "operations": past.operations.list(work_item_id),
    }


COMMANDS = (state, diff)
