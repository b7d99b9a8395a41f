"""Content that is encrypted: what one key seals, and how sealed values look.

A sealed value stands where the plain one would: a JSON value as `{"$sealed": TOKEN}`, a text as
`$sealed:TOKEN`. The token is the key's id, a dot, and in base64url the value's canonical JSON (RFC
8785) under AES-SIV (RFC 5297). That is deterministic: the same value under the same key is the same
token, so all that compares contents works on sealed ones as it does on plain ones.
"""

import hmac
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any, NamedTuple

from turnledger.domain.payload import canonical, decode

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

SEALED = "$sealed"
PURGED = {"$purged": True}  # what is read where the key is gone
PURGED_TEXT = "[purged]"
SECRET_BYTES = 96  # AES-256-SIV takes 64, HMAC-SHA256 the rest

_CIPHER_BYTES = 64
_TEXT = f"{SEALED}:"
_TOKEN = re.compile(r"([0-9a-f]{32})\.([A-Za-z0-9_-]+={0,2})")
_ID_DIGITS = 32
_FILE_MARK = b"turnledger sealed file 1\n"


class Key(NamedTuple):
    """The key of a thread or a work item.

    Attributes:
        key_id: 32 hexadecimal digits.
        secret: 96 bytes; None when it was destroyed.
    """

    key_id: str
    secret: bytes | None

    @classmethod
    def new(cls) -> "Key":
        """A key that nobody ever had."""
        return cls(secrets.token_hex(_ID_DIGITS // 2), secrets.token_bytes(SECRET_BYTES))


def sealed(key: Key, value: Any) -> dict[str, str]:
    """A JSON value, sealed."""
    return {SEALED: _token(key, value)}


def sealed_text(key: Key, text: str) -> str:
    """A text, sealed."""
    return _TEXT + _token(key, text)


def sealed_file(key: Key, content: bytes) -> bytes:
    """A file's content, sealed."""
    return _FILE_MARK + f"{key.key_id}\n".encode() + _cipher(key).encrypt(content + b"\n", None)


def keyed_hash(key: Key, value: Any) -> str:
    """The HMAC-SHA256, in hex, of a value's canonical JSON."""
    return keyed_digest(key, canonical(value))


def keyed_digest(key: Key, content: bytes) -> str:
    """The HMAC-SHA256, in hex, of some bytes."""
    return hmac.digest(_secret(key)[_CIPHER_BYTES:], content, "sha256").hex()


def token_in(value: object) -> str | None:
    """The token of a sealed value; None if it isn't sealed."""
    if isinstance(value, dict):
        value = value.get(SEALED) if len(value) == 1 else None
        return value if isinstance(value, str) and _TOKEN.fullmatch(value) else None
    if isinstance(value, str) and value.startswith(_TEXT):
        token = value.removeprefix(_TEXT)
        return token if _TOKEN.fullmatch(token) else None
    return None


def key_id_of(token: str) -> str:
    """Which key sealed it."""
    return token[:_ID_DIGITS]


def unsealed(key: Key, value: Any, token: str) -> Any:
    """What was sealed; or that it is gone; or the value itself, if that key never sealed it."""
    if key.secret is None:
        return PURGED_TEXT if isinstance(value, str) else dict(PURGED)
    plain = _decrypted(key, urlsafe_b64decode(token[_ID_DIGITS + 1 :]))
    return value if plain is None else decode(plain)


def key_id_of_file(content: bytes) -> str | None:
    """Which key sealed a file; None if it isn't sealed."""
    if not content.startswith(_FILE_MARK):
        return None
    return content[len(_FILE_MARK) :][:_ID_DIGITS].decode(errors="replace")


def unsealed_file(key: Key, content: bytes) -> bytes:
    """The content of a sealed file.

    Raises:
        ValueError: It was damaged.
    """
    plain = _decrypted(key, content[len(_FILE_MARK) + _ID_DIGITS + 1 :])
    if plain is None:
        msg = "it isn't what was sealed"
        raise ValueError(msg)
    return plain[:-1]


def _token(key: Key, value: Any) -> str:
    ciphertext = _cipher(key).encrypt(canonical(value), None)
    return f"{key.key_id}.{urlsafe_b64encode(ciphertext).decode()}"


def _cipher(key: Key) -> "AESSIV":
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV  # noqa: PLC0415 - an extra

    return AESSIV(_secret(key)[:_CIPHER_BYTES])


def _decrypted(key: Key, ciphertext: bytes) -> bytes | None:
    """What was encrypted; None if this key never made it."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra

    try:
        return _cipher(key).decrypt(ciphertext, None)
    except (InvalidTag, ValueError):
        return None


def _secret(key: Key) -> bytes:
    if key.secret is None:
        msg = f"the key {key.key_id} was destroyed"
        raise ValueError(msg)
    return key.secret
