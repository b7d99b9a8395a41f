"""`ledger.gauges`: the few numbers that somebody should be woken for."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import and_, bindparam, func, or_, select
from sqlalchemy import literal_column as sql

from turnledger.domain import thread_queue
from turnledger.domain.errors import Unreadable
from turnledger.infrastructure import queue_repository as repository
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.glance import Glance
from turnledger.infrastructure.schema import IN_FLIGHT, streams, tracking
from turnledger.infrastructure.statement import statement
from turnledger.projections.in_flight_provider_turns import in_flight_provider_turns
from turnledger.projections.operations import operations
from turnledger.projections.queued_turns import LIVE, queued_turns

_MICROSECONDS = 1_000_000
_PAGE = 500  # threads

_q, _s, _o = queued_turns.c, streams.c, operations.c
_IN_FLIGHT = (
    select(_s.stream_id)
    .where(_s.stream_id == sql("'thread_queue:'").concat(_q.thread_id))
    .where(_s.in_flight_id == _q.queued_turn_id)
    .exists()
)
_STATES = statement(
    select(_q.state, func.count(), func.min(_q.created_at))
    .where(LIVE, ~_IN_FLIGHT)
    .group_by(_q.state)
)
_FLYING = statement(select(func.count()).select_from(streams).where(IN_FLIGHT))
_WITH_TURNS = statement(
    select(_q.thread_id)
    .where(LIVE, _q.thread_id > bindparam("after"))
    .group_by(_q.thread_id)
    .order_by(_q.thread_id)
    .limit(bindparam("limit"))
)
_UNKNOWN_TURNS = statement(
    select(func.count()).select_from(queued_turns).where(LIVE, _q.outcome_unknown)
)
_UNKNOWN_ATTEMPTS = statement(
    select(func.count())
    .select_from(in_flight_provider_turns)
    .where(in_flight_provider_turns.c.status == sql("'unknown'"))
)
_IN_DOUBT = statement(
    select(func.count())
    .select_from(operations)
    .where(
        or_(
            _o.execution == sql("'hazardous_orphan'"),
            and_(_o.execution == sql("'quiescent'"), _o.effect == sql("'unknown'")),
        )
    )
)
_FOLLOWERS = statement(select(tracking.c.application_name, tracking.c.notification_id))


@dataclass(frozen=True, kw_only=True)
class Gauges:
    """How a ledger stands at one moment.

    Attributes:
        position: Of the last event.
        turns: Queued turns that aren't ended, by state: pending, in_flight, failed.
        oldest_pending_seconds: The age of the oldest one that waits; 0 if none does.
        blocked_threads: Threads in which something waits that can't be claimed, by the reason, as
            `ledger.queue.why_blocked` says it; `unreadable`, where that can't be said.
        unknown_outcomes: Of queued turns and attempts: somebody must find out what came of them.
        operations_in_doubt: Operations that nobody knows the effect of.
        followers: By how many events each is behind, by its name.
    """

    position: int
    turns: dict[str, int] = field(default_factory=dict)
    oldest_pending_seconds: float
    blocked_threads: dict[str, int] = field(default_factory=dict)
    unknown_outcomes: dict[str, int] = field(default_factory=dict)
    operations_in_doubt: int
    followers: dict[str, int] = field(default_factory=dict)


def gauges(backend: Backend) -> Gauges:
    """Look how a ledger stands; see `Ledger.gauges`."""
    backend.store.number(beside=True)
    position = backend.store.last_position()
    blocked = _blocked(backend)
    return backend.look(lambda unit: _looked(unit, position, blocked))


def _looked(unit: Glance, position: int, blocked: dict[str, int]) -> Gauges:
    unit.read_clock()
    found = {state: (count, oldest) for state, count, oldest in _rows(unit, _STATES)}
    waiting, oldest = found.get("pending", (0, unit.stored_now))
    return Gauges(
        position=position,
        turns={
            "pending": waiting,
            "in_flight": _count(unit, _FLYING),
            "failed": found.get("failed", (0, 0))[0],
        },
        oldest_pending_seconds=max(0, unit.stored_now - oldest) / _MICROSECONDS,
        blocked_threads=blocked,
        unknown_outcomes={
            "queued_turn": _count(unit, _UNKNOWN_TURNS),
            "attempt": _count(unit, _UNKNOWN_ATTEMPTS),
        },
        operations_in_doubt=_count(unit, _IN_DOUBT),
        followers={name: max(0, position - done) for name, done in _rows(unit, _FOLLOWERS)},
    )


def _blocked(backend: Backend) -> dict[str, int]:
    """Threads with turns that can't be claimed, by the reason; some at a time."""
    found: Counter[str] = Counter()
    after = ""
    while True:
        page: list[tuple[str, str | None]] = backend.look(lambda unit: _reasons(unit, after))  # noqa: B023 - called at once
        found.update(reason for _, reason in page if reason is not None)
        if len(page) < _PAGE:
            return dict(found)
        after = page[-1][0]


def _reasons(unit: Glance, after: str) -> list[tuple[str, str | None]]:
    names = unit.run(_WITH_TURNS, {"after": after, "limit": _PAGE}).fetchall()
    return [(name, _reason(unit, name)) for (name,) in names]


def _reason(unit: Glance, thread_id: str) -> str | None:
    try:
        _, state, context, _ = repository.load_head(unit, thread_id)
    except Unreadable:
        return "unreadable"
    return thread_queue.why_blocked(state, context)


def _rows(unit: Glance, what: Any) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = unit.run(what, {}).fetchall()
    return found


def _count(unit: Glance, what: Any) -> int:
    return int(unit.run(what, {}).fetchone()[0])
