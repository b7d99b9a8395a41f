"""What is asked on a connection to a server, and what has been written on it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import psycopg
from psycopg.pq import TransactionStatus

from turnledger.infrastructure import numbering
from turnledger.infrastructure.held import Held
from turnledger.infrastructure.postgresql_recorder import Mark
from turnledger.infrastructure.statement import Row


class Written(NamedTuple):
    """What was written in a unit of work: how often, what last, and how the transaction is."""

    times: int
    mark: Mark | None
    status: TransactionStatus


class Questions:
    """A cursor for single queries, each of which is asked until it is answered."""

    def __init__(self, ask: Callable[[Callable[[Held], Any]], Any]) -> None:
        """Take the way to ask."""
        self._ask = ask

    def execute(self, sql: str, arguments: Row | None = None) -> Any:
        """Ask; returns the cursor that has the answer."""
        return self._ask(lambda held: held.cursor.execute(sql, arguments))


def written(held: Held) -> Written:
    """What was written in the unit of work that is under way."""
    return Written(held.writes, held.mark, status(held))


def undo(held: Held, then: Written, *, savepoint: bool) -> bool:
    """Undo what was written since; see `store.Store`."""
    if not savepoint:
        return then == written(held)
    try:
        held.cursor.execute("ROLLBACK TO SAVEPOINT command")
        held.cursor.execute("RELEASE SAVEPOINT command")
    except psycopg.Error:
        return False
    held.mark = then.mark
    return True


def begin_snapshot(held: Held) -> Held:
    """Let what follows see one state of the database."""
    held.cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    return held


def number(held: Held) -> None:
    """Give positions to what has none."""
    numbering.number(held.cursor)


def status(held: Held) -> TransactionStatus:
    """How the transaction under way is, if there is one."""
    return TransactionStatus(held.driver.info.transaction_status)
