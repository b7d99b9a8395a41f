"""Payloads: JSON that comes back as it went in, or is refused with the place of its fault."""

from __future__ import annotations

import math
from collections import namedtuple
from datetime import UTC, datetime
from decimal import Decimal
from itertools import accumulate
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from turnledger.domain.errors import InvalidPayload, PayloadTooLarge
from turnledger.domain.payload import check_object, check_payload, decode, encode, is_json, settle

MEBIBYTE = 1024 * 1024
LARGEST = 10**4_300 - 1
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5)
)
law = settings(derandomize=True, database=None, deadline=None, max_examples=120)


def nested(levels: int, *, kind: str = "both") -> Any:
    """A value of so many levels; `{}` is one."""
    value: Any = [] if kind == "lists" else {}
    for level in range(1, levels):
        as_list = kind == "lists" or (kind == "both" and level % 2 == 1)
        value = [value] if as_list else {"k": value}
    return value


@law
@given(JSON)
@example(-0.0)
@example(0.0)
@example(5e-324)
@example(1e308)
@example(1.7976931348623157e308)
@example(1e16)
@example(1.0)
@example(1)
@example([True, False, None])
@example(2**53 + 1)
@example(-(2**63) - 1)
@example(2**64)
@example(LARGEST)
@example(-LARGEST)
@example("\x00")
@example({"\x00": "\x00", "": ""})
@example("\u2028\u2029\x7f\ufeff\uffff\U0010ffff")
@example({"b": 1, "a": 2, "10": 3, "9": 4})
@example([[], {}, [[]], {"": {}}])
def test_what_goes_in_comes_out_equal_and_of_the_same_types(value: Any) -> None:
    copy = check_payload("value", value, 10 * MEBIBYTE)
    assert repr(copy) == repr(value)  # unlike ==, it tells 1 from 1.0, 0.0 from -0.0, and key order
    assert repr(decode(encode(copy))) == repr(value)


@law
@given(JSON)
def test_what_comes_out_is_a_copy(value: Any) -> None:
    copy = check_payload("value", [value, {"k": value}], 10 * MEBIBYTE)
    words = repr(value)
    copy[1]["k"] = copy[0] = None
    if isinstance(value, list | dict):
        again = check_payload("value", value, 10 * MEBIBYTE)
        assert again is not value
        again.clear()
    assert repr(value) == words


@pytest.mark.parametrize("kind", ["lists", "objects", "both"])
def test_a_hundred_levels_are_allowed(kind: str) -> None:
    value = nested(100, kind=kind)
    assert check_payload("value", value, MEBIBYTE) == value


@pytest.mark.parametrize("kind", ["lists", "objects", "both"])
@pytest.mark.parametrize("levels", [101, 200, 250, 256, 300, 100_000])
def test_a_hundred_and_one_levels_are_not(kind: str, levels: int) -> None:
    with pytest.raises(InvalidPayload, match="nested past 100 levels"):
        check_payload("value", nested(levels, kind=kind), MEBIBYTE)


def test_only_the_deepest_place_counts() -> None:
    wide = [nested(99) for _ in range(50)]
    assert check_payload("value", wide, MEBIBYTE) == wide
    text = ["[{" * 200]
    assert check_payload("value", text, MEBIBYTE) == text


def test_a_value_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InvalidPayload):
        check_payload("value", endless, MEBIBYTE)


@pytest.mark.parametrize("sign", [1, -1])
def test_integers_have_at_most_4300_digits(sign: int) -> None:
    assert check_payload("value", [sign * LARGEST], MEBIBYTE) == [sign * LARGEST]
    for too_long in (LARGEST + 1, 10**5_000):
        with pytest.raises(InvalidPayload, match=r"4300 digits at \$\[0\]"):
            check_payload("value", [sign * too_long], MEBIBYTE)


Pair = namedtuple("Pair", "left right")  # noqa: PYI024 - a tuple of any kind isn't JSON


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        "\ud800",
        "a\udfffb",
        (),
        (1, 2),
        Pair(1, 2),
        {1, 2},
        b"bytes",
        bytearray(b"bytes"),
        Decimal("1.5"),
        datetime(2026, 1, 5, tzinfo=UTC),
        object(),
        len,
        1j,
        range(3),
        {1: "a"},
        {None: "a"},
        {True: "a"},
        {1.5: "a"},
        {("a",): "a"},
        {b"a": "a"},
        {"\ud800": "a"},
        {1: "a", "1": "b"},
    ],
    ids=lambda value: repr(value).split(" at 0x")[0],
)
@pytest.mark.parametrize("inside", [False, True])
def test_what_is_not_json_is_refused(value: Any, inside: bool) -> None:  # noqa: FBT001
    with pytest.raises(InvalidPayload) as refused:
        check_payload("value", {"k": [None, value]} if inside else value, MEBIBYTE)
    place = "$.k[1]" if inside else "$"
    assert place in str(refused.value)
    assert refused.value.name == "value"


def test_the_fault_is_named_with_its_place() -> None:
    with pytest.raises(InvalidPayload, match=r"value is nan at \$\.a\[1\]\.b"):
        check_payload("value", {"a": [0, {"b": math.nan}]}, MEBIBYTE)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({}, 2),
        ({"a": [1, 2]}, 11),
        ({"text": "\u00e9"}, 13),
        ({"text": "\U0001f600"}, 15),
        ({"text": "\u4e2d\u6587"}, 17),
        ({"text": "\n"}, 13),
    ],
)
def test_size_is_counted_as_compact_utf8(value: Any, size: int) -> None:
    assert len(encode(value).encode()) == size
    assert check_payload("value", value, size) == value
    with pytest.raises(PayloadTooLarge) as refused:
        check_payload("value", value, size - 1)
    assert (refused.value.size, refused.value.limit) == (size, size - 1)


@pytest.mark.parametrize("value", [[], "text", 1, None, True, [{}]])
def test_a_submission_is_an_object(value: Any) -> None:
    with pytest.raises(InvalidPayload, match="must be a JSON object"):
        check_object("submission", value, MEBIBYTE)


def test_an_empty_object_is_an_object() -> None:
    assert check_object("submission", {}, MEBIBYTE) == {}


@law
@given(JSON)
def test_what_settles_is_kept_as_it_is_if_it_is_json(value: Any) -> None:
    kept, altered = settle("value", value, 10 * MEBIBYTE)
    assert (repr(kept), altered) == (repr(value), False)


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("a\ud800b", "a\ufffdb"),
        ({"\udc00": ["\ud800", 1]}, {"\ufffd": ["\ufffd", 1]}),
        (ValueError("no"), "ValueError('no')"),
        ({"k": math.nan}, "{'k': nan}"),
        ((1, "\ud800"), "(1, '\\ud800')"),
        (b"bytes", "b'bytes'"),
    ],
)
def test_what_is_not_json_never_blocks_the_settling(value: Any, kept: Any) -> None:
    assert settle("value", value, MEBIBYTE) == (kept, True)


class Sour:
    """What can't even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError


class Odd:
    """What shows itself as text that can't be stored."""

    def __repr__(self) -> str:
        return "\ud800odd"


class Long:
    """What shows itself at length."""

    def __repr__(self) -> str:
        return "x" * 10_001


WHATEVER = (Sour(), Odd(), Long(), nested(5_000), 10**5_000)


@pytest.mark.parametrize("value", WHATEVER, ids=[type(one).__name__ for one in WHATEVER])
def test_whatever_it_is_at_most_ten_thousand_characters_are_kept(value: Any) -> None:
    kept, altered = settle("value", value, MEBIBYTE)
    assert altered
    assert isinstance(kept, str)
    assert len(kept) <= 10_000
    assert check_payload("value", kept, MEBIBYTE) == kept


def test_two_keys_that_become_one_lose_nothing() -> None:
    kept, altered = settle("value", {"\ud800": 1} | {"\udc00": 2}, MEBIBYTE)
    assert altered
    assert "1" in str(kept)
    assert "2" in str(kept)


def test_what_settles_has_a_limit_too() -> None:
    with pytest.raises(PayloadTooLarge):
        settle("value", "x" * 99, 100)
    assert settle("value", "x" * 98, 100) == ("x" * 98, False)
    with pytest.raises(PayloadTooLarge):
        settle("value", "\ud800" + "x" * 99, 100)


def test_every_size_up_to_the_limit_fits() -> None:
    for size in accumulate([2, 1, 1, 61, 35]):
        text = "x" * (size - 2)
        assert settle("value", text, size) == (text, False)


@law
@given(st.one_of(TEXT, JSON.map(encode), st.dictionaries(TEXT, JSON).map(encode)))
@example("")
@example("[1, NaN]")
@example('{"a": NaN}')
@example('{"a": -Infinity}')
@example('{"a": "NaN"}')
@example('{"a": "\\ud800"}')
@example('{"a": 1, "a": 2}')
@example('{"a": 1}{"b": 2}')
@example("[" * 300 + "]" * 300)
@example('{"a":' * 300 + "1" + "}" * 300)
@example('{"a": ' + "9" * 4_301 + "}")
@example("\udc80")
def test_json_is_what_can_be_read(text: str) -> None:
    try:
        decode(text)
        readable = True
    except ValueError:
        readable = False
    assert is_json(text) is readable
