"""Running a command: nothing that happens in it reaches a person as a traceback."""

import logging
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn, TextIO

import click

from turnledger.cli.command import LedgerGroup
from turnledger.cli.outcome import DEBUG, INTERRUPTED, Outcome, outcome_of
from turnledger.cli.plain_text import clean
from turnledger.cli.session import Session

NAME = "turnledger"


class Program(LedgerGroup):
    """The command line as a whole. Called, it runs and exits."""

    def main(  # type: ignore[override]  # click has more arguments, for its other modes
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        **extra: Any,
    ) -> NoReturn:
        """Run a command and exit with its status.

        Args:
            args: What was typed; default this process's arguments.
            prog_name: The name in messages.
            extra: As of click.
        """
        typed = sys.argv[1:] if args is None else list(args)
        _prepare_streams()
        self._main_shell_completion(extra, prog_name or NAME)
        status = self.run(typed)
        _empty_standard_out()
        sys.exit(status)

    def run(self, typed: list[str]) -> int:
        """Run a command.

        Returns:
            Its exit status.
        """
        session = Session()
        handler = _Notices()
        logging.getLogger(NAME).addHandler(handler)
        try:
            status = self._carried_out(typed, session)
            sys.stdout.flush()
        except BrokenPipeError:
            _let_go_of_standard_out()
            return 0
        except KeyboardInterrupt:
            return INTERRUPTED
        except Exception as error:  # noqa: BLE001 - this is where tracebacks end
            return _reported(error, as_json=session.as_json or _wants_json(typed))
        finally:
            logging.getLogger(NAME).removeHandler(handler)
        return status

    def _carried_out(self, typed: list[str], session: Session) -> int:
        try:
            with self.make_context(NAME, list(typed), obj=session) as context:
                status = self.invoke(context)
        except click.exceptions.Exit as end:
            return end.exit_code
        return status if isinstance(status, int) else 0


class _Notices(logging.Handler):
    """What the library logs as a warning, a line each on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one."""
        if record.levelno >= logging.WARNING:
            _complain(record.getMessage())


def _reported(error: Exception, *, as_json: bool) -> int:
    """Say what went wrong, and return the exit status for it."""
    outcome = outcome_of(error)
    if outcome.code == "internal_error" and os.environ.get(DEBUG):
        traceback.print_exception(error)
    with suppress(OSError):  # whoever doesn't read it any more has the exit status
        if as_json:
            Session().document(outcome.as_json())
        _say(outcome)
    return outcome.status


def _say(outcome: Outcome) -> None:
    if outcome.page is None:
        _complain(outcome.message)
    else:
        click.echo(outcome.page, err=True)


def _complain(message: str) -> None:
    click.echo(f"{NAME}: {clean(message)}", err=True)


def _wants_json(typed: list[str]) -> bool:
    """Whether --json was typed, for usage errors that come before it is read."""
    end = typed.index("--") if "--" in typed else len(typed)
    return "--json" in typed[:end]


def _prepare_streams() -> None:
    """Let every character be written, as UTF-8 or as `?`, and let both streams exist."""
    sys.stdout = _written_to(sys.stdout)
    sys.stderr = _written_to(sys.stderr)


def _written_to(stream: TextIO | None) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - like a closed one
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    return stream


def _empty_standard_out() -> None:
    """What couldn't be written has been complained about; don't let the interpreter try again."""
    try:
        sys.stdout.flush()
    except OSError:
        _let_go_of_standard_out()


def _let_go_of_standard_out() -> None:
    """Nobody reads it any more: let what is left go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
