"""`ledger.as_of`: the ledger as it was at a position or a time."""

import logging
from dataclasses import dataclass
from datetime import datetime

from turnledger.domain.duration import check_time, from_microseconds, to_microseconds
from turnledger.domain.errors import InvalidPayload
from turnledger.history import subject_of
from turnledger.infrastructure import past
from turnledger.infrastructure.backend import Backend
from turnledger.log import Cursor, Log

_log = logging.getLogger(__name__)
_MOST_NAMED = 20  # in the log; `unread` has them all

At = int | Cursor | datetime


@dataclass(frozen=True, slots=True)
class Past:
    """What is needed for a ledger as it was.

    Attributes:
        backend: On the replayed database.
        position: Of the last event that it knows.
        now: What its clock shows.
        unread: The streams that couldn't be replayed to their end, with the reason.
    """

    backend: Backend
    position: int
    now: datetime
    unread: dict[str, str]


def past_of(
    backend: Backend, log: Log, at: At, *, thread_id: str | None, work_item_id: str | None
) -> Past:
    """Replay a ledger into memory; see `Ledger.as_of`."""
    names = {"thread_id": thread_id, "work_item_id": work_item_id}
    subject = None if names == dict.fromkeys(names) else subject_of(**names)
    position, stored_now = _moment(backend, log, at)
    store, unread = past.replayed(backend.store, position, subject)
    _complain(store.url, unread)
    now = from_microseconds(stored_now)
    then = Backend(store, lambda: now, backend.settings, backend.contents.for_reading())
    return Past(then, position, now, unread)


def _moment(backend: Backend, log: Log, at: object) -> past.Moment:
    """Which position is meant, and what the clock showed.

    Raises:
        InvalidInput: No such moment can be meant.
        OtherGeneration: The cursor is of before a restore.
    """
    store = backend.store
    if isinstance(at, datetime):
        time = to_microseconds(check_time("at", at))
        store.number(beside=True)
        return past.moment_at(store, time)
    if not isinstance(at, int | Cursor) or isinstance(at, bool):
        reason = "must be a position, a cursor or a time with its timezone"
        raise InvalidPayload("at", f"{reason}, not {at!r}")
    position = log.start(at) if isinstance(at, Cursor) else at
    if position < 0:
        raise InvalidPayload("at", f"must be a position from 0 on, not {position}")
    store.number(beside=True)
    last = store.last_position()
    if position > last:
        raise InvalidPayload("at", f"is position {position:,}, but the last one is {last:,}")
    return past.moment_of(store, position)


def _complain(url: str, unread: dict[str, str]) -> None:
    lines = past.unread_lines(unread)
    for line in lines[:_MOST_NAMED]:
        _log.warning("%s: %s", url, line)
    if len(lines) > _MOST_NAMED:
        _log.warning("%s: and %d more streams", url, len(lines) - _MOST_NAMED)
