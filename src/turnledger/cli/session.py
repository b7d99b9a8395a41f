"""What one call of the command line knows: which ledger, and in which form it answers."""

import io
import os
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TextIO

import click

import turnledger
from turnledger.cli import json_text
from turnledger.cli.sheet import Layout
from turnledger.domain.redactor import Redactor
from turnledger.infrastructure.opening import is_on_server

VARIABLE = "TURNLEDGER_DB"
REDACT = "TURNLEDGER_REDACT"
DEFAULT = "./turnledger.db"


class Finding(Exception):
    """There is nothing to do or to show; for scripts that is exit status 1.

    Attributes:
        code: A stable word, for programs.
        message: What a person reads.
        facts: What it is about.
    """

    def __init__(self, message: str, *, code: str, **facts: object) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.facts = facts


class Session:
    """What the options --db and --json say.

    Attributes:
        store: What --db gave, if it did.
        as_json: Whether --json was given.
    """

    def __init__(self) -> None:
        self.store: str | None = None
        self.as_json = False

    @property
    def location(self) -> str:
        """The path or URL of the ledger."""
        if self.store is not None:
            return self.store
        return os.environ.get(VARIABLE) or DEFAULT

    def reading(self) -> AbstractContextManager[turnledger.Ledger]:
        """Open the ledger for a question: nothing is made or changed.

        On a server, reading the log gives positions to what is new in it.
        """
        return _opened(self.location, read_only=not is_on_server(self.location))

    def writing(self) -> AbstractContextManager[turnledger.Ledger]:
        """Open the ledger for a command; make it if it isn't there.

        Raises:
            InvalidPayload: The environment asks for a redaction that isn't known.
        """
        return _opened(self.location, read_only=False, redact=_redactor())

    @cached_property
    def layout(self) -> Layout:
        """Where people read the answer; rich is only loaded for a terminal."""
        if sys.stdout.isatty():
            from turnledger.cli.terminal import TerminalLayout  # noqa: PLC0415

            return TerminalLayout()
        from turnledger.cli.pipe import PipeLayout  # noqa: PLC0415

        return PipeLayout()

    def answer(self, value: object, show: Callable[[Layout], None]) -> None:
        """Give what came back: as one JSON document, or as people read it.

        Args:
            value: JSON, or what turnledger returned, also inside each other.
            show: Puts the same on a layout.
        """
        if self.as_json:
            self.document(value)
        else:
            show(self.layout)

    def document(self, value: object) -> None:
        """Write one JSON document."""
        _write_json(value, 2 if sys.stdout.isatty() else None)

    def json_line(self, value: object) -> None:
        """Write one line of JSON lines."""
        _write_json(value, None)


def current() -> Session:
    """The session of the command that is running."""
    return click.get_current_context().ensure_object(Session)


def _write_json(value: object, indent: int | None) -> None:
    out: TextIO = sys.stdout
    if out.encoding.lower() != "utf-8" and isinstance(out, io.TextIOWrapper):
        out.reconfigure(encoding="utf-8")  # JSON is UTF-8 (RFC 8259, 8.1)
    out.write(json_text.written(value, indent=indent) + "\n")


def _redactor() -> Redactor | None:
    wanted = os.environ.get(REDACT, "")
    if not wanted:
        return None
    if wanted != "secrets":
        raise turnledger.InvalidPayload(REDACT, f"must be 'secrets' or empty, not {wanted!r}")
    from turnledger.redaction import secrets  # noqa: PLC0415 - for those who want it

    return secrets()


@contextmanager
def _opened(
    location: str, *, read_only: bool, redact: Redactor | None = None
) -> Generator[turnledger.Ledger]:
    try:
        ledger = turnledger.open(location, read_only=read_only, redact=redact)
    except (turnledger.StoreUnavailable, turnledger.StoreReadOnly) as error:
        raise explained(error, read_only=read_only) from error
    with ledger:
        try:
            yield ledger
        except (ValueError, TypeError, KeyError, OverflowError) as error:
            if not ledger.is_bundle or isinstance(error, turnledger.LedgerError):
                raise
            reason = "something in the bundle can't be read; see what `turnledger verify` finds"
            raise turnledger.StoreDamaged(location, reason) from error


def explained(error: turnledger.StoreError, *, read_only: bool) -> turnledger.StoreError:
    """The same error with a reason that a person can act on, if there is one."""
    url = str(error.facts["url"])
    if not url.startswith("sqlite:"):
        return error
    path = Path(url.removeprefix("sqlite:///"))
    if path.is_dir():
        return turnledger.StoreUnavailable(url, "it is a folder; name a file in it")
    if not path.parent.is_dir():
        return turnledger.StoreUnavailable(url, "its folder doesn't exist")
    if read_only and not path.exists():
        reason = f"there is no such file; --db or {VARIABLE} names another"
        return turnledger.StoreUnavailable(url, reason)
    if read_only and path.stat().st_size == 0:
        return turnledger.StoreUnavailable(url, "the file is empty; no ledger was made in it yet")
    return error
