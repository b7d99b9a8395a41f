"""Connections to a server: one for each thread, closed with it."""

import os
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import psycopg
from sqlalchemy import create_engine, make_url
from sqlalchemy.pool import NullPool

from turnledger.domain.errors import StoreError, StoreUnavailable
from turnledger.domain.settings import Settings
from turnledger.infrastructure import numbering
from turnledger.infrastructure.announcer import Announcer
from turnledger.infrastructure.clock import steady
from turnledger.infrastructure.held import Held
from turnledger.infrastructure.postgresql_failures import translated
from turnledger.infrastructure.statement import Row

_IDLE_SECONDS = 0.5  # a connection that was idle so long is asked whether it is still there


class Connections:
    """The connections of a store on a server.

    Attributes:
        url: For messages; without a password.
        settings: How long to wait, and how durably to write.
        read_only: Whether nothing may be changed.
    """

    def __init__(self, url: str, settings: Settings, *, read_only: bool = False) -> None:
        """Remember where it is; nothing is opened yet."""
        parsed = make_url(url).set(drivername="postgresql+psycopg")
        self.url = parsed.render_as_string(hide_password=True)
        self.settings = settings
        self.read_only = read_only
        self._patience = settings.busy_timeout.total_seconds()
        self.engine = create_engine(parsed, creator=self.connect, poolclass=NullPool)
        self._arguments = self.engine.dialect.create_connect_args(parsed)[1]
        self._closed = False
        self._begin()
        stores.add(self)

    def _begin(self) -> None:
        self._local = threading.local()
        self._held: weakref.WeakSet[Held] = weakref.WeakSet()
        self._announcer = Announcer(self.connect)

    def after_fork(self) -> None:
        """In a child: use connections of its own, and never close its parent's."""
        for held in self._held:
            held.abandon()
        self._begin()

    def connect(self) -> psycopg.Connection[Row]:
        """A new connection, configured.

        Raises:
            psycopg.OperationalError: The server can't be reached.
        """
        return connect(self._arguments, self.settings, read_only=self.read_only)

    def held(self) -> Held:
        """This thread's connection.

        Raises:
            Disconnected: The server can't be reached.
        """
        held: Held | None = getattr(self._local, "held", None)
        if held is None or held.driver.closed:
            held = self._new_held()
        return held

    def _new_held(self) -> Held:
        if self._closed:
            raise StoreError(self.url, "the ledger was closed")
        try:
            held = Held(self.engine.raw_connection())
        except psycopg.Error as error:
            raise translated(error, self.url) from error
        self._local.held = held
        self._held.add(held)
        held.process = held.cursor.execute(numbering.PROCESS).fetchone()
        return held

    def unavailable(self, reason: object) -> StoreUnavailable:
        """The error for a server that can't be reached."""
        return StoreUnavailable(self.url, str(reason))

    def drop(self, held: Held) -> None:
        """Forget a connection that is of no more use."""
        with suppress(psycopg.Error):
            held.driver.close()
        self._local.held = None

    def close(self) -> None:
        """Close every thread's connection."""
        self._closed = True
        self._announcer.close()
        for held in list(self._held):
            held.close()
        self._held.clear()
        self._local = threading.local()
        self.engine.dispose()

    def answering(self) -> Held:
        """This thread's connection; a new one, if it was idle and the server has let go of it."""
        held = self.held()
        if held.owner is None and steady() - held.used_at > _IDLE_SECONDS:
            try:
                held.cursor.execute("SELECT 1")
            except psycopg.Error:
                self.drop(held)
                held = self.held()
        held.used_at = steady()
        return held


def connect(
    arguments: Mapping[str, Any], settings: Settings, *, read_only: bool
) -> psycopg.Connection[Row]:
    """A new connection, in autocommit.

    Args:
        arguments: libpq's, and psycopg's own.
        settings: How long to wait for others, and how durably to write.
        read_only: Nothing may be changed.

    Raises:
        psycopg.OperationalError: The server can't be reached.
    """
    options = [f"-c lock_timeout={int(settings.busy_timeout.total_seconds() * 1000)}"]
    if settings.synchronous == "NORMAL":
        options.append("-c synchronous_commit=off")
    if read_only:
        options.append("-c default_transaction_read_only=on")
    given = {"application_name": "turnledger", **arguments}
    given["options"] = " ".join(filter(None, [given.get("options"), *options]))
    return psycopg.connect(**given, autocommit=True)


stores: weakref.WeakSet[Connections] = weakref.WeakSet()


def _after_fork() -> None:
    for store in list(stores):
        store.after_fork()


os.register_at_fork(after_in_child=_after_fork)
