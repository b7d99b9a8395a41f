"""Which threads have something to do: a claim to give out, or one that is over."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import bindparam, select, tuple_, union_all
from sqlalchemy.sql.elements import ColumnElement

from turnledger.domain import thread_queue
from turnledger.domain.duration import to_microseconds
from turnledger.infrastructure import queue_rows
from turnledger.infrastructure.schema import READY_LATER, READY_NOW, streams
from turnledger.infrastructure.statement import SQLITE, statement
from turnledger.infrastructure.unit_of_work import UnitOfWork

_AFTER: tuple[Any, ...] = (bindparam("after_ready_at"), bindparam("after_stream_id"))
_OTHERS = 16  # so many threads may be in the hands of others at the same moment
_PREFIX = thread_queue.stream_id("")


def _claimable(*where: ColumnElement[bool]) -> Any:
    """Claimable threads, longest waiting head first, behind a key."""
    place = (streams.c.ready_at, streams.c.stream_id)
    found = select(*place).where(*where, tuple_(*place) > tuple_(*_AFTER))
    return found.order_by(*place).limit(bindparam("limit"))


def _claimable_threads() -> Any:
    ready = _claimable(READY_NOW).subquery("ready")
    later = _claimable(READY_LATER, streams.c.not_before <= bindparam("now")).subquery("later")
    both = union_all(select(ready), select(later)).subquery("both")
    place = (both.c.ready_at, both.c.stream_id)
    return select(*place).order_by(*place).limit(bindparam("limit"))


_CLAIMABLE = statement(_claimable_threads())
_KEEP = statement(
    select(streams.c.version)
    .where(streams.c.stream_id == bindparam("stream_id"))
    .with_for_update(skip_locked=True)
)
_STALE = statement(queue_rows.STALE)


def claimable_threads(unit: UnitOfWork, most: int) -> Iterator[str]:
    """The threads that would give out a claim, longest waiting head first, page by page.

    Where several may write at the same time, a thread that another one is just busy with is
    passed over, and one that is named here is kept for the unit.
    """
    unit.read_clock()
    page = most if unit.dialect == SQLITE else most + _OTHERS
    ready_at, stream_id = -1, ""
    while True:
        given = {
            "after_ready_at": ready_at,
            "after_stream_id": stream_id,
            "now": unit.stored_now,
            "limit": page,
        }
        found = unit.run(_CLAIMABLE, given).fetchall()
        for _, stream_id in found:
            if unit.dialect == SQLITE or unit.run(_KEEP, {"stream_id": stream_id}).fetchone():
                yield stream_id.removeprefix(_PREFIX)
        if len(found) < page:
            return
        ready_at, stream_id = found[-1]


def stale_threads(unit: UnitOfWork, owner: str | None, after: str, page: int) -> list[str]:
    """The threads whose claim is over, or is a given former owner's, behind a thread."""
    unit.read_clock()
    given = {
        "now": unit.stored_now,
        "latest": to_microseconds(unit.now + unit.limits.max_lease),
        "owner": owner,
        "after": _PREFIX + after,
        "limit": page,
    }
    found = unit.run(_STALE, given)
    return [stream_id.removeprefix(_PREFIX) for (stream_id,) in found]
