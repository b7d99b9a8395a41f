"""The rows about what can't be replayed, as a store has them: they move along as they are."""

from collections.abc import Iterable, Iterator

from sqlalchemy import Table, bindparam, select

from turnledger.domain import coordinator_turn, thread_queue, timer
from turnledger.infrastructure.copy_target import ThreadRows
from turnledger.infrastructure.replay import Replay
from turnledger.infrastructure.schema import TABLES, streams
from turnledger.infrastructure.statement import Cursor, run, statement
from turnledger.infrastructure.turn_replay import TURN_COLUMNS, TURN_TABLES
from turnledger.projections.due_timers import due_timers
from turnledger.projections.receipts import receipts

_THREAD_COLUMN = {receipts.name: "scope"}  # where it has another name
_OF_THREADS = [table for table in TABLES if {"thread_id", "scope"} & set(table.c.keys())]


def unread_rows(
    cursor: Cursor, dialect: str, replay: Replay, names: Iterable[str]
) -> Iterator[ThreadRows]:
    """The rows about streams with events of a newer release.

    Args:
        cursor: Of the store that they are read from.
        dialect: Of that store.
        replay: Has seen all events, and says what it couldn't read.
        names: The streams that there are.
    """

    def found(table: Table, column: str, name: str) -> ThreadRows:
        query = statement(select(table).where(table.c[column] == bindparam("name")))
        rows = run(cursor, dialect, query, {"name": name}).fetchall()
        return ThreadRows(table, (column, name), rows)

    threads = replay.unread_threads()
    for thread_id in sorted(threads):
        for table in _OF_THREADS:
            column = _THREAD_COLUMN.get(table.name, "thread_id")
            scopes = {thread_id, f"thread:{thread_id}"} if column == "scope" else {thread_id}
            yield from (found(table, column, scope) for scope in sorted(scopes))
    queues = {thread_queue.stream_id(thread_id) for thread_id in threads}
    unread = {name for name in names if replay.is_unread_stream(name)}
    for stream_id in sorted(queues | unread):
        yield found(streams, "stream_id", stream_id)
    for table, column, name in _things(replay):
        yield found(table, column, name)


def _things(replay: Replay) -> Iterator[tuple[Table, str, str]]:
    """The rows about what isn't a thread, and can't be replayed: table, column, name."""
    for timer_id in sorted(replay.unread_timers()):
        yield due_timers, "timer_id", timer_id
        yield receipts, "stream_id", timer.stream_id(timer_id)
    for turn_id in sorted(replay.unread_turns()):
        for table in TURN_TABLES:
            yield table, TURN_COLUMNS[table.name], turn_id
        yield receipts, "stream_id", coordinator_turn.stream_id(turn_id)
    for table, key in replay.unread_operations():
        yield table, table.primary_key.columns[0].name, key
