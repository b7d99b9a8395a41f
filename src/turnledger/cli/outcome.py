"""What went wrong, as an exit status, one line for people, and a JSON object for programs."""

import os
from typing import Any, NamedTuple

import click

import turnledger
from turnledger.cli.session import Finding

DEBUG = "TURNLEDGER_DEBUG"

REFUSED = 1
USAGE = 2
STORE = 3
INTERRUPTED = 130


class Outcome(NamedTuple):
    """How a call ended that didn't end well.

    Attributes:
        status: The exit status.
        code: A stable word, for programs.
        message: One line for people.
        facts: What it is about, as JSON.
        page: Help to be shown instead of the line, if a command is missing.
    """

    status: int
    code: str
    message: str
    facts: dict[str, Any]
    page: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The answer to --json."""
        said = {"code": self.code, "message": self.message}
        return {"error": said | self.facts | said}


def outcome_of(error: Exception) -> Outcome:
    """Say how a call ended with an exception."""
    match error:
        case Finding():
            return Outcome(REFUSED, error.code, error.message, error.facts)
        case turnledger.LedgerError():
            return Outcome(_status(error), error.code, error.message, error.facts)
        case click.exceptions.NoArgsIsHelpError():
            return Outcome(USAGE, "usage", "a command is missing", {}, error.format_message())
        case click.ClickException():
            return Outcome(USAGE, "usage", _usage(error), {})
        case OSError():
            reason = error.strerror or str(error) or type(error).__name__
            where = f": {os.fsdecode(error.filename)}" if error.filename else ""
            return Outcome(REFUSED, "system_error", f"{reason}{where}", {"errno": error.errno})
        case _:
            said = f"{type(error).__name__}: {error}".removesuffix(": ")
            message = f"internal error: {said} (set {DEBUG}=1 for the traceback)"
            return Outcome(REFUSED, "internal_error", message, {"kind": type(error).__name__})


def _status(error: turnledger.LedgerError) -> int:
    match error:
        case turnledger.InvalidInput():
            return USAGE
        case turnledger.StoreError():
            return STORE
        case _:
            return REFUSED


def _usage(error: click.ClickException) -> str:
    """What click says, as part of a line of ours."""
    said = error.format_message().strip().rstrip(".")
    said = said[:1].lower() + said[1:]
    context = getattr(error, "ctx", None)
    return said if context is None else f"{said} (see {context.command_path} --help)"
