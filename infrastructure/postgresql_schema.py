"""Opening a database on a server, and bringing its schema up to this release's."""

from typing import Any

import psycopg
from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from turnledger.domain.errors import StoreDamaged, StoreError, StoreReadOnly, StoreTooNew
from turnledger.domain.settings import Settings
from turnledger.infrastructure.conflict import Conflict, Disconnected
from turnledger.infrastructure.migration import HEAD, upgrade
from turnledger.infrastructure.postgresql import PostgresqlStore
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
    with store.reading() as cursor:
        version = store.held().driver.info.server_version
        if version < _OLDEST_SERVER:
            raise StoreError(store.url, f"the server is of version {version}; 15 is needed")
        revision = _revision(store, cursor)
    if revision == HEAD:
        return False
    if store.read_only:
        raise StoreReadOnly(store.url, f"its schema is {revision or 'missing'}, not {HEAD}")
    try:
        return _upgrade(store)
    except psycopg.Error as error:
        raise _plainly(translated(error, store.url), store) from error
    except DBAPIError as error:
        cause = error.orig if isinstance(error.orig, psycopg.Error) else psycopg.Error(str(error))
        raise _plainly(translated(cause, store.url), store) from error


def _upgrade(store: PostgresqlStore) -> bool:
    engine = create_engine("postgresql+psycopg://", creator=store.connect, poolclass=NullPool)
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
