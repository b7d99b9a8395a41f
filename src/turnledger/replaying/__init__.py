"""`ledger.replay`: does the code of now answer every recorded command as it was answered then?

Nothing is called and nothing is written: states are folded in memory, and `decide` is pure.
"""

import heapq
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from sqlalchemy import bindparam

from turnledger.domain.errors import InvalidPayload
from turnledger.domain.identifier import check_identifier
from turnledger.infrastructure.application import REGISTRY
from turnledger.infrastructure.chain import Chain
from turnledger.infrastructure.mapper import LedgerMapper
from turnledger.infrastructure.rows import BEHIND, as_notification, behind
from turnledger.infrastructure.schema import events
from turnledger.infrastructure.statement import Row, Statement, run, statement
from turnledger.infrastructure.store import Store
from turnledger.infrastructure.subject import Subject, streams_of
from turnledger.replaying.again import DecidingAgain
from turnledger.replaying.report import Difference, ReplayedEvent, ReplayReport, Unread

__all__ = ["Difference", "ReplayReport", "ReplayedEvent", "Unread", "chosen", "replay"]

_PAGE = 2_000
_STREAMS = 100  # as many are read by one query
_NAMES = [f"stream_{number}" for number in range(_STREAMS)]
_SOME = statement(behind(events.c.stream_id.in_([bindparam(name) for name in _NAMES])))
_MAPPER = LedgerMapper(REGISTRY)

Progress = Callable[[int], None]


def chosen(thread_id: str | None, work_item_id: str | None) -> Subject | None:
    """What is to be replayed; None is all.

    Raises:
        InvalidPayload: Both are given.
    """
    if thread_id is not None and work_item_id is not None:
        raise InvalidPayload("work_item_id", "can't be given beside a thread_id")
    if thread_id is not None:
        return Subject("thread", check_identifier("thread_id", thread_id))
    if work_item_id is not None:
        return Subject("work_item", check_identifier("work_item_id", work_item_id))
    return None


def replay(store: Store, subject: Subject | None, progress: Progress | None) -> ReplayReport:
    """Decide again.

    Args:
        store: The ledger's.
        subject: The thread or the work item whose commands are looked at; None for all.
        progress: Is told how many events have been looked at, every so often.
    """
    again, chain = DecidingAgain(), Chain()
    store.number()
    rows = _rows(store, BEHIND, {}) if subject is None else _rows_of(store, subject)
    for row in rows:
        _take(again, chain, row)
        if progress is not None and again.events % _PAGE == 0:
            progress(again.events)
    return again.report()


def _take(again: DecidingAgain, chain: Chain, row: Row) -> None:
    """The next event; one whose bytes don't give its hash isn't trusted, nor what follows on it."""
    chain.position = row[0] - 1  # `verify` looks for gaps; here other streams may be left out
    _, flaws = chain.follow(row)
    position, stream_id = row[0], str(row[1])
    if flaws:
        again.events += 1
        again.close(position, stream_id, f"damaged: {'; '.join(flaws)}", damaged=True)
        return
    again.add(position, _MAPPER.to_domain_event(as_notification(row)))


def _rows_of(store: Store, subject: Subject) -> Iterator[Row]:
    """The events of a subject's streams, in the order of their positions."""
    with store.reading(damaged=True) as cursor:
        streams = streams_of(cursor, store.dialect, subject)
    parts: list[Iterator[Row]] = []
    for start in range(0, len(streams), _STREAMS):
        some = streams[start : start + _STREAMS]
        names = [*some, *some[:1] * (_STREAMS - len(some))]
        parts.append(_rows(store, _SOME, dict(zip(_NAMES, names, strict=True))))
    return heapq.merge(*parts, key=itemgetter(0))


def _rows(store: Store, what: Statement, given: dict[str, Any]) -> Iterator[Row]:
    """Events, page by page: no snapshot is held while they are looked at."""
    position, page = 0, [()]
    while page:
        with store.reading(damaged=True) as cursor:
            asked = {**given, "after": position, "limit": _PAGE}
            page = run(cursor, store.dialect, what, asked).fetchall()
        yield from page
        position = page[-1][0] if page else position
