"""What an opened store's contents are: plain, or sealed with the keys that lie beside it."""

from importlib.util import find_spec

from turnledger.domain.errors import InvalidPayload, NotEncrypted, StoreError
from turnledger.domain.redactor import Redactor
from turnledger.domain.settings import Settings
from turnledger.infrastructure import ledger_row
from turnledger.infrastructure.intake import Contents
from turnledger.infrastructure.key_store import KeyStore, key_store
from turnledger.infrastructure.store import Store


def contents_of(
    store: Store,
    settings: Settings,
    redact: Redactor | None = None,
    *,
    encrypt: bool = False,
) -> Contents:
    """The contents of a store that was just opened; it is closed if something is wrong.

    Raises:
        InvalidPayload: The hook can't be called; or the extra for encryption isn't installed.
        NotEncrypted: It was made without encryption, though it is asked for.
        StoreError: Its keys aren't there; or a database says no.
    """
    try:
        _check_hook(redact)
        is_new, is_encrypted = _kind(store, encrypt=encrypt)
        keys = _keys(store, settings, is_new=is_new) if is_encrypted else None
    except BaseException:
        store.close()
        raise
    return Contents(keys, redact, is_encrypted=is_encrypted)


def keys_of(store: Store, settings: Settings, *, make: bool) -> KeyStore | None:
    """The keys beside a store; None if there are none, and none are to be made."""
    keys = key_store(store, settings)
    if keys is None:
        return None
    try:
        if make:
            keys.make()
        if keys.is_there():
            return keys
    except BaseException:
        keys.close()
        raise
    keys.close()
    return None


def _check_hook(redact: object) -> None:
    if redact is not None and not callable(redact):
        raise InvalidPayload("redact", f"must be callable, which a {type(redact).__name__} isn't")


def _kind(store: Store, *, encrypt: bool) -> tuple[bool, bool]:
    """Whether the ledger is still to be made, and whether it is, or is to be, encrypted."""
    with store.reading() as cursor:
        row = ledger_row.known(cursor)
    if row is None:
        return True, encrypt
    if encrypt and not row.encrypted:
        raise NotEncrypted(store.url, "it was made without encryption, and stays so")
    return False, bool(row.encrypted)


def _keys(store: Store, settings: Settings, *, is_new: bool) -> KeyStore | None:
    """The keys; None where a ledger that is only read has none beside it."""
    if find_spec("cryptography") is None:
        if store.read_only:
            return None
        reason = "needs cryptography: pip install 'turnledger[encryption]'"
        raise InvalidPayload("encrypt", reason)
    keys = keys_of(store, settings, make=is_new and not store.read_only)
    if keys is None and not store.read_only:
        reason = "it is encrypted, and its keys aren't there (docs/encryption.md)"
        raise StoreError(store.url, f"{reason}; put them back, or open it read-only")
    return keys
