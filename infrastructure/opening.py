"""Opening the store that a URL or a path names, with its schema brought up to this release's."""

import os
import re
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from turnledger.domain.errors import InvalidPayload
from turnledger.domain.settings import Settings
from turnledger.infrastructure import bundle_file
from turnledger.infrastructure.conflict import Conflict
from turnledger.infrastructure.migration import migrate
from turnledger.infrastructure.sqlite import SqliteStore
from turnledger.infrastructure.store import Store

_POSTGRESQL = ("postgresql", "postgresql+psycopg", "postgres")
_PASSWORD = re.compile("(://[^:/@]*):[^@]*@")


def open_store(
    url_or_path: str | os.PathLike[str], settings: Settings, *, read_only: bool
) -> Store:
    """Open a store, or make it.

    Raises:
        InvalidPayload: The URL is none that is known, or its extra isn't installed.
        StoreError: It can't be opened; the subclass says why.
    """
    text = os.fspath(url_or_path)
    if is_on_server(text):
        return _open_postgresql(text, settings, read_only=read_only)
    store = SqliteStore(path_of(text), settings, read_only=read_only)
    try:
        if read_only:
            bundle_file.inspect(store)
        migrate(store)
    except BaseException:
        store.close()
        raise
    return store


def is_on_server(url_or_path: str | os.PathLike[str]) -> bool:
    """Whether it is a URL of a server, and no file."""
    scheme, separator, _ = os.fspath(url_or_path).partition("://")
    return bool(separator) and scheme in _POSTGRESQL


def without_password(url: str) -> str:
    """A URL for messages."""
    return _PASSWORD.sub(r"\1:***@", url)


def path_of(url_or_path: str | os.PathLike[str]) -> Path:
    """The file that a path or a sqlite URL names.

    Raises:
        InvalidPayload: It names none.
    """
    text = os.fspath(url_or_path)
    scheme, separator, rest = text.partition("://")
    if separator and scheme != "sqlite":
        known = "a path, sqlite:///FILE or postgresql+psycopg://… is known"
        raise InvalidPayload("url", f"has the scheme {scheme}; {known}")
    name = rest.removeprefix("/") if separator else text
    if not name or "\0" in name:
        raise InvalidPayload("url", "names no file")
    return Path(name).absolute()


def schema_of(url_or_path: str | os.PathLike[str], settings: Settings) -> str | None:
    """Which schema is there; None if there is none. Nothing is made or changed.

    Raises:
        InvalidPayload: The URL is none that is known, or its extra isn't installed.
        StoreError: It can't be read; the subclass says why.
    """
    text = os.fspath(url_or_path)
    if is_on_server(text):
        return _schema_on_server(text, settings)
    path = path_of(text)
    if not path.exists():
        return None
    with closing(SqliteStore(path, settings, read_only=True)) as store:
        return _schema(store, "SELECT count(*) FROM sqlite_master WHERE name = 'alembic_version'")


def _schema_on_server(url: str, settings: Settings) -> str | None:
    _look_for_extra(url)
    from turnledger.infrastructure.postgresql import PostgresqlStore  # noqa: PLC0415 - an extra

    with closing(PostgresqlStore(url, settings, read_only=True)) as store:
        try:
            store.held()  # a server that isn't there isn't waited for
            return _schema(store, "SELECT to_regclass('alembic_version') IS NOT NULL")
        except Conflict as error:
            raise store.unavailable(error) from error


def _schema(store: Store, is_versioned: str) -> str | None:
    with store.reading() as cursor:
        if not cursor.execute(is_versioned).fetchone()[0]:
            return None
        found = cursor.execute("SELECT version_num FROM alembic_version").fetchone()
        return None if found is None else str(found[0])


def _open_postgresql(url: str, settings: Settings, *, read_only: bool) -> Store:
    _look_for_extra(url)
    from turnledger.infrastructure import postgresql_schema  # noqa: PLC0415 - an extra

    return postgresql_schema.open_store(url, settings, read_only=read_only)


def _look_for_extra(url: str) -> None:
    try:
        make_url(url)
    except (ArgumentError, ValueError) as error:
        raise InvalidPayload("url", "isn't one that can be read") from error
    if find_spec("psycopg") is None:
        raise InvalidPayload("url", "needs psycopg: pip install 'turnledger[postgresql]'")
