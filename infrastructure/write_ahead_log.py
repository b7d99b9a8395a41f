"""Looking after SQLite's write-ahead log: our own checkpoints, under the write lock (ADR 4)."""

import logging
import sqlite3
from pathlib import Path
from typing import Protocol

from turnledger.domain.errors import StoreError
from turnledger.infrastructure.held import Held

_log = logging.getLogger(__name__)

CHECKPOINT_COMMITS = 500  # after so many the write-ahead log is copied into the database,
CHECKPOINT_BYTES = 4 * 1024 * 1024  # or after so many bytes of events,
LOOK_COMMITS = 50  # or when it is found too large: its size is looked at after so many
LARGEST_LOG_BYTES = 16 * 1024 * 1024  # what a log is cut down to once it is empty


class Store(Protocol):
    """What the log needs of its store."""

    shared: str | None

    def connect(self) -> sqlite3.Connection:
        """A new connection."""
        ...

    def check_file(self) -> None:
        """Refuse to go on, if the path leads to another file."""


class WriteAheadLog:
    """The log beside a ledger's file.

    Attributes:
        path: Where it is.
        uncopied_bytes: Of events that were written since the last checkpoint.
    """

    def __init__(self, path: Path, store: Store) -> None:
        """Remember whose log it is."""
        self.path = path.with_name(f"{path.name}-wal")
        self._store = store
        self._commits = 0
        self.uncopied_bytes = 0

    def bytes(self) -> int:
        """Its size; 0 if there is none."""
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def committed(self, held: Held) -> None:
        """Count a commit; copy the log into the database every so often.

        Never at the cost of the command, which has succeeded: what goes wrong is logged.
        """
        self._commits += 1
        large = self.uncopied_bytes > CHECKPOINT_BYTES
        if not large and self._commits % LOOK_COMMITS:
            return
        if large or self._commits >= CHECKPOINT_COMMITS or self.bytes() > LARGEST_LOG_BYTES:
            try:
                self.checkpoint(held)
            except (sqlite3.Error, StoreError) as error:
                busy = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_BUSY
                level = logging.DEBUG if busy else logging.WARNING
                _log.log(level, "the write-ahead log wasn't copied: %s", error)

    def checkpoint(self, held: Held) -> None:
        """Copy the log into the database, while nobody can write.

        The caller's connection holds SQLite's write lock, so that no writer of any process can
        start the log anew under the checkpoint: the race that corrupts can't happen. It waits
        neither for another writer nor for a reader.
        """
        if self._store.shared:
            return
        self._store.check_file()
        with held.without_waiting():
            held.cursor.execute("BEGIN IMMEDIATE")
        try:
            second = self._store.connect()
            try:
                second.execute("PRAGMA wal_checkpoint(PASSIVE)")
            finally:
                second.close()
            self._commits = self.uncopied_bytes = 0
        finally:
            held.driver.rollback()
