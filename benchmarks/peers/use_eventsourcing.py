"""eventsourcing with its own recorders: an application, and an aggregate for each key."""

from typing import Any, ClassVar
from uuid import NAMESPACE_URL, UUID, uuid5

import driving
import psycopg
from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.domain import Aggregate, event
from working import Peer, Turn


class Thread(Aggregate):
    """What was put in, counted."""

    @event("Started")
    def __init__(self, key: str) -> None:
        """Start with a key."""
        self.key, self.count = key, 0

    @event("Appended")
    def append(self, submission: Turn) -> None:  # noqa: ARG002 - the event's
        """Record a submission."""
        self.count += 1

    @staticmethod
    def create_id(key: str) -> UUID:
        """The same for the same key."""
        return uuid5(NAMESPACE_URL, key)


class Eventsourcing(Peer):
    """Appends only: it is no queue."""

    workers: ClassVar[dict[str, str]] = dict.fromkeys(("sqlite", "postgresql"), "none")
    note: ClassVar[str] = "no queue: one event an append, aggregates from its cache"

    def prepare(self) -> str:
        """Make the tables."""
        self.open()
        datastore: Any = self._app.recorder.datastore  # type: ignore[attr-defined]
        if self.store == "sqlite":
            with datastore.transaction(commit=False) as cursor:
                return driving.sqlite_durability(cursor.sqlite_cursor.connection)
        with psycopg.connect(self.where) as connection:
            return driving.postgresql_durability(connection)

    def open(self) -> None:
        """Make the application."""
        self._app = Application[UUID](env={"AGGREGATE_CACHE_MAXSIZE": "1000", **self._environment})
        self._app.repository.deepcopy_from_cache = False  # nobody else has the aggregates

    def put(self, turn: Turn) -> None:
        """Append an event to the key's aggregate."""
        thread: Thread
        try:
            thread = self._app.repository.get(Thread.create_id(turn["key"]))
        except AggregateNotFoundError:
            thread = Thread(turn["key"])
        thread.append(turn)
        self._app.save(thread)

    @property
    def _environment(self) -> dict[str, str]:
        if self.store == "sqlite":
            return {
                "PERSISTENCE_MODULE": "eventsourcing.sqlite",
                "SQLITE_DBNAME": f"{self.where}/eventsourcing.db",
                "AGGREGATE_CACHE_FASTFORWARD": "n",
            }
        info = psycopg.conninfo.conninfo_to_dict(self.where)
        return {
            "PERSISTENCE_MODULE": "eventsourcing.postgres",
            "POSTGRES_DBNAME": str(info["dbname"]),
            "POSTGRES_HOST": str(info["host"]),
            "POSTGRES_PORT": str(info["port"]),
            "POSTGRES_USER": str(info["user"]),
            "POSTGRES_PASSWORD": str(info.get("password", "")),
            "AGGREGATE_CACHE_FASTFORWARD": "n",
        }
