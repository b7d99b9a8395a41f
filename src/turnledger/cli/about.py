"""What a command on the past is about: a thread, or what an option names instead."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, TypeVar

import click

from turnledger import Ledger, RecordedEvent
from turnledger.cli.parameter import THREAD, identifier, instant

NEEDS = {"THREAD": f"{THREAD}; or one of the options below names something else"}
MOMENT = "a position of the log, or a time with its timezone such as 2030-01-31T09:00:00Z"

_PAGE = 500
_OPTIONS = (
    ("--work-item", "work_item_id", "ITEM", "A work item: its turns, runs and operations."),
    ("--turn", "turn_id", "TURN", "A coordinator turn."),
    ("--timer", "timer_id", "TIMER", "A timer."),
    ("--run", "run_id", "RUN", "A run."),
    ("--operation", "operation_key", "KEY", "An operation."),
)

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def thread_or(*options: str) -> Callable[[Decorated], Decorated]:
    """The thread, as an argument that may be left out, and options that name something else.

    Args:
        options: Their names; default all.
    """

    def decorate(function: Decorated) -> Decorated:
        decorated: Any = function
        for option, name, metavar, text in reversed(_OPTIONS):
            if not options or option in options:
                chosen = click.option(
                    option, name, metavar=metavar, type=identifier(name), help=text
                )
                decorated = chosen(decorated)
        thread = click.argument(
            "thread_id", metavar="THREAD", required=False, type=identifier("thread_id")
        )
        result: Decorated = thread(decorated)
        return result

    return decorate


def chosen_of(names: dict[str, str | None]) -> dict[str, Any]:
    """The one thing that was named.

    Raises:
        click.UsageError: Nothing was, or several things.
    """
    given = {name: value for name, value in names.items() if value is not None}
    if len(given) != 1:
        others = [option for option, name, *_ in _OPTIONS if name in names]
        msg = f"name one thing: THREAD, or one of {', '.join(others)}"
        raise click.UsageError(msg)
    return given


def moment(text: str) -> int | datetime:
    """The type of a position or a time with its zone."""
    if text.lstrip("-").isdecimal():
        number = int(text) if len(text) <= len(str(2**63)) else -1
        if number < 0:
            msg = f"{text!r} is no position: a whole number from 0 on"
            raise click.BadParameter(msg)
        return number
    return instant("at")(text)


def events_about(ledger: Ledger, chosen: dict[str, Any], after: int = 0) -> Iterator[RecordedEvent]:
    """All events about something, page by page: no snapshot is held while they are shown."""
    while page := ledger.history(**chosen, after=after, limit=_PAGE):
        yield from page
        after = page[-1].position
