"""`turnledger timer …` for those who set timers: create, list, get, update, pause, delete."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

import turnledger
from turnledger.cli.command import LedgerCommand
from turnledger.cli.parameter import (
    THREAD,
    identifier,
    json_of,
    json_or_text,
    key_option,
    object_of,
    thread_argument,
)
from turnledger.cli.plain_text import instant
from turnledger.cli.session import Finding, current
from turnledger.cli.timer_trigger import trigger_in, trigger_options
from turnledger.cli.timer_view import timer_card, timer_table
from turnledger.domain.inbox import DELIVERIES

_CHANGE = {0: "done", 1: "refused, and nothing changed"}
_NEEDS = {"THREAD": THREAD}
ONE = {**_NEEDS, "TIMER": "the timer's id"}
_EXAMPLE = "turnledger timer {} chat-1 standup"

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def timer_argument(function: Decorated) -> Decorated:
    """A timer of the thread."""
    convert = identifier("timer_id")
    return click.argument("timer_id", metavar="TIMER", type=convert)(function)


def _said_options(function: Decorated) -> Decorated:
    """What a timer's message says beside its content."""
    how, client = "How the content is to be taken.", identifier("client_id")
    for option in (
        click.option("--client", "client_id", type=client, metavar="NAME", help="Who set it."),
        click.option("--source", type=identifier("source"), metavar="NAME", help="Who sends it."),
        click.option("--delivery", type=click.Choice(DELIVERIES), help="As of `inbox post`."),
        click.option("--metadata", type=object_of("metadata"), metavar="JSON", help="An object."),
        click.option("--instructions", metavar="JSON_OR_TEXT", help=how),
    ):
        function = option(function)
    return function


@click.command(
    "create",
    cls=LedgerCommand,
    needs={**_NEEDS, "CONTENT": "what its message says: JSON, - for standard input, or @FILE"},
    example="""turnledger timer create chat-1 '"stand up"' --cron '0 9 * * MON-FRI'
    turnledger timer create chat-1 '"look again"' --delay 600 --repeat --id look""",
    exits=_CHANGE,
)
@thread_argument
@click.argument("content", type=json_of("content"))
@trigger_options
@_said_options
@click.option(
    "--id",
    "timer_id",
    type=identifier("timer_id"),
    metavar="ID",
    help="The timer's id, which acts as a key as well.  [default: a new UUIDv7]",
)
@key_option
def create(thread_id: str, content: object, **options: Any) -> None:
    """Set a timer: a message for a thread at a later time, once or again and again."""
    trigger = trigger_in(options)
    if trigger is None:
        raise turnledger.InvalidTrigger("is missing: --delay, --cron, --dtstart or --rrule")
    with current().writing() as ledger:
        timer = ledger.timers.create(thread_id, trigger, content, **_given(options))
    before = "was created before" if timer.duplicate else "created"
    when = "when idle" if timer.next_run_at is None else instant(timer.next_run_at)
    line = f"{before}: {timer.timer_id}, next run {when}, in thread {thread_id}"
    current().answer(timer, lambda layout: layout.line(line))


@click.command(
    "list",
    cls=LedgerCommand,
    needs=_NEEDS,
    example="turnledger timer list chat-1",
    exits={0: "listed, also if there is none"},
)
@thread_argument
def list_(thread_id: str) -> None:
    """The timers of a thread that may still fire, the oldest first."""
    with current().reading() as ledger:
        timers = ledger.timers.list(thread_id)
    current().answer(timers, lambda layout: layout.table(timer_table(timers)))


@click.command(
    "get",
    cls=LedgerCommand,
    needs=ONE,
    example=_EXAMPLE.format("get"),
    exits={0: "there it is, also if it has ended", 1: "the thread never had it"},
)
@thread_argument
@timer_argument
def get(thread_id: str, timer_id: str) -> None:
    """What has become of a timer."""
    with current().reading() as ledger:
        timer = ledger.timers.get(thread_id, timer_id)
    if timer is None:
        raise never_was(thread_id, timer_id)
    current().answer(timer, lambda layout: layout.card(timer_card(timer)))


@click.command(
    "update",
    cls=LedgerCommand,
    needs=ONE,
    example="turnledger timer update chat-1 standup --cron '30 9 * * MON-FRI'",
    exits=_CHANGE,
)
@thread_argument
@timer_argument
@click.option("--content", type=json_of("content"), metavar="JSON", help="What its message says.")
@trigger_options
@_said_options
def update(thread_id: str, timer_id: str, **options: Any) -> None:
    """Give some fields of a timer other values; what isn't named stays."""
    trigger = trigger_in(options)
    changed = _given(options)
    if trigger is not None:
        changed["trigger"] = trigger
    with current().writing() as ledger:
        timer = ledger.timers.update(thread_id, timer_id, **changed)
    current().answer(timer, lambda layout: layout.card(timer_card(timer)))


def never_was(thread_id: str, timer_id: str) -> Finding:
    """The finding that a thread never had a timer."""
    message = f"thread {thread_id} never had a timer {timer_id}"
    return Finding(message, code="timer_not_found", thread_id=thread_id, timer_id=timer_id)


def _given(options: dict[str, Any]) -> dict[str, Any]:
    """The options that were typed; instructions are JSON or text."""
    given = {name: value for name, value in options.items() if value is not None}
    if "instructions" in given:
        given["instructions"] = json_or_text("instructions", given["instructions"])
    return given


def _yes_or_no(name: str, done: str, purpose: str, nothing: str) -> click.Command:
    """A command that says whether it did something."""

    @click.command(
        name,
        cls=LedgerCommand,
        needs=ONE,
        example=_EXAMPLE.format(name),
        exits={0: done, 1: nothing},
        help=purpose,
    )
    @thread_argument
    @timer_argument
    def command(thread_id: str, timer_id: str) -> None:
        with current().writing() as ledger:
            changed = getattr(ledger.timers, name)(thread_id, timer_id)
            timer = ledger.timers.get(thread_id, timer_id)
        if timer is None:
            raise never_was(thread_id, timer_id)
        facts = {"thread_id": thread_id, "timer_id": timer_id}
        if not changed:
            state = "paused" if timer.paused and timer.state == "scheduled" else timer.state
            said = f"{timer_id} is {state}; there is nothing to {name}"
            raise Finding(said, code="nothing_to_do", **facts, state=state)
        line = f"{done}: {timer_id} of thread {thread_id}"
        current().answer({**facts, "done": done}, lambda layout: layout.line(line))

    return command


_RESUME = "Let a timer fire again; what passed meanwhile is treated by its misfire policy."
pause = _yes_or_no("pause", "paused", "Let a timer not fire.", "it is paused, or has ended")
resume = _yes_or_no("resume", "resumed", _RESUME, "it isn't paused, or has ended")
delete = _yes_or_no("delete", "deleted", "End a timer; its history remains.", "it has ended")

COMMANDS = (create, list_, get, update, pause, resume, delete)
