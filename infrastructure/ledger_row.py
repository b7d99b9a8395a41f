"""The one row that says which ledger a database is, and its generation.

A copy writes it last. So events without it are a copy that isn't finished, which nobody may use.
"""

from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import bindparam, insert

from turnledger.domain.errors import StoreError
from turnledger.domain.settings import Settings
from turnledger.infrastructure.schema import ledger
from turnledger.infrastructure.statement import POSTGRESQL, Cursor, run, statement
from turnledger.infrastructure.store import Store
from turnledger.infrastructure.transaction import transact

_INSERT = statement(insert(ledger).values({c.name: bindparam(c.name) for c in ledger.columns}))
_RENEW = statement(ledger.update().values(generation=bindparam("generation")))
_SELECT = "SELECT ledger_id, generation, created_at, encrypted FROM ledger"
_HAS_EVENTS = "SELECT EXISTS (SELECT 1 FROM events)"
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('turnledger ledger'), 'ledger'::regclass::int)"


class LedgerRow(NamedTuple):
    """Which ledger it is.

    Attributes:
        created_at: In microseconds.
        encrypted: 1 if its contents are sealed, else 0.
    """

    ledger_id: str
    generation: str
    created_at: int
    encrypted: int


def known(cursor: Cursor) -> LedgerRow | None:
    """The row, if it is there."""
    found = cursor.execute(_SELECT).fetchone()
    return None if found is None else LedgerRow(*found)


def has_events(cursor: Cursor) -> bool:
    """Whether there is any event, with a position or without."""
    return bool(cursor.execute(_HAS_EVENTS).fetchone()[0])


def lock(cursor: Cursor, dialect: str) -> None:
    """Let nobody else write the row until the transaction ends. SQLite's own lock does it."""
    if dialect == POSTGRESQL:
        cursor.execute(_LOCK)


def enter(cursor: Cursor, dialect: str, row: LedgerRow) -> None:
    """Write the row."""
    run(cursor, dialect, _INSERT, row._asdict())


def identified(store: Store, settings: Settings, make: Callable[[], LedgerRow]) -> LedgerRow:
    """Which ledger a store holds; a new one, if it is empty.

    Raises:
        StoreError: A copy into it isn't finished.
    """
    with store.reading() as cursor:
        row = _usable(store, cursor)
    if row is not None:
        return row

    def enter_it(cursor: Cursor) -> LedgerRow:
        lock(cursor, store.dialect)
        row = _usable(store, cursor)
        if row is None:
            row = make()
            enter(cursor, store.dialect, row)
        return row

    return transact(store, settings, enter_it)


def renew(store: Store, settings: Settings, generation: str) -> None:
    """Give the ledger that a store holds a new generation."""
    transact(
        store,
        settings,
        lambda cursor: run(cursor, store.dialect, _RENEW, {"generation": generation}),
    )


def _usable(store: Store, cursor: Cursor) -> LedgerRow | None:
    row = known(cursor)
    if row is not None or not has_events(cursor):
        return row
    row = known(cursor)  # somebody may have made the ledger, and worked with it, in between
    if row is None:
        reason = "a copy into it isn't finished; run `turnledger copy` again, from the same source"
        raise StoreError(store.url, reason)
    return row
