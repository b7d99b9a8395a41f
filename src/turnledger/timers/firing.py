"""Firing timers: due, claimed, posted to the inbox, and what they did."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from types import EllipsisType
from typing import Any, ParamSpec, TypeVar

from turnledger.domain import timer
from turnledger.domain.duration import check_time, from_microseconds
from turnledger.domain.errors import InvalidPayload, Unreadable
from turnledger.domain.event import Event
from turnledger.domain.identifier import check_count, check_identifier
from turnledger.domain.inbox import InboxMessage
from turnledger.domain.inbox.commands import Post
from turnledger.domain.timer import Firing, ScheduledTimer, Timer, TimerRun
from turnledger.domain.timer import commands as c
from turnledger.inbox.posting import inbox_in, post_in
from turnledger.infrastructure import timer_repository as repository
from turnledger.infrastructure import timer_rows
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.statement import Statement
from turnledger.infrastructure.timer_repository import Place
from turnledger.infrastructure.timer_rows import as_scheduled_timer
from turnledger.infrastructure.unit_of_work import UnitOfWork
from turnledger.timers.desk import TimerDesk
from turnledger.timers.runs import Done, as_firing, as_run

_log = logging.getLogger(__name__)

_BATCH = 100  # in one transaction, where nobody says how many
_SCANS = (timer_rows.DUE, timer_rows.IDLE_READY)  # the idle-recurring ones come last

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Firings(TimerDesk):
    """The part of `ledger.timers` for schedulers."""

    def mark_due(self, *, limit: int | None = None) -> list[ScheduledTimer]:
        """Mark the timers whose next run has come, and that nobody has claimed.

        Args:
            limit: At most so many; default all, in transactions of 100.

        Returns:
            Those that are due from now on. Missed runs that aren't to be run aren't among them.
        """
        most = None if limit is None else check_count("limit", limit)
        marked: list[ScheduledTimer] = []
        passed_over: set[Place] = set()
        while most is None or len(marked) < most:
            page = _BATCH if most is None else min(_BATCH, most - len(marked))
            work = partial(self._mark, page, frozenset(passed_over))
            found, without, tried = self._backend.transact(work, several=True)
            marked += found
            passed_over |= without
            if tried < page:
                break
        return marked

    def claim(
        self,
        thread_id: str,
        timer_id: str,
        owner: str,
        *,
        expected_last_run_at: datetime | EllipsisType | None = ...,
        changed: Mapping[str, Any] | None = None,
    ) -> Firing | None:
        """Consume the occurrence of a timer that has come; None if there is none, or not any more.

        Args:
            thread_id: The thread.
            timer_id: Its timer.
            owner: Who fires it.
            expected_last_run_at: What the caller knows; None is a value, too. If it isn't so any
                more, nothing happens.
            changed: Fields that get other values in the same step, as `update` takes them.
        """
        named = self._named(thread_id, timer_id)
        expected = expected_last_run_at
        if expected is not None and expected is not ...:
            expected = check_time("expected_last_run_at", expected)
        command = c.Fire(
            **named,
            owner=check_identifier("owner", owner),
            expected_last_run_at=expected,
            changed=self._changed(thread_id, _mapping(changed)),
        )

        def work(unit: UnitOfWork) -> Firing | None:
            done = _fired(unit, command, self._backend.origin())
            return None if done is None else as_firing(command, done)

        return self._backend.transact(work, several=True)

    def claim_due(self, owner: str, limit: int = _BATCH) -> list[Firing]:
        """Consume the occurrences that have come, the least recently run timer's first.

        A timer that can't be read is passed over and named in the log.

        Args:
            owner: Who fires them.
            limit: At most so many timers.
        """
        check_identifier("owner", owner)
        most = check_count("limit", limit)

        def work(unit: UnitOfWork) -> list[Firing]:
            origin = self._backend.origin()
            commands = (self._fire(place, owner) for place in self._come(unit, most))
            done = ((command, _passing(_fired, unit, command, origin)) for command in commands)
            found = (as_firing(command, fired) for command, fired in done if fired is not None)
            return _first(found, most)

        return self._backend.transact(work, several=True)

    def fire_due(self, owner: str, limit: int = _BATCH) -> list[InboxMessage]:
        """Consume the occurrences that have come, and post their messages, in one transaction.

        An idle-recurring timer fires after all others, while its thread has no work and its inbox
        no message of this timer.

        Args:
            owner: Who fires them.
            limit: At most so many timers.

        Returns:
            The messages, in the inboxes of the timers' threads.
        """
        check_identifier("owner", owner)
        most = check_count("limit", limit)

        def work(unit: UnitOfWork) -> list[InboxMessage]:
            origin = self._backend.origin()
            return _first(self._posted(unit, owner, most, origin), most)

        return self._backend.transact(work, several=True)

    def history(self, thread_id: str, timer_id: str) -> list[TimerRun]:
        """What became of a timer's occurrences: planned, actual, late by, missed; oldest first."""
        check_identifier("thread_id", thread_id)
        check_identifier("timer_id", timer_id)
        runs: list[TimerRun] = []
        for number, envelope in enumerate(
            self._backend.application.envelopes(timer.stream_id(timer_id))
        ):
            event, recorded_at = envelope.event, from_microseconds(envelope.recorded_at)
            if not number and getattr(event, "thread_id", thread_id) != thread_id:
                return []
            runs += [] if (run := as_run(timer_id, event, recorded_at)) is None else [run]
        return runs

    def _mark(
        self, limit: int, known: frozenset[Place], unit: UnitOfWork
    ) -> tuple[list[ScheduledTimer], set[Place], int]:
        """The timers that were marked, those that stay as they are, and how many were tried."""
        origin = self._backend.origin()
        marked: list[ScheduledTimer] = []
        passed_over: set[Place] = set()
        found = repository.found(unit, timer_rows.UNMARKED, limit + len(known))
        places = [place for place in found if place not in known][:limit]
        for place in places:
            events = _marked(unit, c.MarkDue(**self._named(*place)), origin)
            row = repository.timer_row(unit.cursor, unit.dialect, place[1]) if events else None
            if row is None:
                passed_over.add(place)
            elif any(isinstance(one, Timer.MarkedDue) for one in events):
                marked.append(as_scheduled_timer(row))
        return marked, passed_over, len(places)

    def _come(self, unit: UnitOfWork, most: int) -> Iterator[Place]:
        """The timers whose run has come, each once; more of them where some come to nothing."""
        for scan in _SCANS:
            yield from _scanned(unit, scan, most)

    def _posted(
        self, unit: UnitOfWork, owner: str, most: int, origin: Origin
    ) -> Iterator[InboxMessage]:
        for place in self._come(unit, most):
            message_id = self._backend.new_id()
            command = self._fire(place, owner, message_id)
            message = _passing(_fired_and_posted, unit, command, message_id, origin)
            if message is not None:
                yield message

    def _fire(self, place: Place, owner: str, message_id: str | None = None) -> c.Fire:
        return c.Fire(**self._named(*place), owner=owner, message_id=message_id)


def _scanned(unit: UnitOfWork, scan: Statement, most: int) -> Iterator[Place]:
    tried: set[Place] = set()
    while True:
        limit = most + len(tried)
        page = repository.found(unit, scan, limit)
        for place in page:
            if place not in tried:
                tried.add(place)
                yield place
        if len(page) < limit:
            return


def _first(found: Iterator[Result], most: int) -> list[Result]:
    """The first so many; what comes behind isn't begun."""
    taken: list[Result] = []
    for one in found:
        taken.append(one)
        if len(taken) == most:
            break
    return taken


def _passing(
    work: Callable[Arguments, Result | None], *given: Arguments.args, **named: Arguments.kwargs
) -> Result | None:
    """Do something with a timer; one that can't be read doesn't stop the others."""
    try:
        return work(*given, **named)
    except Unreadable as error:
        _log.warning("passed over: %s", error)
        return None


def _marked(unit: UnitOfWork, command: c.MarkDue, origin: Origin) -> Sequence[Event]:
    done = _passing(repository.carry_out, unit, command, origin)
    return () if done is None else done[0]


def _fired(unit: UnitOfWork, command: c.Fire, origin: Origin) -> Done | None:
    events, state = repository.carry_out(unit, command, origin)
    last = events[-1] if events else None
    return (last, state) if isinstance(last, Timer.Fired) else None


def _fired_and_posted(
    unit: UnitOfWork, command: c.Fire, message_id: str, origin: Origin
) -> InboxMessage | None:
    """The message of a firing; nothing is consumed if the inbox can't be read."""
    inbox = inbox_in(unit, command.thread_id)
    done = _fired(unit, command, origin)
    if done is None:
        return None
    state, said = done[1], done[1].said
    post = Post(
        thread_id=command.thread_id,
        message_id=message_id,
        content=said.content,
        source=said.source,
        delivery=state.delivery,
        instructions=said.instructions,
        metadata=said.metadata,
    )
    return post_in(unit, post, origin, inbox)


def _mapping(changed: Any) -> Mapping[str, Any]:
    if changed is None:
        return {}
    if not isinstance(changed, Mapping):
        raise InvalidPayload("changed", f"must be a dict of fields, not {type(changed).__name__}")
    return changed
