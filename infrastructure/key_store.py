"""Where the keys of an encrypted ledger lie: in a file, or a schema, of their own.

So they can be kept out of the ledger's backups, which makes a purge reach those as well. The row of
a key that was destroyed stays, without its secret: nobody gets another key for the same.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    LargeBinary,
    MetaData,
    QueuePool,
    Table,
    Text,
    bindparam,
    create_engine,
    insert,
    inspect,
    select,
    text,
    update,
)
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.schema import CreateSchema

from turnledger.domain.errors import StoreError, StoreReadOnly
from turnledger.domain.settings import Settings
from turnledger.infrastructure.conflict import Disconnected, Patience
from turnledger.infrastructure.failures import translated
from turnledger.infrastructure.sealing import Key
from turnledger.infrastructure.sqlite import SqliteStore
from turnledger.infrastructure.statement import Statement, run, statement
from turnledger.infrastructure.store import Store

_SUFFIX = ".keys"
_SCHEMA_SUFFIX = "_keys"
_OWNER_ONLY = 0o600
_OTHERS = 20  # that may be making a place for keys at the same time

Result = TypeVar("Result")
KeyRow = tuple[str, str, bytes | None]  # the subject, the key's id, its secret


class KeyStore:
    """The keys of one ledger; safe to share between threads, and across a fork.

    Attributes:
        place: Where they are, for messages.
    """

    def __init__(
        self,
        engine: Engine,
        place: str,
        settings: Settings,
        *,
        file: Path | None = None,
        schema: str | None = None,
    ) -> None:
        """Take what leads to them; `key_store` does."""
        self.place = place
        self._patience = settings.busy_timeout.total_seconds()
        self._engine = engine
        self._file = file
        self._schema = schema
        self._process = os.getpid()
        self._metadata = MetaData(schema=schema)
        self._keys = Table(
            "keys",
            self._metadata,
            Column("subject", Text, primary_key=True),
            Column("key_id", Text, nullable=False, unique=True),
            Column("secret", LargeBinary),
        )
        self._selected = select(self._keys.c.key_id, self._keys.c.secret)
        value: Any = bindparam("value")
        self._by_id = statement(self._selected.where(self._keys.c.key_id == value))
        self._by_subject = statement(self._selected.where(self._keys.c.subject == value))

    def is_there(self) -> bool:
        """Whether there is a place for keys."""
        if self._file is not None and not self._file.exists():
            return False
        return self._done(lambda c: inspect(c).has_table("keys", schema=self._schema))

    def make(self) -> None:
        """Make a place for keys, if there is none."""
        if self._file is not None:
            self._file.touch(_OWNER_ONLY)

        def work(connection: Connection) -> None:
            if self._schema is not None:
                connection.execute(CreateSchema(self._schema, if_not_exists=True))
            self._metadata.create_all(connection)

        for _ in range(_OTHERS):
            try:
                return self._done(work)
            except StoreError:  # perhaps since another process does the same
                if self.is_there():
                    return None
        return self._done(work)

    def find(self, key_id: str) -> Key | None:
        """A key by its id; None if it isn't one of these."""
        return self._at_once(self._by_id, key_id)

    def of(self, subject: str) -> Key:
        """The key of a thread or a work item; a new one, if it has none yet."""
        known = self._at_once(self._by_subject, subject)
        return known or self._done(partial(self._made, subject))

    def destroy(self, subject: str) -> bool:
        """Destroy the secret of a key; False if there is none (any more)."""
        living = (self._keys.c.subject == subject, self._keys.c.secret.is_not(None))
        change = update(self._keys).where(*living).values(secret=None)

        def work(connection: Connection) -> bool:
            destroyed = connection.execute(change).rowcount > 0
            if self._schema is not None:
                self._rewrite(connection)
            return destroyed

        return self._done(work)

    def rows(self) -> list[KeyRow]:
        """All of them, for a copy."""
        return self._done(lambda c: [(*row,) for row in c.execute(select(self._keys))])

    def take(self, rows: Iterable[KeyRow]) -> None:
        """Have these keys as well; one that was destroyed is destroyed here, too."""
        given = list(rows)

        def work(connection: Connection) -> None:
            for subject, key_id, secret in given:
                if self._known(connection, subject) is None:
                    values = {"subject": subject, "key_id": key_id, "secret": secret}
                    connection.execute(insert(self._keys).values(values))
                elif secret is None:
                    own = self._keys.c.subject == subject
                    connection.execute(update(self._keys).where(own).values(secret=None))

        self._done(work)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    def _made(self, subject: str, connection: Connection) -> Key:
        known = self._known(connection, subject)
        if known is not None:
            return known
        key = Key.new()
        try:
            connection.execute(insert(self._keys).values(subject=subject, **key._asdict()))
        except IntegrityError:  # somebody else was first
            return self._known(connection, subject) or key
        return key

    def _known(self, connection: Connection, subject: str) -> Key | None:
        wanted = self._selected.where(self._keys.c.subject == subject)
        row = connection.execute(wanted).first()
        return None if row is None else Key(*row)

    def _at_once(self, which: Statement, value: str) -> Key | None:
        """A key, by a query on the driver, which takes an eighth of the time."""
        self._begin_anew_in_a_child()
        try:
            pooled = self._engine.raw_connection()
            try:
                given = {"value": value}
                row = run(pooled.cursor(), self._engine.dialect.name, which, given).fetchone()
            except BaseException:
                pooled.invalidate()
                raise
            finally:
                pooled.close()
        except (DBAPIError, self._engine.dialect.loaded_dbapi.Error):
            query = which.core
            row = self._done(lambda c: c.execute(query, {"value": value}).first())
        return None if row is None else Key(*row)

    def _rewrite(self, connection: Connection) -> None:
        """Leave no former version of a row in the table's file, where the role may see to that."""
        schema = connection.dialect.identifier_preparer.quote(str(self._schema))
        connection.execute(text(f"VACUUM (FULL) {schema}.keys"))

    def _done(self, work: Callable[[Connection], Result]) -> Result:
        """Do what can be done again, if the connection breaks.

        Raises:
            StoreError: The database says no; the subclass says why.
        """
        self._begin_anew_in_a_child()
        patience = Patience(self._patience)
        while True:
            try:
                with self._engine.connect() as connection:
                    return work(connection)
            except DBAPIError as error:
                if not error.connection_invalidated:
                    raise self._in_words(error) from error
                patience.wait(self.place, Disconnected(str(error.orig)))

    def _begin_anew_in_a_child(self) -> None:
        if os.getpid() != self._process:
            self._engine.dispose(close=False)  # those are the parent's
            self._process = os.getpid()

    def _in_words(self, error: DBAPIError) -> StoreError:
        if isinstance(error.orig, sqlite3.Error):
            return translated(error.orig, self.place)
        refused = type(error.orig).__name__ in ("InsufficientPrivilege", "ReadOnlySqlTransaction")
        kind = StoreReadOnly if refused else StoreError
        return kind(self.place, str(error.orig))


def key_store(store: Store, settings: Settings) -> KeyStore | None:
    """Where a store's keys are, or would be; None of one that has no place for any.

    Beside a file, that is FILE.keys, for its owner's eyes only; on a server, the schema whose name
    is that of the ledger's with `_keys` behind it.
    """
    if isinstance(store, SqliteStore):
        return _beside(store.path, settings, read_only=store.read_only)
    connect = getattr(store, "connect", None)
    if connect is None:
        return None
    with store.reading() as cursor:
        schema = f"{cursor.execute('SELECT current_schema()').fetchone()[0]}{_SCHEMA_SUFFIX}"
    engine = _engine("postgresql+psycopg://", connect)
    return KeyStore(engine, f"{store.url} (schema {schema})", settings, schema=schema)


def _engine(url: str, connect: Callable[[], Any]) -> Engine:
    """Each statement is committed by itself."""
    how: dict[str, Any] = {"poolclass": QueuePool, "isolation_level": "AUTOCOMMIT"}
    return create_engine(url, creator=connect, **how)


def _beside(ledger: Path, settings: Settings, *, read_only: bool) -> KeyStore:
    path = ledger.with_name(f"{ledger.name}{_SUFFIX}")

    def connected() -> sqlite3.Connection:
        uri = f"{path.as_uri()}?mode={'ro' if read_only else 'rw'}"
        patience = settings.busy_timeout.total_seconds()
        driver = sqlite3.connect(uri, uri=True, timeout=patience, check_same_thread=False)
        for pragma in ("secure_delete=ON", "synchronous=EXTRA", "trusted_schema=OFF"):
            driver.execute(f"PRAGMA {pragma}")
        return driver

    engine = _engine("sqlite+pysqlite://", connected)
    return KeyStore(engine, f"sqlite:///{path}", settings, file=path)
