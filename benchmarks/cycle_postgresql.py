"""The sides of benchmarks/cycle.py on PostgreSQL, and the processes that work on them.

Plain SQL is what a good engineer writes by hand with psycopg: a table without history, one
statement a step in autocommit, claims by FOR UPDATE SKIP LOCKED, fences by epoch.
"""

import json
import multiprocessing
import resource
import sys
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter, time_ns
from typing import Any, Protocol, Self
from uuid import uuid4

import psycopg

import turnledger

SIDES = ("plain", "turnledger")
LEASE_MICROSECONDS = 60_000_000

_TABLE = """
CREATE TABLE IF NOT EXISTS queued_turns (
    queued_turn_id text NOT NULL PRIMARY KEY, thread_id text NOT NULL,
    queue_order bigint NOT NULL, submission text NOT NULL, state text NOT NULL,
    failure text, dispatch_id text, attempts integer NOT NULL, owner text,
    epoch bigint NOT NULL, expires_at bigint, not_before bigint,
    created_at bigint NOT NULL, updated_at bigint NOT NULL,
    UNIQUE (thread_id, queue_order), UNIQUE (thread_id, dispatch_id)
);
CREATE INDEX IF NOT EXISTS queued_turns_pending ON queued_turns (created_at, thread_id)
    WHERE state = 'pending';
CREATE INDEX IF NOT EXISTS queued_turns_held ON queued_turns (expires_at) WHERE owner IS NOT NULL;
"""
_APPEND = """
INSERT INTO queued_turns (thread_id, queue_order, queued_turn_id, submission, state, attempts,
                          epoch, created_at, updated_at)
SELECT %(thread)s, coalesce(max(queue_order), -1) + 1, %(id)s, %(submission)s, 'pending', 0,
       0, %(now)s, %(now)s
FROM queued_turns WHERE thread_id = %(thread)s
"""
_CLAIM = """
UPDATE queued_turns SET state = 'claimed', owner = 'worker', epoch = epoch + 1,
                        expires_at = %(expires)s, updated_at = %(now)s
WHERE queued_turn_id = (
    SELECT queued_turn_id FROM queued_turns WHERE thread_id = %(thread)s AND state = 'pending'
    ORDER BY queue_order LIMIT 1 FOR UPDATE SKIP LOCKED
)
RETURNING queued_turn_id, epoch, submission
"""
_DISPATCH = """
UPDATE queued_turns SET state = 'dispatching', dispatch_id = %s, updated_at = %s
WHERE queued_turn_id = %s AND epoch = %s
"""
_ACK = "DELETE FROM queued_turns WHERE queued_turn_id = %s AND epoch = %s"


class Side(Protocol):
    """One of the two ways."""

    def append(self, thread_id: str, submission: dict[str, Any]) -> None:
        """Put the submission in."""

    def cycle(self, thread_id: str, submission: dict[str, Any]) -> None:
        """Put it in, claim it, dispatch it, take it out."""


class PlainPsycopg:
    """A table that holds the present, and no history."""

    def __init__(self, url: str) -> None:
        """Connect."""
        self._db = psycopg.connect(url.replace("+psycopg", ""), autocommit=True)

    def append(self, thread_id: str, submission: dict[str, Any]) -> None:
        """Put the submission in."""
        given = {"thread": thread_id, "id": str(uuid4()), "submission": json.dumps(submission)}
        self._db.execute(_APPEND, {**given, "now": time_ns() // 1000})

    def cycle(self, thread_id: str, submission: dict[str, Any]) -> None:
        """Put it in, claim it, dispatch it, take it out."""
        self.append(thread_id, submission)
        now = time_ns() // 1000
        given = {"thread": thread_id, "now": now, "expires": now + LEASE_MICROSECONDS}
        claimed = self._db.execute(_CLAIM, given).fetchone()
        if claimed is None:
            sys.exit("nothing could be claimed: the comparison is void")
        turn_id, epoch, stored = claimed
        json.loads(stored)
        self._db.execute(_DISPATCH, (str(uuid4()), now, turn_id, epoch))
        self._db.execute(_ACK, (turn_id, epoch))


class Turnledger:
    """The same with every event kept, fenced and hashed."""

    def __init__(self, url: str) -> None:
        """Open the ledger."""
        settings = turnledger.Settings(max_visible_turns=1_000_000)
        self._queue = turnledger.open(url, settings=settings).queue

    def append(self, thread_id: str, submission: dict[str, Any]) -> None:
        """Put the submission in."""
        self._queue.append(thread_id, submission)

    def cycle(self, thread_id: str, submission: dict[str, Any]) -> None:
        """Put it in, claim it, dispatch it, take it out."""
        self._queue.append(thread_id, submission)
        claim = self._queue.claim_head(thread_id, "worker")
        if claim is None:
            sys.exit("nothing could be claimed: the comparison is void")
        self._queue.start_dispatch(claim, str(uuid4()))
        self._queue.ack(claim)


def work(
    number: int, urls: tuple[str, str], submission: dict[str, Any], orders: Connection
) -> None:
    """A worker: does what it is told, in 25 threads of its own, and says how long it took."""
    sides: dict[str, Side] = {"plain": PlainPsycopg(urls[0]), "turnledger": Turnledger(urls[1])}
    threads = [f"thread-{number}-{each}" for each in range(25)]
    orders.send("ready")
    while (order := orders.recv()) is not None:
        side, what, times = order
        doing = getattr(sides[side], what)
        cpu, start = resource.getrusage(resource.RUSAGE_SELF), perf_counter()
        for each in range(times):
            doing(threads[each % len(threads)], submission)
        took, now = perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
        used = now.ru_utime + now.ru_stime - cpu.ru_utime - cpu.ru_stime
        orders.send((took, used))


class Workers:
    """Processes that work at the same time; a context manager."""

    def __init__(self, count: int, urls: tuple[str, str], submission: dict[str, Any]) -> None:
        """Start them."""
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self._stack = ExitStack()
        for number in range(count):
            mine, theirs = context.Pipe()
            process = context.Process(target=work, args=(number, urls, submission, theirs))
            process.start()
            self._stack.callback(process.join)
            self._pipes.append(mine)
        for pipe in self._pipes:
            pipe.recv()

    def seconds(self, side: str, what: str, times: int) -> tuple[float, float]:
        """How long it takes all of them to do it so often each, and the CPU that one used."""
        start = perf_counter()
        for pipe in self._pipes:
            pipe.send((side, what, times))
        answers = [pipe.recv() for pipe in self._pipes]
        return perf_counter() - start, sum(used for _, used in answers) / len(answers)

    def __enter__(self) -> Self:
        """They are ready."""
        return self

    def __exit__(self, *_: object) -> None:
        """End them."""
        for pipe in self._pipes:
            pipe.send(None)
        self._stack.close()


def prepare(plain_url: str) -> None:
    """Make the plain table."""
    with psycopg.connect(plain_url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(_TABLE)


def private_server(stack: ExitStack) -> tuple[str, str]:
    """Two databases on a server of our own: for plain SQL, and for turnledger."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.postgresql.server import server  # noqa: PLC0415 - of a checkout only

    running = stack.enter_context(server())
    plain = stack.enter_context(running.new_database())
    return plain.url, stack.enter_context(running.new_database()).url
