"""Secrets are taken out of what is stored, and nothing else is touched."""

from __future__ import annotations

import base64
import random
import uuid
from typing import Any

import pytest

from tests.redaction.samples import SECRETS, TOKENS, chance, jwt, pem
from turnledger.domain.payload import MAX_DEPTH, check_payload
from turnledger.redaction import Finding, SecretRedactor, find, secrets
from turnledger.redaction.kinds import KINDS

redact = secrets()
GITHUB = TOKENS["github-token"][0]
MEBIBYTE = 1024 * 1024
BLOB = random.Random(11).randbytes(3 * MEBIBYTE // 4)


def redacted(text: str) -> Any:
    return redact("message", text)


@pytest.mark.parametrize(("kind", "before", "secret", "after"), SECRETS)
def test_a_secret_is_named_and_the_text_around_it_stays(
    kind: str, before: str, secret: str, after: str
) -> None:
    assert redacted(f"{before}{secret}{after}") == f"{before}[redacted:{kind}]{after}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("use ", ", please"),
        ("KEY=", "\nNEXT=1"),
        ('{"key": "', '"}'),
        ("(", ")"),
        ("line\\n", "\\nline"),
        ("\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"),
        ("\x1b[32m", "\x1b[0m"),
        ("für ", " …"),
    ],
)
@pytest.mark.parametrize(("kind", "secret"), [(kind, every[0]) for kind, every in TOKENS.items()])
def test_a_token_is_found_wherever_it_stands_in_a_text(
    kind: str, secret: str, before: str, after: str
) -> None:
    assert redacted(f"{before}{secret}{after}") == f"{before}[redacted:{kind}]{after}"


def test_every_kind_that_is_known_has_an_example() -> None:
    assert {kind for kind, *_ in SECRETS} == {kind.name for kind in KINDS}


@pytest.mark.parametrize(
    "text",
    [
        "4f09f7ab06d446b226e0cf846f2b02a91a156d49",
        "commit 4f09f7ab06d446b226e0cf846f2b02a91a156d49 by somebody",
        "sha256:" + "0123456789abcdef" * 4,
        "task-4f09f7ab06d446b226e0cf846f2b02a91a156d49",
        "risk-A1b2C3d4E5f6G7h8I9j0K1l2M3n4",
        "0193f1a2-7c11-7e5a-8a3b-2f6d7c8e9f10",
        "keys begin with sk- and tokens with ghp_, xoxb- or AKIA; sk-... is a placeholder",
        "sk-proj-settings-page-redesign-for-2026-q4-and-later",
        "sk-SK",
        "the disk-usage of desk-booking",
        "xoxo-hugs-and-kisses-from-all-of-us",
        "npm_config_registry and npm_package_name_with_a_long_name_of_its_own",
        "ghp_this_is_a_name_in_a_program_and_no_token_at_all",
        "hf_hub_download",
        "the bearer of this letter, a bearer token, Bearer authentication",
        "authorization: token validation, then Authorization: Basic authentication",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "the secret key is kept elsewhere; secret_key = os.environ['KEY']",
        "session token: expired",
        "https://example.com:8443/a@b?c=d:e@f",
        "https://someone@git.example/a.git",
        "postgresql://app@db.example/agents",
        "postgresql://app:***@db.example/agents",
        "https://me:${PASSWORD}@host and https://me:$PASSWORD@host and ://me:{password}@host",
        "http://[::1]:8080/@",
        "git@github.com:somebody/something.git",
        "look for '-----BEGIN PRIVATE KEY-----' in the repository",
        "-----BEGIN PUBLIC KEY-----\n" + "MIIB" * 16 + "\n-----END PUBLIC KEY-----",
        "-----BEGIN PRIVATE KEY-----[...]-----END PRIVATE KEY-----",
        "eyJ is how a token begins; eyJhbGciOiJIUzI1NiJ9 alone is a header",
        "a.b.c and 1.2.3 and example.com",
        "ASIA PACIFIC, ASIAN, AKIA",
        "[redacted:github-token] and [redacted:url-password]@host",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redacted(text) == text
    assert find(text) == []


def test_names_that_the_ledger_gives_stay() -> None:
    ids = [f"{name}-{uuid.UUID(int=n)}" for name in ("turn", "task", "dispatch") for n in range(99)]
    assert redact("content", ids) == ids


@pytest.mark.parametrize("encode", [base64.b64encode, base64.encodebytes, base64.urlsafe_b64encode])
def test_a_picture_in_base64_stays(encode: Any) -> None:
    picture = "data:image/png;base64," + encode(BLOB).decode()
    assert redacted(picture) == picture


def test_secrets_are_found_at_any_depth_and_in_keys_and_nothing_else_changes() -> None:
    value = {
        "n": [1, -0.5, 2**80, True, False, None, ""],
        "deep": [{"text": f"use {GITHUB}!"}],
        f"key {GITHUB}": {"": "kept"},
    }
    assert redact("submission", value) == {
        "n": [1, -0.5, 2**80, True, False, None, ""],
        "deep": [{"text": "use [redacted:github-token]!"}],
        "key [redacted:github-token]": {"": "kept"},
    }


def test_the_key_of_an_object_may_say_that_its_value_is_a_secret() -> None:
    value = {
        "aws_secret_access_key": chance(40),
        "SecretAccessKey": chance(40),
        "Authorization": "Bearer " + chance(12),
        "other": chance(40),
    }
    assert redact("submission", value) == {
        "aws_secret_access_key": "[redacted:aws-secret-key]",
        "SecretAccessKey": "[redacted:aws-secret-key]",
        "Authorization": "Bearer [redacted:authorization]",
        "other": value["other"],
    }


def test_keys_that_are_redacted_stay_apart_in_whatever_order_they_come() -> None:
    keys = [*sorted(TOKENS["github-token"][:3]), "[redacted:github-token]#2"]
    value = {key: number for number, key in enumerate(keys)}
    expected = {
        "[redacted:github-token]": 0,
        "[redacted:github-token]#3": 1,
        "[redacted:github-token]#4": 2,
        "[redacted:github-token]#2": 3,
    }
    assert redact("content", value) == expected
    assert redact("content", dict(reversed(value.items()))) == expected


def test_secrets_that_touch_or_overlap_are_all_taken_out() -> None:
    token, key = TOKENS["npm-token"][0], TOKENS["aws-access-key-id"][0]
    assert redacted(f"{token}{key}") == "[redacted:npm-token]"
    assert redacted(f"{token},{key}") == "[redacted:npm-token],[redacted:aws-access-key-id]"
    assert redacted(f"https://x:{token}@host") == "https://x:[redacted:npm-token]@host"
    assert redacted(f"https://{token}@host") == "https://[redacted:npm-token]@host"
    assert redacted(f"Authorization: Bearer {jwt()}") == "Authorization: Bearer [redacted:jwt]"
    assert redacted(f"{pem()}\n{pem('RSA ')}") == "[redacted:private-key]\n[redacted:private-key]"


def test_what_is_given_is_neither_changed_nor_given_back() -> None:
    inner = {"a": [GITHUB]}
    plain = {"a": ["b"]}
    assert redact("content", inner) != inner
    assert inner == {"a": [GITHUB]}
    copy = redact("content", plain)
    assert copy == plain
    assert copy is not plain
    assert copy["a"] is not plain["a"]


def test_a_secret_a_hundred_levels_deep_is_found() -> None:
    value: Any = GITHUB
    for _ in range(MAX_DEPTH // 2):
        value = [{"k": value}]
    clean = redact("submission", check_payload("submission", value, MEBIBYTE))
    for _ in range(MAX_DEPTH // 2):
        clean = clean[0]["k"]
    assert clean == "[redacted:github-token]"
    assert [finding.path for finding in find(value)] == ["$" + "[0].k" * (MAX_DEPTH // 2)]


def test_a_finding_says_where_the_secret_is_and_never_what_it_is() -> None:
    value = {"a": ["", f"use {GITHUB}!"], GITHUB: "x"}
    assert find(value) == [
        Finding(kind="github-token", path="$.a[1]", start=4, end=44),
        Finding(
            kind="github-token", path="$.[redacted:github-token]", start=0, end=40, in_key=True
        ),
    ]
    assert GITHUB not in repr(find(value))


def test_a_finding_by_the_key_counts_in_the_value() -> None:
    assert find({"Authorization": "Bearer " + "a1" * 8}) == [
        Finding(kind="authorization", path="$.Authorization", start=7, end=23)
    ]


def test_every_redactor_gives_the_same_for_every_argument() -> None:
    value = [secret for secret, *_ in TOKENS.values()]
    assert {
        str(redactor(where, value))
        for redactor in (SecretRedactor(), secrets())
        for where in ("submission", "message", "content", "reason")
    } == {str([f"[redacted:{kind}]" for kind in TOKENS])}
