"""What holds for whatever comes: once is enough, and nothing is left."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.redaction.samples import SECRETS, TOKENS
from turnledger.domain.payload import canonical_hash
from turnledger.redaction import find, secrets
from turnledger.redaction.kinds import KINDS

redact = secrets()
law = settings(derandomize=True, database=None, deadline=None, max_examples=150)

SEAMS = [
    *("", " ", "\n", "\\n", "-", "_", "/", "+", "=", ":", "@", ".", "[", "]", '"', "#", ": "),
    *("://", "://u:", "@host", "-----", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----"),
    *(
        "secret_key",
        "secret_key=",
        "Authorization",
        "Authorization: Bearer ",
        "Bearer ",
        "é",
        "\x1b[",
    ),
    *("[redacted:", "[redacted:jwt]", "0m", "A", "a1B2c3D4e5F6g7H8" * 3),
]
PIECES = [
    *SEAMS,
    *(hint for kind in KINDS for hint in kind.hints),
    *(before + secret + after for _, before, secret, after in SECRETS if len(secret) < 600),
    *(secret[: len(secret) // 2] for every in TOKENS.values() for secret in every),
    *(secret[len(secret) // 2 :] for every in TOKENS.values() for secret in every),
]
TEXT = (
    st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=8)
    .map("".join)
    .map(lambda text: text.encode(errors="replace").decode())
)
JSON = st.recursive(
    TEXT | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, width=32),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
).filter(lambda value: "inf" not in repr(value))


def shape(value: Any) -> Any:
    """A value without its strings."""
    if isinstance(value, dict):
        return [shape(item) for item in value.values()]
    if isinstance(value, list):
        return [shape(item) for item in value]
    return str if isinstance(value, str) else (type(value), value)


@law
@given(TEXT)
def test_a_text_that_was_redacted_holds_no_secret_and_stays(text: str) -> None:
    clean = redact("message", text)
    assert find(clean) == []
    assert redact("message", clean) == clean


@law
@given(JSON)
def test_a_value_that_was_redacted_holds_no_secret_stays_and_has_its_shape(value: Any) -> None:
    clean = redact("content", value)
    assert find(clean) == []
    assert redact("content", clean) == clean
    assert shape(clean) == shape(value)


@law
@given(JSON)
def test_something_is_redacted_exactly_if_something_is_found(value: Any) -> None:
    assert (redact("content", value) != value) == bool(find(value))


@law
@given(st.dictionaries(TEXT, TEXT, max_size=6))
def test_the_order_of_keys_makes_no_difference(value: dict[str, str]) -> None:
    other = dict(reversed(value.items()))
    assert canonical_hash(redact("content", value)) == canonical_hash(redact("content", other))
