"""Opening a database on a server, and bringing its schema up to this release's."""

from typing import Any

import psycopg
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from turnledger.domain.errors import StoreDamaged, StoreError, StoreReadOnly, StoreTooNew
from turnledger.domain.settings import Settings
from turnledger.infrastructure.conflict import Conflict, Disconnected, Patience
from turnledger.infrastructure.held import Held
from turnledger.infrastructure.migration import HEAD, upgrade
from turnledger.infrastructure.postgresql import PostgresqlStore
from turnledger.infrastructure.postgresql_connection import cause_of
from turnledger.infrastructure.postgresql_failures import translated

_OLDEST_SERVER = 150000
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('turnledger schema'))"
_THERE = "SELECT to_regclass('alembic_version') IS NOT NULL, to_regclass('events') IS NOT NULL"


def open_store(url: str, settings: Settings, *, read_only: bool) -> PostgresqlStore:
    """Open a database; make or upgrade its schema, if the role may.

    Raises:
        StoreUnavailable: The server can't be reached.
        StoreError: It can't be opened; the subclass says why.
    """
    store = PostgresqlStore(url, settings, read_only=read_only)
    try:
        migrate(store)
    except Disconnected as error:
        store.close()
        raise store.unavailable(error) from error
    except BaseException:
        store.close()
        raise
    return store


def migrate(store: PostgresqlStore) -> bool:
    """Make or upgrade the schema, if it isn't this release's already.

    Safe to call from several processes at once: one of them does it, the others wait.

    Returns:
        Whether there was something to do.

    Raises:
        StoreTooNew: A newer release wrote it.
        StoreDamaged: It is a database of something else.
        StoreReadOnly: There is something to do, and the role mustn't, or it was opened read-only.
    """
    version = _reached(store).driver.info.server_version
    with store.reading() as cursor:
        if version < _OLDEST_SERVER:
            raise StoreError(store.url, f"the server is of version {version}; 15 is needed")
        revision = _revision(store, cursor)
    if revision == HEAD:
        return False
    if store.read_only:
        raise StoreReadOnly(store.url, f"its schema is {revision or 'missing'}, not {HEAD}")
    try:
        return _upgrade(store)
    except (psycopg.Error, DBAPIError) as error:
        raise _plainly(translated(cause_of(error), store.url), store) from error


def _reached(store: PostgresqlStore) -> Held:
    """Connect. A server that isn't there isn't waited for: the URL may be wrong.

    Raises:
        Disconnected: It isn't there.
    """
    patience = Patience(store.settings.busy_timeout.total_seconds())
    while True:
        try:
            return store.held()
        except Disconnected as error:
            if getattr(error.__cause__, "sqlstate", None) is None:
                raise
            patience.wait(store.url, error)  # it was there


def _upgrade(store: PostgresqlStore) -> bool:
    def connected() -> psycopg.Connection[Any]:
        connection = store.connect()
        connection.autocommit = False  # the lock, and all the steps, are one transaction
        return connection

    engine = create_engine("postgresql+psycopg://", creator=connected, poolclass=NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(_LOCK)
        if _revision(store, connection.connection.driver_connection) == HEAD:
            return False
        upgrade(connection)
    return True


def _plainly(error: StoreError | Conflict, store: PostgresqlStore) -> StoreError:
    """What to do about it, where the role is the wrong one."""
    if isinstance(error, Conflict):
        return store.unavailable(error)
    if isinstance(error, StoreReadOnly):
        reason = (
            f"this role mustn't change the schema to {HEAD}; run `turnledger migrate` as its owner"
        )
        return StoreReadOnly(store.url, reason)
    return error


def _revision(store: PostgresqlStore, cursor: Any) -> str | None:
    versioned, events = cursor.execute(_THERE).fetchone()
    if not versioned and not events:
        return None
    if not versioned or not events:
        raise StoreDamaged(store.url, "it is a database of something else, not a ledger")
    found = cursor.execute("SELECT version_num FROM alembic_version").fetchone()
    revision = str(found[0]) if found else None
    if revision is not None and revision > HEAD:
        raise StoreTooNew(store.url, f"its schema is {revision}, this release knows {HEAD}")
    return revision
