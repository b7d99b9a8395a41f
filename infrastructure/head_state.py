"""The state that a head row holds, for the next command to be decided on."""

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic_core import from_json

from turnledger.infrastructure.rows import Head

Stored = TypeVar("Stored")


def state_of(
    head: Head, form: int, read: Callable[[Any, int], Stored], from_events: Callable[[], Stored]
) -> Stored:
    """Read a head row's state; from the events, if it is of another form, or damaged.

    Args:
        head: The head row.
        form: The form of this release.
        read: Makes a state of the row's scalars and its epoch.
        from_events: Makes it of the stream's events.
    """
    if head.form != form:
        return from_events()
    try:
        return read(from_json(head.state), head.epoch)
    except (TypeError, ValueError, KeyError, OverflowError):
        return from_events()
