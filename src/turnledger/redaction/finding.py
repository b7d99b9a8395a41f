"""Where secrets stand in a value: for looking through what was stored already."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from turnledger.redaction.kinds import Kind
from turnledger.redaction.redactor import redacted_keys
from turnledger.redaction.spans import spans, suspects


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A secret that was found, without the secret.

    Attributes:
        kind: As in `[redacted:kind]`.
        path: Of the string that holds it: `$`, `$.key`, `$.items[0]`. Keys stand in it as they
            would after redaction.
        start: Of the secret in that string, in characters.
        end: Where it is over; not part of it.
        in_key: Whether it is the key at the end of the path that holds it, not the value.
    """

    kind: str
    path: str
    start: int
    end: int
    in_key: bool = False


def find(value: Any) -> list[Finding]:
    """Find what `SecretRedactor` would take out.

    Args:
        value: Any JSON value.

    Returns:
        The findings, in the order of the value. Two secrets that overlap are one.
    """
    kinds = suspects(to_json(value).decode())
    return list(_found(value, kinds, "$")) if kinds else []


def _found(value: Any, kinds: tuple[Kind, ...], path: str, key: str = "") -> Iterator[Finding]:
    if isinstance(value, str):
        for start, end, kind in spans(value, kinds, key):
            yield Finding(kind=kind, path=path, start=start, end=end)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _found(item, kinds, f"{path}[{index}]")
    elif isinstance(value, dict):
        yield from _found_in_object(value, kinds, path)


def _found_in_object(
    value: dict[str, Any], kinds: tuple[Kind, ...], path: str
) -> Iterator[Finding]:
    names = redacted_keys(value, kinds)
    for key, item in value.items():
        inner = f"{path}.{names[key]}"
        for start, end, kind in spans(key, kinds):
            yield Finding(kind=kind, path=inner, start=start, end=end, in_key=True)
        yield from _found(item, kinds, inner, key)
