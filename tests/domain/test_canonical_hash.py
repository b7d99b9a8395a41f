"""What idempotency keys stand for: the hash of canonical JSON, RFC 8785, with integers in full."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from turnledger.domain.payload import canonical_hash

VECTORS = json.loads((Path(__file__).parent / "hash_vectors.json").read_text())
SAFE = 2**53 - 1
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
law = settings(derandomize=True, database=None, deadline=None, max_examples=100)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["json"])
def test_another_systems_hashes_come_out(vector: dict[str, str]) -> None:
    assert canonical_hash(json.loads(vector["json"])) == vector["sha256"]


def test_there_are_vectors() -> None:
    assert len(VECTORS) == 42


@pytest.mark.parametrize("number", [SAFE, SAFE + 1, 2**53 + 1, 2**64, 10**30, 10**4_299])
@pytest.mark.parametrize("sign", [1, -1])
def test_integers_are_written_in_full(number: int, sign: int) -> None:
    value, text = sign * number, str(sign * number)
    assert canonical_hash(value) == sha256(text)
    assert canonical_hash([value, "a"]) == sha256(f'[{text},"a"]')
    assert canonical_hash({"b": [value], "a": None}) == sha256(f'{{"a":null,"b":[{text}]}}')


def test_what_stands_beside_a_large_integer_is_as_rfc_8785_has_it() -> None:
    beside = {"\uffee": 1, "\U0001f600": -0.0, "e": [1e21, 1e-7, "\x00\u2028"], "t": [True, None]}
    value = {"n": 2**60, **beside}
    members = (
        '"e":[1e+21,1e-7,"\\u0000\u2028"]',
        f'"n":{2**60}',
        '"t":[true,null]',
        '"\U0001f600":0',
        '"\uffee":1',
    )
    assert canonical_hash(value) == sha256("{" + ",".join(members) + "}")


def test_neighbours_past_the_safe_integers_differ() -> None:
    assert canonical_hash(2**53) != canonical_hash(2**53 + 1)
    assert canonical_hash([2**64]) != canonical_hash([2**64 + 1])


FLAT = st.dictionaries(TEXT, st.integers(-(2**70), 2**70) | TEXT | st.booleans(), max_size=6)


@law
@given(FLAT)
def test_the_order_of_keys_does_not_matter(value: dict[str, Any]) -> None:
    backwards = dict(reversed(value.items()))
    assert canonical_hash(value) == canonical_hash(backwards)
    assert canonical_hash([{"k": value}]) == canonical_hash([{"k": backwards}])


@law
@given(FLAT, FLAT)
def test_other_content_has_another_hash(one: dict[str, Any], other: dict[str, Any]) -> None:
    same = canonical_hash(one) == canonical_hash(other)
    assert same == (sorted(map(repr, one.items())) == sorted(map(repr, other.items())))


def test_the_command_is_part_of_the_content() -> None:
    arguments = {"thread_id": "thread", "submission": {}}
    assert canonical_hash(["append", arguments]) == canonical_hash(["append", dict(arguments)])
    assert canonical_hash(["append", arguments]) != canonical_hash(["append_many", arguments])
    assert canonical_hash(["append", arguments]) != canonical_hash(
        ["append", {**arguments, "n": 1}]
    )
