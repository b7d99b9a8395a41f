"""`ledger.threads`: the life of each thread, and what its queue is doing."""

from functools import partial
from typing import get_args

from sqlalchemy import bindparam, select

from turnledger.domain import thread, thread_queue
from turnledger.domain.errors import InvalidIdentifier, InvalidPayload, Unreadable
from turnledger.domain.identifier import check_count, check_identifier
from turnledger.domain.payload import decode, encode
from turnledger.domain.thread_queue.commands import Clear
from turnledger.inbox.keeping import clear_in
from turnledger.infrastructure import queue_repository as repository
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.glance import Glance
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.rows import HeadChange
from turnledger.infrastructure.schema import streams
from turnledger.infrastructure.statement import statement
from turnledger.infrastructure.thread_life import held_life, life_from_events
from turnledger.infrastructure.unit_of_work import UnitOfWork
from turnledger.thread_values import ThreadDeletion, ThreadState, ThreadSummary
from turnledger.timers.setting import end_in

_PAGE = 100
_QUEUE = thread_queue.stream_id("")
_LIFE = thread.stream_id("")
_THREADS = statement(
    select(streams.c.stream_id, streams.c.state)
    .where(
        streams.c.stream_id > bindparam("after"),
        streams.c.stream_id < bindparam("end"),
    )
    .order_by(streams.c.stream_id)
    .limit(bindparam("limit"))
)


Found = list[tuple[str, str | None]]  # ids, and what the head row of a life says, if there is one
Summaries = list[ThreadSummary]  # inside the class, list is its method


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
            turns, flying = self._clear_queue(unit, thread_id, origin)
            messages = clear_in(unit, thread_id, origin)
            timers = end_in(unit, thread_id, origin)
            self._carry_out(unit, command, origin, locked=locked)
            ended = {"queued_turns": turns, "in_flight": flying, "messages": messages}
            ended["timers"] = timers
            return ThreadDeletion(thread_id=thread_id, **ended)

        return self._backend.transact(work, several=True)

    def fork(self, thread_id: str, new_id: str) -> ThreadSummary:
        """Let a new thread begin as a fork of another one: nothing is copied, its origin is kept.

        The same again is a no-op. The other thread may be archived, or one that no command named.

        Args:
            thread_id: The thread that is forked.
            new_id: The thread that begins: one that no command ever named.

        Raises:
            InvalidTransition: The new one exists already, or began as a fork of another thread.
            ThreadDeleted: One of the two is deleted.
        """
        check_identifier("thread_id", thread_id)
        check_identifier("new_id", new_id)
        if new_id == thread_id:
            raise InvalidIdentifier("new_id", "must not be the thread that is forked")
        command = thread.Fork(thread_id=new_id, forked_from=thread_id)

        def work(unit: UnitOfWork) -> ThreadSummary:
            thread.must_exist(held_life(unit, thread_id) or "active", thread_id)
            locked = repository.lock(unit, new_id)
            self._carry_out(unit, command, self._backend.origin(), locked=locked)
            return self._summary(unit, new_id, thread_id)

        return self._backend.transact(work, several=True)

    def get(self, thread_id: str) -> ThreadSummary | None:
        """What a thread is doing; None if no command ever named it."""
        check_identifier("thread_id", thread_id)

        def look(unit: Glance) -> ThreadSummary | None:
            life = unit.head(thread.stream_id(thread_id))
            if life.is_new and unit.head(thread_queue.stream_id(thread_id)).is_new:
                return None
            stored = None if life.is_new else life.state
            return self._summary(unit, thread_id, _origin_of(unit, thread_id, stored))

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
        return [
            self._summary(unit, thread_id, _origin_of(unit, thread_id, life))
            for thread_id, life in self._page(unit, after)
        ]

    def _page(self, unit: UnitOfWork, after: str) -> Found:
        """The next threads by id: each has a row of its queue, or of its life, or both."""
        found: dict[str, str | None] = {}
        for prefix in (_QUEUE, _LIFE):
            end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
            given = {"after": prefix + after, "end": end, "limit": _PAGE}
            for stream_id, state in unit.run(_THREADS, given).fetchall():
                found[stream_id.removeprefix(prefix)] = state if prefix == _LIFE else None
        return sorted(found.items(), key=lambda one: one[0].encode())[:_PAGE]

    def _summary(self, unit: UnitOfWork, thread_id: str, origin: str | None) -> ThreadSummary:
        try:
            _, state, context, _ = repository.load_head(unit, thread_id)
        except Unreadable as error:
            return ThreadSummary(
                thread_id=thread_id,
                state="blocked",
                why_blocked=None,
                waiting=len(repository.visible_rows(unit.cursor, unit.dialect, thread_id)),
                forked_from=origin,
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
            forked_from=origin,
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
        state = thread.State(is_used=locked)
        if head.version:
            state = _life(unit, command.thread_id, head.state)
        context = unit.context(head)
        events = thread.decide(state, command, context)
        if events:
            for event in events:
                state = thread.evolve(state, event)
            text = encode(state.stored())
            change = HeadChange(head, head.epoch, thread.STATE_FORM, text)
            unit.save(change, events, command, origin, context)
            repository.set_life(unit, command.thread_id, state.lifecycle, new=not locked)

    def _clear_queue(self, unit: UnitOfWork, thread_id: str, origin: Origin) -> tuple[int, int]:
        """How many queued turns ended that were visible, and how many that were in flight."""
        command = Clear(thread_id=thread_id)
        loaded = repository.load(unit, command)
        events = thread_queue.clear(loaded.state)
        if not events:
            return 0, 0
        repository.save(unit, loaded, events, command, origin)
        return loaded.state.visible, int(loaded.state.in_flight is not None)


def _life(unit: UnitOfWork, thread_id: str, stored: str) -> thread.State:
    """A thread's life, from its head row's state; from its events, if that is of no use."""
    try:
        return thread.State.from_stored(decode(stored))
    except (TypeError, ValueError):
        return life_from_events(unit, thread_id)


def _origin_of(unit: UnitOfWork, thread_id: str, stored: str | None) -> str | None:
    """From which thread one was forked, if it has a life of its own and was."""
    return None if stored is None else _life(unit, thread_id, stored).forked_from


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
