"""The database says no."""

from typing import ClassVar

from turnledger.domain.errors.root import LedgerError


class StoreError(LedgerError):
    """The database says no."""

    _says: ClassVar[str] = "failed"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"the store {url} {self._says}: {reason}", url=url, reason=reason)


class StoreUnavailable(StoreError):
    """The database is busy or out of reach."""

    retryable = True
    _says: ClassVar[str] = "isn't available"


class StoreFull(StoreError):
    """The disk is full. Reading goes on working, and writing when there is room again."""

    retryable = True
    _says: ClassVar[str] = "has no room left"


class StoreReadOnly(StoreError):
    """The file or its medium can't be written, or the ledger was opened read-only."""

    _says: ClassVar[str] = "can't be written"


class StoreReplaced(StoreError):
    """The path doesn't lead to the file that is open any more. Open the ledger again."""

    _says: ClassVar[str] = "was replaced while it was open; open it again"


class StoreDamaged(StoreError):
    """The database file is damaged, or no database. Restore a backup."""

    _says: ClassVar[str] = "is damaged"


class StoreTooNew(StoreError):
    """The ledger was written by a newer release. Upgrade turnledger."""

    _says: ClassVar[str] = "was written by a newer release; upgrade turnledger"
