"""Connections to a ledger's file, configured so that nothing acknowledged can be lost."""

import os
import sqlite3
from pathlib import Path

from turnledger.domain.errors import StoreReadOnly
from turnledger.domain.settings import Settings
from turnledger.infrastructure.bundle_mark import WRITTEN_NO_MORE, is_bundle
from turnledger.infrastructure.write_ahead_log import LARGEST_LOG_BYTES


def connect(
    path: Path, settings: Settings, *, read_only: bool, shared: str | None
) -> sqlite3.Connection:
    """A new connection.

    Args:
        path: The file.
        settings: How long to wait for others, and how durably to write.
        read_only: Nothing may be changed.
        shared: The name of a file system that can't hold a write-ahead log, if it is on one.

    Raises:
        StoreReadOnly: It is a bundle, and to be written.
    """
    mode = "ro" if read_only else "rwc"
    uri = f"{path.as_uri()}?mode={mode}{_immutable(path, read_only=read_only)}"
    driver = sqlite3.connect(
        uri, uri=True, timeout=0, isolation_level=None, check_same_thread=False
    )
    try:
        driver.execute(f"PRAGMA busy_timeout={_milliseconds(settings)}")
        if not read_only:
            _refuse_bundle(driver, path)
        for pragma in _pragmas(settings, read_only=read_only, shared=shared):
            driver.execute(f"PRAGMA {pragma}")
    except BaseException:
        driver.close()
        raise
    return driver


def _refuse_bundle(driver: sqlite3.Connection, path: Path) -> None:
    if is_bundle(driver):
        raise StoreReadOnly(f"sqlite:///{path}", WRITTEN_NO_MORE)


def _milliseconds(settings: Settings) -> int:
    return int(settings.busy_timeout.total_seconds() * 1000)


def _immutable(path: Path, *, read_only: bool) -> str:
    """A ledger at rest on a medium that can't be written has no log to read beside it."""
    at_rest = read_only and not Path(f"{path}-wal").exists()
    return "&immutable=1" if at_rest and not os.access(path.parent, os.W_OK) else ""


def _pragmas(settings: Settings, *, read_only: bool, shared: str | None) -> list[str]:
    wanted = ["mmap_size=0", "trusted_schema=OFF"]
    wanted += ["recursive_triggers=ON"]  # so that REPLACE can't delete an event
    if read_only:
        return [*wanted, "query_only=ON"]
    if shared:
        return [*wanted, "synchronous=EXTRA", "journal_mode=DELETE"]
    # EXTRA before the switch to WAL: a crash in it would lose all
    wanted += ["synchronous=EXTRA", "journal_mode=WAL"]
    wanted += [f"synchronous={settings.synchronous}", "wal_autocheckpoint=0"]
    return [*wanted, f"journal_size_limit={LARGEST_LOG_BYTES}"]
