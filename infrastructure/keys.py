"""Keys of rows in statements, also those that damage has left, in batches."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from turnledger.infrastructure.statement import Row

AT_ONCE = 200  # rows in a statement

Key = tuple[Any, ...]


def values_of(keys: list[Key], mark: str) -> tuple[str, Row]:
    """Keys as the rows of VALUES.

    Args:
        keys: At most AT_ONCE.
        mark: What stands for a parameter.

    Returns:
        The SQL behind the word, and its parameters. Text that isn't UTF-8 any more, with
        surrogates in it, is given as bytes.
    """
    if all(_is_plain(value) for key in keys for value in key):
        row = f"({', '.join([mark] * len(keys[0]))})"
        return ", ".join([row] * len(keys)), tuple(value for key in keys for value in key)
    rows = [
        [mark if _is_plain(value) else f"CAST({mark} AS TEXT)" for value in key] for key in keys
    ]
    given = tuple(
        value if _is_plain(value) else value.encode(errors="surrogateescape")
        for key in keys
        for value in key
    )
    return ", ".join(f"({', '.join(row)})" for row in rows), given


def _is_plain(value: Any) -> bool:
    if not isinstance(value, str) or value.isascii():
        return True
    return not any("\ud800" <= one <= "\udfff" for one in value)


def as_it_is(stored: bytes) -> str:
    """Stored text, with surrogates for bytes that aren't UTF-8."""
    return stored.decode(errors="surrogateescape")


def batches(keys: Iterable[Key]) -> Iterator[list[Key]]:
    """The keys, AT_ONCE at a time."""
    rest = iter(keys)
    while some := list(islice(rest, AT_ONCE)):
        yield some
