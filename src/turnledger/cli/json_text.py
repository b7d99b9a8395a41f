"""JSON as it is typed, and JSON as it is answered.

Read strictly: no NaN, no key twice, integers exact. Written so that every reader can take it: one
document, UTF-8, times as ISO 8601 in UTC, and nothing in it that a terminal would obey.
"""

import dataclasses
import json
import math
import re
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from pydantic import BaseModel

from turnledger.cli.plain_text import squeezed
from turnledger.domain.errors import InvalidPayload
from turnledger.domain.payload import MAX_DEPTH, MAX_INTEGER_DIGITS

_ESCAPED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def parse(name: str, text: str) -> object:
    """Read a JSON value.

    Args:
        name: What it is, for the message.
        text: The JSON text.

    Raises:
        InvalidPayload: It isn't JSON, or not only one way of reading it exists.
    """
    try:
        value: object = json.loads(
            text,
            parse_constant=_no_constant,
            parse_int=_exact,
            parse_float=_finite,
            object_pairs_hook=_no_key_twice,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidPayload(name, f"isn't JSON: {error.msg} at {place}") from error
    except RecursionError as error:
        raise InvalidPayload(name, f"is nested past {MAX_DEPTH} levels") from error
    except ValueError as error:
        raise InvalidPayload(name, str(error)) from error
    return value


def _no_constant(word: str) -> NoReturn:
    msg = f"holds {word}, which JSON doesn't have"
    raise ValueError(msg)


def _exact(digits: str) -> int:
    if len(digits.removeprefix("-")) > MAX_INTEGER_DIGITS:
        msg = f"holds an integer of more than {MAX_INTEGER_DIGITS:,} digits"
        raise ValueError(msg)
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        msg = f"holds {digits[:40]}, which is too large for a number with a fraction or exponent"
        raise ValueError(msg)
    return number


def _no_key_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        msg = f"holds the key {json.dumps(twice)} twice in one object"
        raise ValueError(msg)
    return found


def written(value: object, *, indent: int | None = None) -> str:
    """A value as one JSON document.

    Args:
        value: JSON, or what comes back from turnledger, also inside each other.
        indent: Blanks for each level; None writes a single line.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=_as_json)
    if text.isascii() and "\x7f" not in text:
        return text
    return _ESCAPED.sub(_escape, _SURROGATES.sub("\ufffd", text))


def compact(value: object) -> str:
    """A JSON value on one line without blanks, to be shown to a person."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_as_json)


def _escape(found: re.Match[str]) -> str:
    """The same character as JSON escapes it; it can only stand inside a string."""
    return f"\\u{ord(found[0]):04x}"


def _as_json(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value)


def short(value: object) -> str:
    """A value on one line, as it is shown to people: text without its quotes, nothing for null."""
    match value:
        case None:
            return ""
        case str() as text:
            return squeezed(text)
        case other:
            return squeezed(compact(other))
