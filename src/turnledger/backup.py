"""Backing a ledger up, and restoring it as a new generation of itself."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from turnledger.domain.errors import InvalidPayload, StoreDamaged, StoreUnavailable
from turnledger.domain.settings import Settings
from turnledger.infrastructure.bundle_mark import is_bundle
from turnledger.infrastructure.failures import translated
from turnledger.infrastructure.identity import IdentityGenerator
from turnledger.infrastructure.sqlite import SqliteStore


def backup(store: SqliteStore, target: Path) -> None:
    """Copy a ledger with all that is committed, also what is only in its write-ahead log.

    Other processes may go on writing. The copy appears under its name when it is whole.

    Raises:
        InvalidPayload: There is a file of that name.
        StoreError: A database says no.
    """
    if target.exists():
        raise InvalidPayload("backup", f"would overwrite {target}; choose another name")
    partial = target.with_name(f"{target.name}.partial")
    partial.unlink(missing_ok=True)
    with store.reading() as _:
        _copy(store.held().driver, partial, store.url)
    partial.rename(target)


def restore(source: Path, target: Path) -> None:
    """Put a backup in the place of a ledger, as a new generation.

    Claims and cursors of before are refused from then on. Processes that have the old ledger open
    get `StoreReplaced`. Let no process open it at that very moment.

    Raises:
        StoreError: A database says no; StoreDamaged, if the backup is none.
        StoreUnavailable: Somebody reads the old ledger without a break.
    """
    if not source.is_file():
        raise StoreDamaged(str(source), "there is no such backup")
    partial = target.with_name(f"{target.name}.restoring")
    partial.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(f"{source.as_uri()}?mode=ro", uri=True)) as old:
            _copy(old, partial, str(source))
        _make_new_generation(partial, source)
        _swap(partial, target)
    except sqlite3.Error as error:
        raise translated(error, str(source)) from error
    finally:
        partial.unlink(missing_ok=True)


def _make_new_generation(partial: Path, source: Path) -> None:
    with closing(sqlite3.connect(partial, isolation_level=None)) as new:
        if new.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            raise StoreDamaged(str(source), "its pages don't fit together")
        if not new.execute("SELECT 1 FROM sqlite_master WHERE name = 'ledger'").fetchone():
            raise StoreDamaged(str(source), "it is no backup of a ledger")
        if is_bundle(new):
            raise StoreDamaged(str(source), "it is a bundle, a part of a ledger, and no backup")
        new.execute("UPDATE ledger SET generation = ?", (IdentityGenerator()(),))


def _copy(source: sqlite3.Connection, target: Path, url: str) -> None:
    try:
        with closing(sqlite3.connect(target)) as copy:
            source.backup(copy, pages=-1)
            copy.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        target.unlink(missing_ok=True)
        raise translated(error, url) from error


def _swap(partial: Path, target: Path) -> None:
    """Let the new file take the old one's name.

    SQLite would replay a log that it finds beside a file, whosoever it is: so the old one's is
    copied into the old file first, and removed before the new file takes the name.
    """
    store = SqliteStore(target, Settings())
    try:
        if target.exists():
            with suppress(StoreDamaged), store.writing():
                _empty_log(store)
                _take_name(partial, target)
                return
        _take_name(partial, target)  # nothing of the old one can be saved
    finally:
        store.close()


def _empty_log(store: SqliteStore) -> None:
    """Copy the whole log into the file, while this thread holds the write lock."""
    with closing(store.connect()) as second:
        _, pages, copied = second.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    if pages != copied:
        raise StoreUnavailable(store.url, "somebody reads it without a break; try again")


def _take_name(partial: Path, target: Path) -> None:
    for beside in ("-wal", "-shm"):
        target.with_name(target.name + beside).unlink(missing_ok=True)
    partial.replace(target)
