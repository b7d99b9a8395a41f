"""`ledger.threads`: the life of each thread, and what its queue is doing."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal, get_args

from sqlalchemy import bindparam, select

from turnledger.domain import thread, thread_queue
from turnledger.domain.errors import InvalidPayload, Unreadable
from turnledger.domain.identifier import check_count, check_identifier
from turnledger.domain.payload import decode, encode
from turnledger.domain.thread_queue.commands import Clear
from turnledger.infrastructure import queue_repository as repository
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.glance import Glance
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.rows import HeadChange
from turnledger.infrastructure.schema import streams
from turnledger.infrastructure.statement import statement
from turnledger.infrastructure.unit_of_work import UnitOfWork

ThreadState = Literal["pending", "in_flight", "blocked", "idle", "archived", "deleted"]

_PAGE = 100
_QUEUE = thread_queue.stream_id("")
_LIFE = thread.stream_id("")
_THREADS = statement(
    select(streams.c.stream_id)
    .where(
        streams.c.stream_id > bindparam("after"),
        streams.c.stream_id < bindparam("end"),
    )
    .order_by(streams.c.stream_id)
    .limit(bindparam("limit"))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadSummary:
    """What a thread is doing.

    Attributes:
        state: pending (a claim would be given out), in_flight, blocked, idle, archived, deleted.
        why_blocked: Why no claim is given out, or None; see `ledger.queue.why_blocked`.
        waiting: How many queued turns are visible.
        oldest_waiting_at: When the first of them was appended.
        owner: Who holds what is in flight; likewise expires_at.
        unreadable: What is damaged, so that the rest can't be said.
    """

    thread_id: str
    state: ThreadState
    why_blocked: str | None
    waiting: int
    oldest_waiting_at: datetime | None = None
    owner: str | None = None
    expires_at: datetime | None = None
    unreadable: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadDeletion:
    """What ended when a thread was deleted."""

    thread_id: str
    queued_turns: int = 0
    in_flight: int = 0


Ids = list[str]  # inside the class, list is its method
Summaries = list[ThreadSummary]


class Threads:
    """The commands and queries of `ledger.threads`.

    All raise `InvalidInput` for bad arguments, and `StoreError` if the database says no.
    """

    def __init__(self, backend: Backend) -> None:
        """Take what the ledger's services share."""
        self._backend = backend

    def archive(self, thread_id: str) -> None:
        """Let a thread take and start no work; what is under way may end.

        Raises:
            ThreadDeleted: The thread is deleted.
        """
        self._changed(thread.Archive(thread_id=check_identifier("thread_id", thread_id)))

    def unarchive(self, thread_id: str) -> None:
        """Let a thread take and start work again: everything is there as it was.

        Raises:
            ThreadDeleted: The thread is deleted.
        """
        self._changed(thread.Unarchive(thread_id=check_identifier("thread_id", thread_id)))

    def delete(self, thread_id: str) -> ThreadDeletion:
        """End a thread and all that waits in it, in one transaction. Its history remains.

        Owners of what was in flight get `ClaimLost` at their next command.
        """
        check_identifier("thread_id", thread_id)
        command = thread.Delete(thread_id=thread_id)

        def work(unit: UnitOfWork) -> ThreadDeletion:
            origin = self._backend.origin()
            locked = repository.lock(unit, thread_id)
            ended = self._clear(unit, thread_id, origin)
            self._carry_out(unit, command, origin, locked=locked)
            return ended

        return self._backend.transact(work, several=True)

    def get(self, thread_id: str) -> ThreadSummary | None:
        """What a thread is doing; None if no command ever named it."""
        check_identifier("thread_id", thread_id)

        def look(unit: Glance) -> ThreadSummary | None:
            known = unit.head(thread_queue.stream_id(thread_id)).version
            if not known and not unit.head(thread.stream_id(thread_id)).version:
                return None
            return self._summary(unit, thread_id)

        return self._backend.look(look)

    def list(
        self,
        state: ThreadState | None = None,
        *,
        limit: int | None = None,
        after: str | None = None,
    ) -> Summaries:
        """Threads by id.

        Args:
            state: Only those in this state; default all that aren't deleted.
            limit: At most so many; default all.
            after: Only those whose id comes behind this one.
        """
        if state is not None and state not in get_args(ThreadState):
            words = ", ".join(get_args(ThreadState))
            raise InvalidPayload("state", f"must be one of {words}, not {state!r}")
        most = None if limit is None else check_count("limit", limit)
        found: Summaries = []
        last = "" if after is None else check_identifier("after", after)
        while most is None or len(found) < most:
            page = self._backend.look(partial(self._summaries, last))
            for summary in page:
                wanted = summary.state != "deleted" if state is None else summary.state == state
                found += [summary] if wanted else []
            if len(page) < _PAGE:
                break
            last = page[-1].thread_id
        return found[:most]

    def _summaries(self, after: str, unit: Glance) -> Summaries:
        return [self._summary(unit, thread_id) for thread_id in self._page(unit, after)]

    def _page(self, unit: UnitOfWork, after: str) -> Ids:
        """The next threads by id, of those with a queue and those with a life of their own."""
        ids: set[str] = set()
        for prefix in (_QUEUE, _LIFE):
            end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
            given = {"after": prefix + after, "end": end, "limit": _PAGE}
            rows = unit.run(_THREADS, given).fetchall()
            ids |= {stream_id.removeprefix(prefix) for (stream_id,) in rows}
        return sorted(ids, key=str.encode)[:_PAGE]

    def _summary(self, unit: UnitOfWork, thread_id: str) -> ThreadSummary:
        try:
            _, state, context, _ = repository.load_head(unit, thread_id)
        except Unreadable as error:
            return ThreadSummary(
                thread_id=thread_id,
                state="blocked",
                why_blocked=None,
                waiting=len(repository.visible_rows(unit.cursor, unit.dialect, thread_id)),
                unreadable=error.message,
            )
        reason = thread_queue.why_blocked(state, context)
        flying, head = state.in_flight, state.head
        return ThreadSummary(
            thread_id=thread_id,
            state=_state(reason),
            why_blocked=reason,
            waiting=state.visible,
            oldest_waiting_at=None if head is None else head.created_at,
            owner=flying and flying.owner,
            expires_at=flying and flying.expires_at,
        )

    def _changed(self, command: thread.ThreadCommand) -> None:
        def work(unit: UnitOfWork) -> None:
            locked = repository.lock(unit, command.thread_id)
            self._carry_out(unit, command, self._backend.origin(), locked=locked)

        self._backend.transact(work, several=True)

    def _carry_out(
        self, unit: UnitOfWork, command: thread.ThreadCommand, origin: Origin, *, locked: bool
    ) -> None:
        head = unit.head(thread.stream_id(command.thread_id))
        state = thread.State()
        if head.version:
            state = thread.State(_lifecycle(unit, command.thread_id, head.state))
        context = unit.context(head)
        events = thread.decide(state, command, context)
        if events:
            for event in events:
                state = thread.evolve(state, event)
            text = encode({"lifecycle": state.lifecycle})
            change = HeadChange(head, head.epoch, thread.STATE_FORM, text)
            unit.save(change, events, command, origin, context)
            repository.set_life(unit, command.thread_id, state.lifecycle, new=not locked)

    def _clear(self, unit: UnitOfWork, thread_id: str, origin: Origin) -> ThreadDeletion:
        command = Clear(thread_id=thread_id)
        loaded = repository.load(unit, command)
        events = thread_queue.clear(loaded.state)
        if not events:
            return ThreadDeletion(thread_id=thread_id)
        repository.save(unit, loaded, events, command, origin)
        visible, flying = loaded.state.visible, loaded.state.in_flight
        return ThreadDeletion(
            thread_id=thread_id, queued_turns=visible, in_flight=int(flying is not None)
        )


def _lifecycle(unit: UnitOfWork, thread_id: str, stored: str) -> thread.Lifecycle:
    """A thread's lifecycle, from its head row's state; from its events, if that is of no use."""
    try:
        return thread.State.from_stored(decode(stored)).lifecycle
    except (TypeError, ValueError):
        return repository.life_from_events(unit, thread_id)


def _state(reason: str | None) -> ThreadState:
    match reason:
        case None:
            return "pending"
        case "deleted" | "archived" | "in_flight":
            return reason
        case "empty":
            return "idle"
        case _:
            return "blocked"
