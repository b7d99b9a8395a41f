"""Rule 8: what a submission may be, and that it comes out as it went in."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from turnledger import InvalidPayload, PayloadTooLarge

if TYPE_CHECKING:
    from tests.conformance.conftest import Host, Store
    from turnledger import Ledger

MEBIBYTE = 1024 * 1024
ALL_OF_UNICODE = [*range(0xD800), *range(0xE000, 0x110000)]


def nested(levels: int, *, lists: bool = False) -> dict[str, Any]:
    """An object of so many levels: {} is level 1."""
    value: Any = [] if lists else {}
    for _ in range(levels - 2):
        value = [value] if lists else {"a": value}
    return {"a": value}


def endless() -> dict[str, Any]:
    """An object that holds itself."""
    value: dict[str, Any] = {}
    value["self"] = value
    return value


GOOD: dict[str, dict[str, Any]] = {
    "empty": {},
    "empty containers": {"object": {}, "list": [], "lists": [[], [[]], {}], "text": ""},
    "constants": {"true": True, "false": False, "null": None},
    "numbers": {"numbers": [0, -1, 1.5, -0.5, 1e300, 5e-324, 1.7976931348623157e308, 0.1]},
    "integers at 2^53": {"n": [2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63, 2**64 + 1]},
    "4,300 digits": {"n": 10**4299, "negative": -(10**4299), "nines": 10**4300 - 1},
    "null characters": {"a\0b": "\0", "\0": ["\0\0", {"\0c": "d\0"}]},
    "control characters": {"".join(map(chr, range(32))): "\x7f\x80\x9f\u2028\u2029\ufeff"},
    "Unicode": {"é": "e\u0301", "😀": "𝄞", "\ufffd": "\uffff", "\U0010ffff": "\ue000"},
    "escapes": {'"': "\\", "\\u0000": "\\n\n", "/": "<script>&amp;</script>"},
    "empty key": {"": {"": ""}},
    "an object of 100 levels": nested(100),
    "lists of 100 levels": nested(100, lists=True),
    "words of other languages": {"__proto__": 1, "constructor": 2, "$event": "x", "$ref": "#"},
    "looks like metadata": {"queued_turn_id": {"$event": "queued_turn_id"}},
}


@pytest.mark.parametrize("good", GOOD.values(), ids=GOOD.keys())
def test_what_went_in_comes_out_equal(ledger: Ledger, good: dict[str, Any]) -> None:
    queue = ledger.queue
    turn = queue.append("thread", good)
    edited = queue.append("thread", {}).queued_turn_id
    queue.edit("thread", edited, good)
    listed = [one.submission for one in queue.list("thread")]
    claim = queue.claim_head("thread", "worker")
    assert claim is not None
    queue.start_dispatch(claim, "dispatch")
    queue.ack(claim)
    known = queue.get("thread", turn.queued_turn_id)
    assert known is not None
    assert [turn.submission, *listed, claim.submission, known.submission] == [good] * 5


def test_numbers_keep_their_kind(ledger: Ledger) -> None:
    ledger.queue.append("thread", {"n": [1, 1.0, True, 0, 0.0, False, 2.0**60]})
    [turn] = ledger.queue.list("thread")
    assert turn.submission is not None
    kinds = [type(one) for one in turn.submission["n"]]
    assert kinds == [int, float, bool, int, float, bool, float]


def test_every_character_comes_out(ledger: Ledger) -> None:
    for start in range(0, len(ALL_OF_UNICODE), 100_000):
        text = "".join(map(chr, ALL_OF_UNICODE[start : start + 100_000]))
        [turn] = ledger.queue.append_many("thread", [{"text": text, text: 1}])
        known = ledger.queue.get("thread", turn.queued_turn_id)
        assert known is not None
        assert known.submission == {"text": text, text: 1}


def test_keys_keep_their_order(ledger: Ledger) -> None:
    given = {"z": 1, "a": 2, "10": 3, "9": 4, "é": 5, "Z": {"y": 1, "x": 2}}
    ledger.queue.append("thread", given)
    [turn] = ledger.queue.list("thread")
    claim = ledger.queue.claim_head("thread", "worker")
    assert claim is not None
    for submission in (turn.submission, claim.submission):
        assert json.dumps(submission) == json.dumps(given)


BAD: dict[str, Callable[[], Any]] = {
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "minus infinity": lambda: float("-inf"),
    "a high surrogate": lambda: "a\ud800",
    "a low surrogate": lambda: "\udc00b",
    "a split pair": lambda: "\ud83d\ude00",
    "a key with a surrogate": lambda: {"\ud800": 1},
    "4,301 digits": lambda: 10**4300,
    "minus 4,301 digits": lambda: -(10**4300),
    "100,000 digits": lambda: 10**100_000,
    "a tuple": lambda: (1, 2),
    "an empty tuple": tuple,
    "a set": lambda: {1},
    "a frozenset": frozenset,
    "bytes": lambda: b"bytes",
    "a bytearray": bytearray,
    "a datetime": lambda: datetime(2026, 1, 5, tzinfo=UTC),
    "a date": lambda: date(2026, 1, 5),
    "a decimal": lambda: Decimal(1),
    "a complex number": lambda: 1j,
    "a UUID": lambda: UUID(int=0),
    "an object": object,
    "a class": lambda: Enum,
    "a function": lambda: len,
    "an iterator": lambda: iter([]),
    "a range": lambda: range(3),
    "an exception": lambda: ValueError("no"),
    "a number as key": lambda: {1: "one"},
    "None as key": lambda: {None: "none"},
    "a boolean as key": lambda: {True: "true"},
    "bytes as key": lambda: {b"key": 1},
    "a tuple as key": lambda: {(1, 2): 1},
    "100 levels inside": lambda: nested(100),
    "100 levels of lists inside": lambda: nested(100, lists=True),
    "100,000 levels": lambda: nested(100_000),
    "100,000 levels of lists": lambda: nested(100_000, lists=True),
    "an endless object": endless,
}


@pytest.mark.parametrize("make", BAD.values(), ids=BAD.keys())
def test_what_isnt_json_is_refused_wherever_it_stands(
    host: Host, store: Store, make: Callable[[], Any]
) -> None:
    [waiting] = host.append("only")
    before, queue, bad = store.events(), host.ledger.queue, make()
    for submission in ({"a": bad}, {"a": [1, bad]}, {"a": {"b": bad}}):
        with pytest.raises(InvalidPayload):
            queue.append("thread", submission)
        with pytest.raises(InvalidPayload):
            queue.append("thread", submission, idempotency_key="key")
        with pytest.raises(InvalidPayload):
            queue.append_many("thread", [{}, submission])
        with pytest.raises(InvalidPayload):
            queue.edit("thread", waiting, submission)
    assert store.events() == before


@pytest.mark.parametrize("bad", [None, [], [{}], "text", "{}", 1, True, (), b"{}", object()])
def test_a_submission_that_is_no_object_is_refused(host: Host, store: Store, bad: Any) -> None:
    [waiting] = host.append("only")
    before, queue = store.events(), host.ledger.queue
    with pytest.raises(InvalidPayload):
        queue.append("thread", bad)
    with pytest.raises(InvalidPayload):
        queue.append_many("thread", [bad])
    with pytest.raises(InvalidPayload):
        queue.edit("thread", waiting, bad)
    assert store.events() == before


def test_the_hundred_and_first_level_is_refused(ledger: Ledger, store: Store) -> None:
    for lists in (False, True):
        with pytest.raises(InvalidPayload):
            ledger.queue.append("thread", nested(101, lists=lists))
    assert store.events() == []


def filled(size: int, character: str = "x", width: int = 1) -> dict[str, Any]:
    """An object that is so many bytes of compact JSON in UTF-8: {"t":"…"}."""
    count, rest = divmod(size - 8, width)
    return {"t": character * count + "x" * rest}


WIDTHS = {"x": 1, "é": 2, "€": 3, "😀": 4, '"': 2, "\n": 2, "\0": 6}


@pytest.mark.parametrize(("character", "width"), WIDTHS.items())
def test_a_mebibyte_is_taken_and_a_byte_more_is_refused(
    ledger: Ledger, store: Store, character: str, width: int
) -> None:
    largest = filled(MEBIBYTE, character, width)
    turn = ledger.queue.append("thread", largest)
    assert turn.submission == largest
    before = len(store.events())
    with pytest.raises(PayloadTooLarge) as refusal:
        ledger.queue.append("thread", filled(MEBIBYTE + 1, character, width))
    assert (refusal.value.size, refusal.value.limit) == (MEBIBYTE + 1, MEBIBYTE)
    with pytest.raises(PayloadTooLarge):
        ledger.queue.edit("thread", turn.queued_turn_id, filled(MEBIBYTE + 1, character, width))
    assert len(store.events()) == before


def test_size_is_that_of_compact_json(open_ledger: Callable[..., Ledger]) -> None:
    exact = {"a": [1, 2.5, None], "b": {"c": True}}
    size = len('{"a":[1,2.5,null],"b":{"c":true}}')
    queue = open_ledger(max_payload_bytes=size).queue
    queue.append("thread", exact)
    with pytest.raises(PayloadTooLarge):
        queue.append("thread", {**exact, "b": {"c": False}})
