"""`ledger.history`: all that happened to one thing, over all its aggregates."""

from turnledger.domain.errors import InvalidPayload
from turnledger.domain.identifier import LARGEST, check_count, check_identifier
from turnledger.infrastructure.about import positions_in, rows_at
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.subject import Kind, Subject, streams_of
from turnledger.log import Cursor, Log, RecordedEvent

_KINDS: dict[str, Kind] = {
    "thread_id": "thread",
    "work_item_id": "work_item",
    "turn_id": "turn",
    "timer_id": "timer",
    "run_id": "run",
    "operation_key": "operation",
}


def subject_of(**names: str | None) -> Subject:
    """What is meant, by the one argument that was given.

    Raises:
        InvalidInput: None was given, or several, or one that can't be an id.
    """
    given = {name: value for name, value in names.items() if value is not None}
    if len(given) != 1:
        reason = f"give one of them, not {' and '.join(given) if given else 'none'}"
        raise InvalidPayload(" or ".join(names), reason)
    [(name, value)] = given.items()
    return Subject(_KINDS[name], check_identifier(name, value))


def history(
    backend: Backend, log: Log, subject: Subject, after: int | Cursor, limit: int
) -> list[RecordedEvent]:
    """The events about something behind a position, in order; see `Ledger.history`."""
    start, most = log.start(after), check_count("limit", limit)
    store, dialect = backend.store, backend.store.dialect
    store.number(beside=True)
    with store.reading(snapshot=True, damaged=True) as cursor:
        streams = streams_of(cursor, dialect, subject)
        found = positions_in(cursor, dialect, streams, after=start, until=LARGEST, limit=most)
        rows = list(rows_at(cursor, dialect, found))
    return backend.contents.opened([log.as_event(row) for row in rows])
