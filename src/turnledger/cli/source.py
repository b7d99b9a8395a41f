"""Where a submission comes from: the line itself, a file, or standard input."""

import sys
from pathlib import Path
from typing import BinaryIO

import click

from turnledger.domain.errors import InvalidPayload

_MOST_BYTES = 256 * 1024 * 1024  # so that @/dev/zero ends; a hundred submissions fit in


def text_from(name: str, given: str) -> str:
    """The text that an argument stands for.

    Args:
        name: What it is, for the message.
        given: The text itself, `-` for standard input, or `@FILE`.

    Raises:
        click.UsageError: The file can't be read.
        InvalidPayload: It isn't UTF-8, or endless.
    """
    if given == "-":
        return _decoded(name, _bytes_of(sys.stdin.buffer, name))
    if not given.startswith("@"):
        return given
    try:
        with Path(given[1:]).open("rb") as file:
            return _decoded(name, _bytes_of(file, name))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        msg = f"can't read {given[1:] or 'a file without a name'}: {reason}"
        raise click.UsageError(msg) from error


def _bytes_of(file: BinaryIO, name: str) -> bytes:
    content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise InvalidPayload(name, f"is more than {_MOST_BYTES:,} bytes of text")
    return content


def _decoded(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidPayload(name, f"isn't UTF-8: see byte {error.start + 1}") from error
