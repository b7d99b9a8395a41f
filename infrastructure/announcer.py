"""Telling the other processes that something was committed, after it was.

A NOTIFY inside a command's transaction would make all commits of the server queue for one lock.
So a thread of its own sends them: one at once, then one for all the commits of ten milliseconds. If
it dies before, the readers find out by looking. A second channel is for workers, who needn't wake
at every commit: it says only that there may be something to do. Every five seconds it also gives
positions to what was written, so that little is left to do for who reads the log first.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg
from psycopg import sql

from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.statement import Cursor

CHANNEL = "turnledger"
WORK_CHANNEL = "turnledger_work"
_NAME = "turnledger announcer"  # on the server
# What is announced is on the disk already: the announcement itself, which the server commits like
# anything else, needs no disk and no standby.
_BEGIN = "BEGIN; SET LOCAL synchronous_commit = off"
_CHANGE = sql.SQL(f"{_BEGIN}; NOTIFY {CHANNEL}; COMMIT")
_WORK = sql.SQL(f"{_BEGIN}; NOTIFY {WORK_CHANNEL}, {{}}; NOTIFY {CHANNEL}; COMMIT")
_NUMBERING_SECONDS = 5.0
_PAUSE_SECONDS = 0.01  # between two announcements: what is committed meanwhile shares one


class Announcer:
    """Sends NOTIFY, from a thread that is started with the first announcement."""

    def __init__(
        self, connect: Callable[[], psycopg.Connection[Any]], number: Callable[[Cursor], None]
    ) -> None:
        """Take a way to connect, and to give positions."""
        self._connect = connect
        self._number = number
        self._wanted = threading.Event()
        self._work: str | None = None  # where somebody may have something to do
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def announce(self, work: str | None = None) -> None:
        """Say that something was committed. Returns at once.

        Args:
            work: A stream that may give workers something to do; it is told them.
        """
        if work is not None:
            self._work = work
        self._wanted.set()
        if self._thread is None:
            with self._guard:
                if self._thread is None and not self._closed:
                    self._thread = threading.Thread(
                        target=self._run, name="turnledger-announcer", daemon=True
                    )
                    self._thread.start()

    def close(self) -> None:
        """Send what is left, and stop."""
        with self._guard:
            self._closed = True
            thread = self._thread
        if thread is not None and thread.is_alive():
            self._wanted.set()
            thread.join(timeout=5)

    def _run(self) -> None:
        connection: psycopg.Connection[Any] | None = None
        numbered_at = steady()
        while not self._closed or self._wanted.is_set():
            self._wanted.wait()
            self._wanted.clear()
            work, self._work = self._work, None
            try:
                if connection is None:
                    connection = self._connect()
                    connection.execute(f"SET application_name = '{_NAME}'")
                connection.execute(_CHANGE if work is None else _WORK.format(work))
                if steady() >= numbered_at + _NUMBERING_SECONDS:
                    self._number(connection.cursor())
                    numbered_at = steady()
            except psycopg.Error:
                if connection is not None:
                    connection.close()
                connection = None
            if self._closed:
                break
            time.sleep(_PAUSE_SECONDS)
        if connection is not None:
            connection.close()
