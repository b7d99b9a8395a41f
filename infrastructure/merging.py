"""Two sources of rows, in the order of a key, side by side."""

from collections.abc import Iterator
from typing import Any

from turnledger.infrastructure.statement import Row


def merged(
    stored: Iterator[Row], replayed: Iterator[Row], key: list[int]
) -> Iterator[tuple[Row, Row | None, Row | None]]:
    """Pair the rows of two sources that are in the order of a key; None where one has none.

    Returns:
        The key's values, the row of the one, and that of the other.
    """
    was, ought = next(stored, None), next(replayed, None)
    while was is not None or ought is not None:
        if was is not None and was == ought:  # nearly always: no order has to be made
            yield tuple([was[number] for number in key]), was, ought
            was, ought = next(stored, None), next(replayed, None)
            continue
        mine, theirs = _order(was, key), _order(ought, key)
        row = was if mine <= theirs else ought
        place = tuple((row or ())[number] for number in key)
        yield place, was if mine <= theirs else None, ought if theirs <= mine else None
        was = next(stored, None) if mine <= theirs else was
        ought = next(replayed, None) if theirs <= mine else ought


def _order(row: Row | None, key: list[int]) -> tuple[Any, ...]:
    """A row's place in SQLite's order, also when damage gave a value another type."""
    if row is None:
        return ((9,),)
    return tuple(map(_rank, (row[number] for number in key)))


def _rank(value: Any) -> tuple[Any, ...]:
    match value:
        case None:
            return (0,)
        case int() | float():
            return (1, value)
        case str():
            return (2, value.encode(errors="surrogateescape"))
        case _:
            return (3, bytes(value))
