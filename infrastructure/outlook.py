"""What there is to do for a worker, now and later: one look, nothing is written."""

from typing import NamedTuple

from sqlalchemy import bindparam, func, select

from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.glance import Glance
from turnledger.infrastructure.schema import READY_LATER, READY_NOW, streams
from turnledger.infrastructure.statement import statement
from turnledger.infrastructure.timer_rows import AHEAD


class Outlook(NamedTuple):
    """What a worker finds.

    Attributes:
        is_ready: A thread would give out a claim.
        is_timer_due: A timer can be fired.
        seconds: Until one of both comes by itself; None if none is planned.
    """

    is_ready: bool
    is_timer_due: bool
    seconds: float | None


_later = select(func.min(streams.c.not_before)).where(READY_LATER)
_READY = statement(
    select(
        select(streams.c.stream_id).where(READY_NOW).exists(),
        select(streams.c.stream_id)
        .where(READY_LATER, streams.c.not_before <= bindparam("now"))
        .exists(),
        _later.where(streams.c.not_before > bindparam("now")).scalar_subquery(),
    )
)


def outlook(backend: Backend) -> Outlook:
    """Look what there is to do."""

    def look(unit: Glance) -> Outlook:
        unit.read_clock()
        now = unit.stored_now
        is_ready, is_due, ready_at = unit.run(_READY, {"now": now}).fetchone()
        next_run_at, is_idle_ready = unit.run(AHEAD, {}).fetchone()
        is_timer_due = bool(is_idle_ready) or (next_run_at is not None and next_run_at <= now)
        planned = [at for at in (ready_at, next_run_at) if at is not None and at > now]
        seconds = (min(planned) - now) / 1e6 if planned else None
        return Outlook(bool(is_ready or is_due), is_timer_due, seconds)

    return backend.look(look)
