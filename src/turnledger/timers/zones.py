"""Other time zone data: next runs are computed anew when a ledger is opened with it."""

import logging
from functools import partial

from turnledger.domain.errors import Unreadable
from turnledger.domain.timer.commands import Recompute
from turnledger.domain.trigger import time_zone
from turnledger.infrastructure import timer_repository as repository
from turnledger.infrastructure import timer_rows
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.statement import run
from turnledger.infrastructure.timer_repository import Place
from turnledger.infrastructure.unit_of_work import UnitOfWork

_log = logging.getLogger(__name__)
_PAGE = 100


def recompute(backend: Backend) -> int:
    """Compute the next runs anew that other time zone data gave, and record it.

    Returns:
        Of how many timers.
    """
    tried: frozenset[Place] = frozenset()
    while _are_there(backend, len(tried) + 1):
        page = backend.transact(partial(_page, backend, tried), several=True)
        if not page:
            break
        tried |= page
    return len(tried)


def _are_there(backend: Backend, least: int) -> bool:
    """Whether there are so many; most of the time there is none, and nothing is written."""
    store = backend.store
    given = {"time_zone_data": time_zone.VERSION, "limit": least}
    with store.reading() as cursor:
        found = run(cursor, store.dialect, timer_rows.OTHER_ZONES, given).fetchall()
    return len(found) >= least


def _page(backend: Backend, tried: frozenset[Place], unit: UnitOfWork) -> frozenset[Place]:
    """The timers that were computed, or passed over; it may be done again, with others."""
    origin = backend.origin()
    found = repository.with_other_zones(unit, time_zone.VERSION, _PAGE + len(tried))
    page = frozenset(found) - tried
    for place in sorted(page):
        named = dict(zip(("thread_id", "timer_id"), place, strict=True))
        try:
            command = Recompute(**named, time_zone_data=time_zone.VERSION)
            repository.carry_out(unit, command, origin)
        except Unreadable as error:
            _log.warning("passed over: %s", error)
    return page
