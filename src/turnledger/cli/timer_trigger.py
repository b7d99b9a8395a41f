"""A trigger as it is typed: as JSON, or by options."""

import math
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar, get_args

import click

import turnledger
from turnledger.cli import json_text
from turnledger.cli.source import text_from
from turnledger.domain.trigger import Trigger, as_trigger
from turnledger.domain.trigger.model import Misfire

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_NAME = "trigger"
_OPTIONS = ("trigger", "delay", "repeat", "cron", "dtstart", "rrule", "timezone", "misfire")
_KINDS = {
    "delay": "delay",
    "repeat": "delay",
    "cron": "cron",
    "dtstart": "schedule",
    "rrule": "schedule",
}
_FIELDS = {"delay": "seconds", "cron": "expression"}


def _typed(text: str) -> object:
    return json_text.parse(_NAME, text_from(_NAME, text))


def _local_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        reason = f"has the dtstart {text!r}, not a local time such as 2030-01-31T09:00"
        raise turnledger.InvalidTrigger(reason) from error


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds):
        raise turnledger.InvalidTrigger(f"has the delay {text!r}, no number of seconds")
    return seconds


def trigger_options(function: Decorated) -> Decorated:
    """When a timer runs."""
    zone = "Of cron, dtstart and rrule: an IANA name.  [default: this host's]"
    policy = "What becomes of runs that were slept through.  [default: coalesce]"
    for option in (
        click.option("--trigger", type=_typed, metavar="JSON", help="All of that in one object."),
        click.option("--misfire", type=click.Choice(get_args(Misfire)), help=policy),
        click.option("--timezone", metavar="ZONE", help=zone),
        click.option("--rrule", metavar="RULE", help="By a recurrence rule (RFC 5545)."),
        click.option("--dtstart", type=_local_time, metavar="LOCAL", help="At a local time."),
        click.option("--cron", metavar="EXPRESSION", help="By the five fields of cron."),
        click.option("--repeat", is_flag=True, help="With --delay: again and again."),
        click.option("--delay", type=_seconds, metavar="SECONDS", help="After so long."),
    ):
        function = option(function)
    return function


def trigger_in(options: dict[str, Any]) -> Trigger | None:
    """Take the trigger out of a command's options; None if they say none.

    Raises:
        InvalidTrigger: They say two, or a wrong one.
    """
    said = {name: options.pop(name) for name in _OPTIONS}
    given = {
        name: value for name, value in said.items() if value is not None and value is not False
    }
    if "trigger" in given:
        if len(given) > 1:
            raise turnledger.InvalidTrigger("is given as JSON and by options; one is enough")
        return as_trigger(given["trigger"])
    if not given:
        return None
    kinds = {_KINDS[name] for name in given if name in _KINDS}
    if len(kinds) != 1:
        raise turnledger.InvalidTrigger("needs one of --delay, --cron, and --dtstart or --rrule")
    fields = {_FIELDS.get(name, name): value for name, value in given.items()}
    return as_trigger({"kind": kinds.pop(), **fields})
