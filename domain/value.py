"""Values that are made for every command, and therefore quickly."""

from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

Kind = TypeVar("Kind")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def value(kind: type[Kind]) -> type[Kind]:
    """Make a dataclass of keyword arguments that is frozen for the type checkers alone.

    One that is frozen at run time sets its fields by a call each: three times as slow.
    """
    return dataclass(slots=True, kw_only=True)(kind)


def made(kind: type[Kind], **fields: Any) -> Kind:
    """A value with these fields, the others at their defaults.

    A frozen dataclass's own constructor sets field by field, which takes 8 µs for a queued turn.
    """
    value = object.__new__(kind)
    value.__dict__.update(fields)
    return value
