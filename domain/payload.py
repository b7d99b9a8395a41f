"""Payloads: JSON that comes back as it went in, and text that settles something.

A payload is checked by a round trip: what isn't equal after writing and reading it as JSON isn't
JSON (a tuple, a key that is no string, NaN). Only a failed check walks the value, to say where.
"""

import hashlib
import json
import math
import re
from typing import Any

import rfc8785
from pydantic_core import SchemaValidator, from_json, to_json
from pydantic_core.core_schema import typed_dict_schema

from turnledger.domain.errors import InvalidPayload, PayloadTooLarge

MAX_DEPTH = 100
MAX_INTEGER_DIGITS = 4_300
MAX_REPR_CHARACTERS = 10_000
_SAFE_INTEGER = 2**53 - 1  # RFC 8785 knows no larger ones
_NO_UTF_8 = "holds a lone surrogate"
_LARGEST_INTEGER = 10**MAX_INTEGER_DIGITS
_OBJECT = SchemaValidator(typed_dict_schema({}, extra_behavior="ignore"))
_SURROGATE = re.compile("[\ud800-\udfff]")


def encode(value: Any) -> str:
    """Write a value that is known to be JSON, as compact text in its own key order."""
    return to_json(value).decode()


def decode(text: str | bytes) -> Any:
    """Read JSON text.

    Raises:
        ValueError: It isn't JSON.
    """
    try:
        return from_json(text, allow_inf_nan=False)
    except TypeError as error:
        if not isinstance(text, str):
            raise
        raise ValueError(_NO_UTF_8) from error  # such bytes are read with lone surrogates


def is_json(text: str) -> bool:
    """Whether `decode` could read it; of an object this is known much sooner.

    All of the text is parsed, but no Python objects are made of it.
    """
    if "NaN" not in text and "Infinity" not in text:  # which the quick way takes for numbers
        try:
            _OBJECT.validate_json(text)
        except (ValueError, TypeError):
            pass  # it may still be a list, say
        else:
            return True
    try:
        decode(text)
    except ValueError:
        return False
    return True


def check_payload(name: str, value: Any, limit: int) -> Any:
    """Return a fresh copy of a JSON value.

    Args:
        name: What it is, for the message.
        value: Any JSON value, at most 100 levels deep.
        limit: The largest allowed size in bytes of compact UTF-8.

    Raises:
        InvalidPayload: It isn't JSON; the message says where.
        PayloadTooLarge: It is past the limit.
    """
    try:
        data = to_json(value, inf_nan_mode="null")
        copy = from_json(data)
        same = bool(copy == value)
    except Exception:  # noqa: BLE001 - also what a value's own methods raise
        same, data, copy = False, b"", None
    if not same:
        raise InvalidPayload(name, _first_fault(value) or "is not JSON")
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and (fault := _first_fault(copy)):
        raise InvalidPayload(name, fault)
    if len(data) > limit:
        raise PayloadTooLarge(name, len(data), limit)
    return copy


def check_object(name: str, value: Any, limit: int) -> dict[str, Any]:
    """Return a fresh copy of a JSON object; see `check_payload`."""
    if not isinstance(value, dict):
        raise InvalidPayload(name, f"must be a JSON object, not {type(value).__name__}")
    copy: dict[str, Any] = check_payload(name, value, limit)
    return copy


def settle(name: str, value: Any, limit: int) -> tuple[Any, bool]:
    """Make a value storable that settles something, so that it never blocks the settling.

    Lone surrogates become U+FFFD; what isn't JSON becomes its repr, at most 10,000 characters.

    Returns:
        The value, and whether it was altered.

    Raises:
        PayloadTooLarge: It is past the limit, so answer with a reference instead.
    """
    try:
        return check_payload(name, value, limit), False
    except InvalidPayload:
        pass
    try:
        return check_payload(name, _without_surrogates(value), limit), True
    except PayloadTooLarge:
        raise
    except Exception:  # noqa: BLE001 - whatever it is, it must not block the settling
        return _SURROGATE.sub("\ufffd", shown(value)), True


def settle_text(name: str, value: object, limit: int) -> tuple[str, bool]:
    """Likewise text that says why or who; never refused for its characters."""
    if isinstance(value, str):
        text, altered = settle(name, value, limit)
        return str(text), altered
    return settle_text(name, shown(value), limit)[0], True


def canonical_hash(value: Any) -> str:
    """Return the SHA-256, in hex, of a value's canonical JSON.

    Canonical as in RFC 8785; integers past ±(2^53 - 1), which it leaves out, are written in full.
    """
    return hashlib.sha256(canonical(value)).hexdigest()


def canonical(value: Any) -> bytes:
    """A value's canonical JSON."""
    try:
        return rfc8785.dumps(value)
    except rfc8785.IntegerDomainError:
        return _canonical_in_full(value)


def _canonical_in_full(value: Any) -> bytes:
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        pairs = (rfc8785.dumps(key) + b":" + canonical(value[key]) for key in keys)
        return b"{" + b",".join(pairs) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(canonical, value)) + b"]"
    return json.dumps(value).encode()


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        mended = {_without_surrogates(key): _without_surrogates(v) for key, v in value.items()}
        if len(mended) < len(value):
            raise InvalidPayload("a key", "would take the place of another one")
        return mended
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value


def shown(value: Any) -> str:
    """A value's repr, at most 10,000 characters of it; never an exception."""
    try:
        text = repr(value)
    except Exception as error:  # noqa: BLE001 - a repr that fails must not block the settling
        text = f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    return text[:MAX_REPR_CHARACTERS]


def _first_fault(value: Any, path: str = "$", depth: int = 1) -> str | None:
    if isinstance(value, dict | list):
        return _fault_inside(value, path, depth)
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str):
        return f"holds a lone surrogate at {path}" if _SURROGATE.search(value) else None
    if isinstance(value, int):
        too_long = abs(value) >= _LARGEST_INTEGER
        return f"has more than {MAX_INTEGER_DIGITS} digits at {path}" if too_long else None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"is {value} at {path}, which JSON doesn't have"
    return f"holds a {type(value).__name__} at {path}, which JSON doesn't have"


def _fault_inside(value: dict[Any, Any] | list[Any], path: str, depth: int) -> str | None:
    if depth > MAX_DEPTH:
        return f"is nested past {MAX_DEPTH} levels"
    if isinstance(value, list):
        faults = (_first_fault(v, f"{path}[{i}]", depth + 1) for i, v in enumerate(value))
        return next(filter(None, faults), None)
    for key, item in value.items():
        if not isinstance(key, str):
            return f"has a key of type {type(key).__name__} at {path}; keys must be text"
        if _SURROGATE.search(key):
            return f"has a key with a lone surrogate at {path}"
        if fault := _first_fault(item, f"{path}.{key}", depth + 1):
            return fault
    return None
