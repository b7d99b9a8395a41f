"""Bring a ledger's schema up to this release: numbered steps by Alembic, in one transaction.

Alembic is only imported when there is something to do, so that opening a ledger stays cheap.
"""

import sqlite3
from pathlib import Path

from sqlalchemy import Connection

from turnledger.domain.errors import StoreDamaged, StoreReadOnly, StoreTooNew
from turnledger.infrastructure.sqlite import SqliteStore

HEAD = "0001"  # the newest step; a test compares it with the scripts
_SCRIPTS = Path(__file__).parent / "migrations"


def migrate(store: SqliteStore) -> None:
    """Make or upgrade the schema, if it isn't this release's already.

    Safe to call from several processes at once: the steps run under the write lock.

    Raises:
        StoreTooNew: A newer release wrote it.
        StoreDamaged: The file is a database, but no ledger.
        StoreReadOnly: There is something to do, and the ledger was opened read-only.
    """
    with store.reading() as cursor:
        revision = _revision(store, cursor)
    if revision == HEAD:
        return
    if store.read_only:
        raise StoreReadOnly(store.url, f"its schema is {revision or 'missing'}, not {HEAD}")
    with store.core_connection() as connection, store.writing() as cursor:
        if _revision(store, cursor) != HEAD:
            upgrade(connection)


def _revision(store: SqliteStore, cursor: sqlite3.Cursor) -> str | None:
    tables = {
        name for (name,) in cursor.execute("SELECT name FROM sqlite_master WHERE type='table'")
    }
    if not tables:
        return None
    if "alembic_version" not in tables or "events" not in tables:
        raise StoreDamaged(store.url, "it is a database of something else, not a ledger")
    found = cursor.execute("SELECT version_num FROM alembic_version").fetchone()
    revision = str(found[0]) if found else None
    if revision is not None and revision > HEAD:
        raise StoreTooNew(store.url, f"its schema is {revision}, this release knows {HEAD}")
    return revision


def upgrade(connection: Connection) -> None:
    """Run the steps that are missing, in the transaction under way."""
    from alembic import command  # noqa: PLC0415 - slow to import, and seldom needed
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
