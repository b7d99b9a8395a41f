"""What SQLite says, in turnledger's words. Nothing of a driver goes further up than here."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from turnledger.domain.errors import (
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)

_KINDS: dict[int, type[StoreError]] = {
    sqlite3.SQLITE_BUSY: StoreUnavailable,
    sqlite3.SQLITE_LOCKED: StoreUnavailable,
    sqlite3.SQLITE_CANTOPEN: StoreUnavailable,
    sqlite3.SQLITE_IOERR: StoreUnavailable,
    sqlite3.SQLITE_NOMEM: StoreUnavailable,
    sqlite3.SQLITE_FULL: StoreFull,
    sqlite3.SQLITE_READONLY: StoreReadOnly,
    sqlite3.SQLITE_PERM: StoreReadOnly,
    sqlite3.SQLITE_AUTH: StoreReadOnly,
    sqlite3.SQLITE_CORRUPT: StoreDamaged,
    sqlite3.SQLITE_NOTADB: StoreDamaged,
}


def translated(error: sqlite3.Error, url: str) -> StoreError:
    """The turnledger error for one of the driver's."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary code of an extended one
    return _KINDS.get(code, StoreError)(url, str(error))


@contextmanager
def translating(url: str) -> Generator[None]:
    """Say what the driver raises in turnledger's words."""
    try:
        yield
    except sqlite3.Error as error:
        raise translated(error, url) from error
    except UnicodeDecodeError as error:  # its message quotes a schema that isn't text any more
        raise StoreDamaged(url, f"its schema isn't text: {error}") from error
