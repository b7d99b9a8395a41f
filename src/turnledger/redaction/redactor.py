"""What takes secrets out of a caller's arguments."""

from typing import Any

from pydantic_core import from_json, to_json

from turnledger.redaction.kinds import Kind
from turnledger.redaction.spans import spans, suspects, without


class SecretRedactor:
    """Puts `[redacted:kind]` in the place of well-known secrets, and leaves everything else.

    In strings at any depth, and in the keys of objects. Deterministic and idempotent; the time is
    linear in the size of the value. See docs/redaction.md for what is found.
    """

    def __call__(self, where: str, value: Any, /) -> Any:  # noqa: ARG002 - all are treated alike
        """Return a fresh value without the secrets that are found.

        Args:
            where: The argument's name.
            value: JSON, at most 100 levels deep. It can grow: what stands for a secret may be
                longer than it.
        """
        data = to_json(value)
        kinds = suspects(data.decode())
        copy = from_json(data)
        return _redacted(copy, kinds) if kinds else copy


def secrets() -> SecretRedactor:
    """What to give to `turnledger.open` as `redact`."""
    return SecretRedactor()


def _redacted(value: Any, kinds: tuple[Kind, ...], key: str = "") -> Any:
    if isinstance(value, str):
        return without(value, spans(value, kinds, key))
    if isinstance(value, list):
        return [_redacted(item, kinds) for item in value]
    if isinstance(value, dict):
        names = redacted_keys(value, kinds)
        return {names[key]: _redacted(item, kinds, key) for key, item in value.items()}
    return value


def redacted_keys(value: dict[str, Any], kinds: tuple[Kind, ...]) -> dict[str, str]:
    """What the keys of an object become. All stay apart, whatever order they stand in."""
    names = {key: without(key, spans(key, kinds)) for key in value}
    taken = {key for key, name in names.items() if key == name}
    for key in sorted(key for key, name in names.items() if key != name):
        name, number = names[key], 1
        while names[key] in taken:
            number += 1
            names[key] = f"{name}#{number}"
        taken.add(names[key])
    return names
