"""The events about something, in how many streams they may stand.

A work item may have a hundred thousand streams: their names go to the database as one parameter.
First the positions are found, in the index on stream and version alone; then their rows are read.
"""

import json
from collections.abc import Iterator, Sequence

from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import POSTGRESQL, SQLITE, Cursor, Row

_COLUMNS = ", ".join(column.name for column in events.columns)
# From the streams to their events, never the other way round, whatever is known of the tables:
# CROSS on SQLite, and OFFSET 0 on PostgreSQL, keep the order in which they are written.
_POSITIONS = {
    SQLITE: (
        "SELECT event.position FROM (SELECT DISTINCT value AS stream_id FROM json_each(?)) "
        "AS stream CROSS JOIN events AS event ON event.stream_id = stream.stream_id "
        "WHERE event.position > ? AND event.position <= ? ORDER BY event.position LIMIT ?"
    ),
    POSTGRESQL: (
        "SELECT place.position FROM (SELECT DISTINCT unnest(%s::text[]) AS stream_id) AS stream "
        "CROSS JOIN LATERAL (SELECT id FROM stored_events "
        "WHERE stored_events.stream_id = stream.stream_id OFFSET 0) AS event "
        "CROSS JOIN LATERAL (SELECT position FROM positions "
        "WHERE positions.event_id = event.id OFFSET 0) AS place "
        "WHERE place.position > %s AND place.position <= %s ORDER BY place.position LIMIT %s"
    ),
}
_ROWS = {
    SQLITE: (
        f"SELECT {_COLUMNS} FROM events "  # noqa: S608 - the names of our columns
        "WHERE position IN (SELECT value FROM json_each(?)) ORDER BY position"
    ),
    POSTGRESQL: (
        f"SELECT {_COLUMNS} FROM events "  # noqa: S608 - as above
        "WHERE position = ANY(%s::bigint[]) ORDER BY position"
    ),
}


def positions_in(  # noqa: PLR0913 - where, of what, and how far
    cursor: Cursor, dialect: str, streams: Sequence[str], *, after: int, until: int, limit: int
) -> list[int]:
    """The positions of the events of some streams, in order.

    Args:
        cursor: Sees the events.
        dialect: Of the store.
        streams: Their names.
        after: Behind this position.
        until: Up to this one.
        limit: At most so many.
    """
    given = (_list(dialect, streams), after, until, limit)
    return [position for (position,) in cursor.execute(_POSITIONS[dialect], given)]


def rows_at(cursor: Cursor, dialect: str, positions: Sequence[int]) -> Iterator[Row]:
    """The whole rows of the events at some positions, in order."""
    return iter(cursor.execute(_ROWS[dialect], (_list(dialect, positions),)))


def _list(dialect: str, values: Sequence[str] | Sequence[int]) -> object:
    """Many values as one parameter."""
    return json.dumps(list(values)) if dialect == SQLITE else list(values)
