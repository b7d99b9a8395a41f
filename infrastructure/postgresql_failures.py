"""What psycopg says, in turnledger's words. Nothing of a driver goes further up than here."""

import psycopg
from psycopg import errors

from turnledger.domain.errors import (
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from turnledger.infrastructure.conflict import Conflict, Disconnected

_AGAIN = (errors.SerializationFailure, errors.DeadlockDetected)
_GONE = (
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.ReadOnlySqlTransaction,  # a standby; a new connection leads to the primary
)
_KINDS: tuple[tuple[type[psycopg.Error], type[StoreError]], ...] = (
    (errors.LockNotAvailable, StoreUnavailable),
    (errors.QueryCanceled, StoreUnavailable),
    (errors.TooManyConnections, StoreUnavailable),
    (errors.DiskFull, StoreFull),
    (errors.InsufficientPrivilege, StoreReadOnly),
    (errors.DataCorrupted, StoreDamaged),
    (errors.IndexCorrupted, StoreDamaged),
    (errors.UndefinedTable, StoreDamaged),
    (errors.UndefinedColumn, StoreDamaged),
)


def translated(error: psycopg.Error, url: str) -> StoreError | Conflict:
    """The turnledger error for one of the driver's; a `Conflict` if the work may be done again."""
    message = str(error).strip() or type(error).__name__
    if isinstance(error, _AGAIN):
        return Conflict(message)
    for kind, ours in _KINDS:
        if isinstance(error, kind):
            return ours(url, message)
    return Disconnected(message) if _is_the_end(error) else StoreError(url, message)


def _is_the_end(error: psycopg.Error) -> bool:
    """Whether the connection is of no more use."""
    if error.sqlstate is None:
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    fatal = error.diag.severity_nonlocalized in ("FATAL", "PANIC")
    return fatal or isinstance(error, _GONE) or error.sqlstate.startswith(_BROKEN)


_BROKEN = "08"  # the class of what poolers say of connections
