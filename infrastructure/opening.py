"""Opening the store that a URL or a path names, with its schema brought up to this release's."""

import os
from pathlib import Path

from turnledger.domain.errors import InvalidPayload
from turnledger.domain.settings import Settings
from turnledger.infrastructure.migration import migrate
from turnledger.infrastructure.sqlite import SqliteStore
from turnledger.infrastructure.store import Store

_POSTGRESQL = ("postgresql", "postgresql+psycopg", "postgres")


def open_store(
    url_or_path: str | os.PathLike[str], settings: Settings, *, read_only: bool
) -> Store:
    """Open a store, or make it.

    Raises:
        InvalidPayload: The URL is none that is known, or its extra isn't installed.
        StoreError: It can't be opened; the subclass says why.
    """
    text = os.fspath(url_or_path)
    if text.partition("://")[0] in _POSTGRESQL:
        return _open_postgresql(text, settings, read_only=read_only)
    store = SqliteStore(path_of(text), settings, read_only=read_only)
    try:
        migrate(store)
    except BaseException:
        store.close()
        raise
    return store


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


def _open_postgresql(url: str, settings: Settings, *, read_only: bool) -> Store:
    try:
        from turnledger.infrastructure import postgresql_schema  # noqa: PLC0415 - an extra
    except ImportError as error:
        reason = "needs psycopg: pip install 'turnledger[postgresql]'"
        raise InvalidPayload("url", reason) from error
    return postgresql_schema.open_store(url, settings, read_only=read_only)
