"""On PostgreSQL: the server's process is ended in the middle of a command, again and again.

The ledger itself finds out whether the command was carried out, by its id, and answers. The auditor
of the simulation judges the answer and the events: no command may count twice, or be lost.
"""

from datetime import timedelta
from random import Random
from typing import Any

import psycopg

import turnledger
from tests.postgresql.server import server
from turnledger.domain.duration import to_microseconds
from turnledger.infrastructure.postgresql import PostgresqlStore
from turnledger.proving.auditor import Auditor
from turnledger.proving.calls import Step, carry_out
from turnledger.proving.hunting import quiet
from turnledger.proving.rules import Broken, Happened
from turnledger.proving.settling import WayOut
from turnledger.proving.wishes import Wishes
from turnledger.proving.world import SETTINGS, START

STEPS, ENDED = 60, 0.35  # this part of the calls
_END = "SELECT pg_terminate_backend(%s)"


class _Ending:
    """A cursor whose connection is ended before or after one of its statements."""

    def __init__(self, cursor: Any, world: "_World") -> None:
        self._cursor, self._world = cursor, world

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)

    def __iter__(self) -> Any:
        return iter(self._cursor)

    def execute(self, *given: Any, **more: Any) -> Any:
        """Run a statement; the end comes at the one that was chosen."""
        world = self._world
        world.statements += 1
        if world.end_at == (world.statements, "before"):
            world.end(self._cursor.connection)
        done = self._cursor.execute(*given, **more)
        if world.end_at == (world.statements, "after"):
            world.end(self._cursor.connection)
        return done


class _World:
    """A ledger on a server, and a second connection that ends those of the first."""

    def __init__(self, url: str, conninfo: str) -> None:
        self.now = START
        self.statements, self.ended = 0, 0
        self.end_at: tuple[int, str] | None = None
        self.ledger = turnledger.open(url, clock=lambda: self.now, settings=SETTINGS)
        self._beside = psycopg.connect(conninfo, autocommit=True)
        store: Any = self.ledger._backend.store
        assert isinstance(store, PostgresqlStore)
        new: Any = store._new_held

        def watched() -> Any:
            held = new()
            held.cursor = _Ending(held.cursor, self)
            return held

        store._new_held = watched
        store.drop(store.held())

    def end(self, connection: Any) -> None:
        """End the server's process of a connection, once."""
        self.end_at = None
        self.ended += 1
        self._beside.execute(_END, (connection.info.backend_pid,))

    def take(self, step: Step, auditor: Auditor, end_at: tuple[int, str] | None) -> None:
        """Take a step, and let it be judged."""
        self.now = START + timedelta(seconds=step.seconds)
        self.statements, self.end_at = 0, end_at
        answer = carry_out(self.ledger, step, START)
        self.end_at = None
        page = self.ledger.log.read(after=auditor.position, limit=1_000)
        events = [
            Happened(
                one.position, one.stream_id, one.type, one.data, to_microseconds(one.recorded_at)
            )
            for one in page
        ]
        auditor.hear(step, self.now, answer, events)

    def close(self) -> None:
        """End all of it."""
        self._beside.close()
        self.ledger.close()


def _history(world: _World, seed: int) -> None:
    """A random history in an empty ledger.

    Raises:
        Broken: A rule doesn't hold.
    """
    random, auditor = Random(seed), Auditor(SETTINGS)
    wishes = Wishes(Random(f"{seed} wishes"), auditor)
    steps: list[Step] = []
    for _ in range(STEPS):
        steps.append(wishes.next())
        where = (random.randint(1, 4), random.choice(("before", "after")))
        world.take(steps[-1], auditor, where if random.random() < ENDED else None)
    latest = max(step.seconds for step in steps)
    for step in WayOut(auditor, STEPS, latest).steps():
        world.take(step, auditor, None)
    found = world.ledger.verify()
    if found.findings:
        raise Broken("a verification finds nothing", found=found.findings[:3])


def answers(points: int, seed: int) -> dict[str, Any]:
    """So many ends of server processes."""
    ended, number, broken = 0, seed, ""
    with quiet(), server() as running, running.new_database() as template:
        turnledger.open(template.url).close()
        name = template.url.rpartition("/")[2]
        while ended < points and not broken:
            with running.new_database(name) as database:
                world = _World(database.url, database.conninfo)
                try:
                    _history(world, number)
                except Broken as error:
                    broken = f"seed {number}: {error}"
                finally:
                    world.close()
                ended, number = ended + world.ended, number + 1
    said = {"ended in a command": ended, "histories": number - seed, "broken": broken}
    return {**said, "good": not broken and ended >= points}
