"""Contents on their way into events and out again: checked, redacted, sealed; and opened.

Everything a caller gives that isn't a name comes in here. What a ledger stores that isn't encrypted
is what was given.
"""

import hashlib
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from turnledger.domain.errors import ContentPurged, StoreUnavailable, Unreadable
from turnledger.domain.payload import (
    canonical_hash,
    check_object,
    check_payload,
    settle,
    settle_text,
)
from turnledger.domain.redactor import Redactor
from turnledger.infrastructure import sealing
from turnledger.infrastructure.key_store import KeyStore
from turnledger.infrastructure.sealing import Key

Result = TypeVar("Result")


class Intake:
    """What comes in about one thread or work item."""

    def __init__(self, subject: str, key: Key | None, redact: Redactor | None) -> None:
        """Take what it is about, the key that seals it, and who takes secrets out."""
        self._subject = subject
        self._key = key
        self._redact = redact

    def payload(self, name: str, value: Any, limit: int) -> Any:
        """A JSON value as it is stored; see `check_payload`.

        Raises:
            ContentPurged: Nothing is taken about it any more.
        """
        checked = check_payload(name, value, limit)
        if self._redact is not None:
            checked = check_payload(name, self._redact(name, checked), limit)
        return checked if self._key is None else self._sealed(self._key, checked)

    def json_object(self, name: str, value: Any, limit: int) -> dict[str, Any]:
        """Likewise a JSON object; see `check_object`."""
        checked = check_object(name, value, limit)
        if self._redact is not None:
            checked = check_object(name, self._redact(name, checked), limit)
        return checked if self._key is None else self._sealed(self._key, checked)

    def settled(self, name: str, value: Any, limit: int) -> tuple[Any, bool]:
        """What settles something, as it is stored, and whether it was altered; see `settle`.

        It is never refused for a hook that fails, or for a purge.
        """
        kept, altered = settle(name, value, limit)
        if self._redact is not None:
            kept, redacted = self._redacted(name, kept, limit)
            altered = altered or redacted
        if self._key is None or kept is None:
            return kept, altered
        if self._key.secret is None:
            return dict(sealing.PURGED), True
        return sealing.sealed(self._key, kept), altered

    def text(self, name: str, value: object, limit: int) -> tuple[str, bool]:
        """Likewise a text; see `settle_text`."""
        kept, altered = settle_text(name, value, limit)
        if self._redact is not None:
            clean, redacted = self._redacted(name, kept, limit)
            kept, altered = str(clean), altered or redacted
        if self._key is None:
            return kept, altered
        if self._key.secret is None:
            return sealing.PURGED_TEXT, True
        return sealing.sealed_text(self._key, kept), altered

    def hash(self, value: Any) -> str:
        """A content's hash, in hex: SHA-256 of its canonical JSON; where it is sealed, HMAC."""
        if self._key is None or self._key.secret is None:
            return canonical_hash(value)
        return sealing.keyed_hash(self._key, value)

    def file(self, content: bytes) -> tuple[str, bytes]:
        """A file's name, which is its hash, and its content as it is stored.

        Raises:
            ContentPurged: Nothing is taken about it any more.
        """
        if self._key is None:
            return hashlib.sha256(content).hexdigest(), content
        self._must_live(self._key)
        return sealing.keyed_digest(self._key, content), sealing.sealed_file(self._key, content)

    def _redacted(self, name: str, value: Any, limit: int) -> tuple[Any, bool]:
        try:
            clean, _ = settle(name, cast("Redactor", self._redact)(name, value), limit)
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not block the settling
            clean = f"[its redaction raised {type(error).__name__}]"
        return clean, clean != value

    def _sealed(self, key: Key, value: Any) -> dict[str, str]:
        self._must_live(key)
        return sealing.sealed(key, value)

    def _must_live(self, key: Key) -> None:
        if key.secret is None:
            raise ContentPurged(self._subject)


class Contents:
    """The contents of one ledger.

    Attributes:
        is_encrypted: Whether they are sealed.
        place: Where the keys are, if they are there.
    """

    def __init__(
        self,
        keys: KeyStore | None = None,
        redact: Redactor | None = None,
        *,
        is_encrypted: bool = False,
    ) -> None:
        """Take where the keys are, if they are there, and who takes secrets out."""
        self.is_encrypted = is_encrypted
        self.place = None if keys is None else keys.place
        self._keys = keys
        self._redact = redact
        self._plain = Intake("", None, redact)

    def must_be(self, url: str, *, is_encrypted: bool) -> None:
        """Refuse to work on a ledger that was made otherwise in the meantime.

        Raises:
            StoreUnavailable: It was.
        """
        if is_encrypted != self.is_encrypted:
            raise StoreUnavailable(url, "another process has just made it; open it again")

    def of_thread(self, thread_id: str) -> Intake:
        """What comes in about a thread."""
        return self._plain if self._keys is None else self._of(self._keys, f"thread:{thread_id}")

    def of_work_item(self, work_item_id: str) -> Intake:
        """What comes in about a work item."""
        return self._plain if self._keys is None else self._of(self._keys, _item(work_item_id))

    def of_work_item_of(self, find: Callable[[], str | None]) -> Intake:
        """What comes in about something of a work item.

        Args:
            find: Says of which one; None if there is no such thing, so that nothing is stored.
        """
        if self._keys is None:
            return self._plain
        found = find()
        if found is None:
            return Intake("", Key.new(), self._redact)
        return self._of(self._keys, _item(found))

    def opened(self, result: Result) -> Result:
        """A result with its contents unsealed; what is gone says so, what can't be stays sealed."""
        if self._keys is None:
            return result
        return cast("Result", _Opening(self._keys).opened(result))

    def opened_file(self, name: str, stored: bytes) -> bytes:
        """The content of a file.

        Raises:
            Unreadable: It was purged or damaged, or its key isn't here.
        """
        key_id = sealing.key_id_of_file(stored) if self.is_encrypted else None
        if key_id is None:
            return stored
        try:
            return sealing.unsealed_file(self._living(f"attachment {name}", key_id), stored)
        except ValueError as error:
            raise Unreadable(f"attachment {name}", f"damaged: {error}") from error

    def must_be_there(self, what: str, *values: Any) -> None:
        """Refuse to give out what nobody can read any more.

        Raises:
            Unreadable: It was purged, or its key isn't here.
        """
        for token in filter(None, map(sealing.token_in, values if self._keys else ())):
            self._living(what, sealing.key_id_of(token))

    def purge(self, subject: str) -> bool:
        """Destroy the key of a thread or work item; whether there was one."""
        return self._keys is not None and self._keys.destroy(subject)

    def for_reading(self) -> "Contents":
        """The same for a ledger as it was, which closes nothing of this one."""
        return _Borrowed(self._keys, is_encrypted=self.is_encrypted)

    def close(self) -> None:
        """Close the connections to the keys."""
        if self._keys is not None:
            self._keys.close()

    def _living(self, what: str, key_id: str) -> Key:
        key = None if self._keys is None else self._keys.find(key_id)
        if key is None:
            raise Unreadable(what, "its key isn't here", "put the keys back (docs/encryption.md)")
        if key.secret is None:
            raise Unreadable(what, "its content was purged", "only its removal is left")
        return key

    def _of(self, keys: KeyStore, subject: str) -> Intake:
        return Intake(subject, keys.of(subject), self._redact)


PLAIN = Contents()


class _Borrowed(Contents):
    """Contents that are only read, with keys that are another's to close."""

    def _of(self, keys: KeyStore, subject: str) -> Intake:
        del keys, subject
        return self._plain  # a command gets no further

    def close(self) -> None:
        """Close nothing."""


class _Opening:
    """One result that is opened: each key is looked up once."""

    def __init__(self, keys: KeyStore) -> None:
        self._keys = keys
        self._found: dict[str, Key | None] = {}

    def opened(self, value: Any) -> Any:
        token = sealing.token_in(value)
        if token is not None:
            key = self._key(sealing.key_id_of(token))
            return value if key is None else sealing.unsealed(key, value, token)
        match value:
            case dict():
                return {name: self.opened(item) for name, item in value.items()}
            case list():
                return [self.opened(item) for item in value]
            case tuple():
                items = [self.opened(item) for item in value]
                return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
            case _ if is_dataclass(value) and not isinstance(value, type):
                return self._opened_fields(value)
            case _:
                return value

    def _opened_fields(self, value: Any) -> Any:
        before = {field.name: getattr(value, field.name) for field in fields(value)}
        after = {name: self.opened(item) for name, item in before.items()}
        changed = {name: item for name, item in after.items() if item != before[name]}
        return replace(value, **changed) if changed else value

    def _key(self, key_id: str) -> Key | None:
        if key_id not in self._found:
            self._found[key_id] = self._keys.find(key_id)
        return self._found[key_id]


def _item(work_item_id: str) -> str:
    return f"work_item:{work_item_id}"
