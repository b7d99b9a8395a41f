"""A primary with a synchronous standby: what one acknowledges, the other has on its disk."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import psycopg

from tests.postgresql.binaries import other_account, unavailable_if_the_system_refuses
from tests.postgresql.cluster import HOST, SUPERUSER, Cluster, free_port
from tests.postgresql.place import Place, new_place
from tests.postgresql.server import Database, binaries_at

STANDBY = "standby"  # what a primary calls its standby, and the slot for it
SECONDS = 60  # nothing here takes longer

# The function looks afresh each time; the view pg_stat_replication wouldn't, within a transaction.
_WAIT = """
DO $$ BEGIN
    WHILE NOT EXISTS (SELECT FROM pg_stat_get_wal_senders() WHERE {condition}) LOOP
        PERFORM pg_sleep(0.01);
    END LOOP;
END $$
"""


class StandbyPair:
    """Two servers, of which one is the primary; both keep their ports for ever.

    A commit waits for the standby as long as there is one. After `promote` there is none, and the
    new primary commits alone, until `rebuild` has given it one.
    """

    def __init__(self, primary: Cluster, other: Cluster) -> None:
        self._primary = primary
        self._other = other

    def begin(self) -> None:
        """Make the primary from nothing, and its standby."""
        self._primary.create()
        self._primary.start_anywhere()
        self._other.port = free_port()
        self.rebuild()

    def database(self, name: str = "postgres") -> Database:
        """How to reach a database on the primary, whichever that is; the socket is this one's."""
        ports = sorted((self._primary.port, self._other.port))
        hosts = "&".join(f"host={HOST}:{port}" for port in ports)
        rest = f"user={SUPERUSER} dbname={name}"
        return Database(
            f"postgresql+psycopg://{SUPERUSER}@/{name}?{hosts}&target_session_attrs=read-write",
            f"host={HOST},{HOST} port={','.join(map(str, ports))} {rest} "
            "target_session_attrs=read-write",
            f"host={self._primary.data.parent} port={self._primary.port} {rest}",
        )

    @property
    def primary_conninfo(self) -> str:
        """How to reach the primary, and not its follower."""
        return self._primary.conninfo("postgres")

    @property
    def other_conninfo(self) -> str:
        """How to reach the standby, or what was the primary before it was killed."""
        return self._other.conninfo("postgres")

    def kill_primary(self) -> None:
        """Kill all processes of the primary."""
        self._primary.kill()

    def promote(self) -> None:
        """Make the standby the primary; returns when it takes writes."""
        with self._connect(self._other) as connection:
            done = connection.execute("SELECT pg_promote(true, %s)", (SECONDS,)).fetchone()
        assert done == (True,), "the standby wasn't promoted in time"
        self._primary, self._other = self._other, self._primary

    def rebuild(self) -> None:
        """Make the other, which is dead, the standby of the primary; returns when it is in step."""
        self._other.copy(self._primary, STANDBY)
        self._other.start()
        with self._connect(self._primary) as connection:
            connection.execute(_WAIT.format(condition="state = 'streaming'").encode())
            connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = {STANDBY}")
            ((before, _),) = connection.execute(
                "SELECT clock_timestamp(), pg_reload_conf()"
            ).fetchall()
        self._wait_for_settings(before)

    def cut_off(self) -> None:
        """What is committed doesn't reach the standby from now on; returns when that is so."""
        with self._connect(self._other) as connection:
            connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
            connection.execute("SELECT pg_reload_conf()")
        with self._connect(self._primary) as connection:
            connection.execute(_WAIT.replace("NOT EXISTS", "EXISTS").format(condition="true"))

    def let_go(self) -> None:
        """Commits wait for the standby no more: it is an asynchronous one."""
        with self._connect(self._primary) as connection:
            connection.execute("ALTER SYSTEM RESET synchronous_standby_names")
            connection.execute("SELECT pg_reload_conf()")

    def fail_over(self) -> None:
        """Kill the primary and let the standby take over, with the dead one as its standby."""
        self.kill_primary()
        self.promote()
        self.rebuild()

    def _wait_for_settings(self, before: object) -> None:
        """Wait until every commit waits for the standby, which has all earlier ones too.

        A new session has its settings from the first process, so if they are newer than a time,
        that one has told the others to read theirs. It is the checkpointer that lets commits
        wait; it reads its settings before it makes a checkpoint, at the latest the second one.
        """
        loaded = False
        while not loaded:
            with self._connect(self._primary) as connection:
                query = "SELECT pg_conf_load_time() >= %s"
                ((loaded,),) = connection.execute(query, (before,)).fetchall()
        with self._connect(self._primary) as connection:
            connection.execute("CHECKPOINT")
            connection.execute("CHECKPOINT")
            ((stored,),) = connection.execute("SELECT pg_current_wal_flush_lsn()").fetchall()
            in_step = f"sync_state = 'sync' AND flush_lsn >= '{stored}'"
            connection.execute(_WAIT.format(condition=in_step).encode())

    def _connect(self, cluster: Cluster) -> "psycopg.Connection[tuple[Any, ...]]":
        options = f"-c statement_timeout={SECONDS}s -c synchronous_commit=local"
        return psycopg.connect(cluster.conninfo("postgres"), autocommit=True, options=options)


@contextmanager
def standby_pair() -> Generator[StandbyPair]:
    """A primary and its standby; at the end both are stopped, and their folder gone.

    Raises:
        Unavailable: None can be started here.
    """
    place, pair = _started()
    try:
        yield pair
    finally:
        place.leave(wait=True)


def _started() -> tuple[Place, StandbyPair]:
    """A new pair."""
    with unavailable_if_the_system_refuses():
        account = other_account()
        place = new_place(account)
        try:
            binaries = binaries_at(place, account)
            pair = StandbyPair(Cluster(binaries, "one"), Cluster(binaries, "two"))
            pair.begin()
        except BaseException:
            place.leave(wait=True)
            raise
    return place, pair
