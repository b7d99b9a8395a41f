"""Connections to a server: one for each thread, closed with it."""

import threading
import weakref
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import psycopg
from sqlalchemy import create_engine, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from turnledger.domain.errors import StoreError, StoreUnavailable
from turnledger.domain.settings import Settings
from turnledger.infrastructure import numbering
from turnledger.infrastructure.announcer import Announcer
from turnledger.infrastructure.forking import tell_of_forks
from turnledger.infrastructure.held import Held
from turnledger.infrastructure.postgresql_failures import translated
from turnledger.infrastructure.statement import Row


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
        shown = parsed.difference_update_query(["password", "sslpassword"])
        self.url = shown.render_as_string(hide_password=True)
        self.settings = settings
        self.read_only = read_only
        self._patience = settings.busy_timeout.total_seconds()
        self.engine = create_engine(
            parsed, creator=self.connect, poolclass=NullPool, pool_reset_on_return=None
        )
        self._arguments = self.engine.dialect.create_connect_args(parsed)[1]
        self._closed = False
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        self._local = threading.local()
        self._held: weakref.WeakSet[Held] = weakref.WeakSet()
        self._announcer = Announcer(self.connect, numbering.number)

    def connections(self) -> Iterable[Held]:
        """Those of all threads."""
        return list(self._held)

    def after_fork(self) -> None:
        """In a child: use connections of its own."""
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
            held.process = held.cursor.execute(numbering.PROCESS).fetchone()
        except (psycopg.Error, DBAPIError) as error:
            raise translated(cause_of(error), self.url) from error
        self._local.held = held
        self._held.add(held)
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
    given: dict[str, Any] = {"application_name": "turnledger", **arguments}
    given["options"] = " ".join(filter(None, [given.get("options"), *options]))
    return psycopg.connect(**given, autocommit=True)


def cause_of(error: psycopg.Error | DBAPIError) -> psycopg.Error:
    """The driver's error, also where SQLAlchemy has wrapped it."""
    if isinstance(error, psycopg.Error):
        return error
    return error.orig if isinstance(error.orig, psycopg.Error) else psycopg.Error(str(error))
