"""What waits in a queue: appending, listing, editing, moving, taking out."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from turnledger.domain import thread_queue
from turnledger.domain.duration import check_time, from_microseconds
from turnledger.domain.errors import IdempotencyConflict, InvalidPayload
from turnledger.domain.event import Envelope
from turnledger.domain.identifier import LARGEST, check_count, check_identifier
from turnledger.domain.payload import canonical_hash
from turnledger.domain.thread_queue import QueuedTurn, ThreadQueue
from turnledger.domain.thread_queue import commands as c
from turnledger.domain.value import made
from turnledger.infrastructure import queue_repository as repository
from turnledger.infrastructure.queue_rows import as_queued_turn
from turnledger.infrastructure.statement import EVERYTHING
from turnledger.infrastructure.unit_of_work import UnitOfWork
from turnledger.queue.desk import QueueDesk
from turnledger.receipts import Idempotency, first_events

QueuedTurns = list[QueuedTurn]  # inside the class, list is its method


class Waiting(QueueDesk):
    """The part of `ledger.queue` for those who put work in."""

    def append(
        self,
        thread_id: str,
        submission: dict[str, Any],
        *,
        idempotency_key: str | None = None,
        queued_turn_id: str | None = None,
        not_before: datetime | None = None,
    ) -> QueuedTurn:
        """Put a submission behind everything that is there.

        Args:
            thread_id: The conversation; it comes to be with its first command.
            submission: A JSON object, opaque to turnledger.
            idempotency_key: The same again with the same arguments gives the first result.
            queued_turn_id: Chosen by the caller, and a key as well. Default: a UUIDv7.
            not_before: It keeps its place, but can't be claimed earlier.

        Raises:
            QueueFull: The thread has as many visible turns as the setting allows.
            IdempotencyConflict: The key or the id was used for something else.
            ThreadArchived: Likewise ThreadDeleted.
        """
        intake = self._intake(check_identifier("thread_id", thread_id))
        fresh = intake.json_object("submission", submission, self._settings.max_payload_bytes)
        not_before = None if not_before is None else check_time("not_before", not_before)
        chosen = queued_turn_id
        if chosen is not None:
            check_identifier("queued_turn_id", chosen)
        command = c.Append(
            thread_id=thread_id,
            queued_turn_id=chosen or self._backend.new_id(),
            submission=fresh,
            not_before=not_before,
        )
        content = {"submission": fresh, "not_before": not_before and not_before.isoformat()}
        named = (thread_id, idempotency_key, command.NAME)
        said = {**content, "queued_turn_id": chosen}
        idempotency = Idempotency.of_thread(*named, said, intake)
        return self._create(command, idempotency, chosen)[0]

    def append_many(
        self,
        thread_id: str,
        submissions: Sequence[dict[str, Any]],
        *,
        idempotency_key: str | None = None,
    ) -> QueuedTurns:
        """Put submissions behind everything that is there, in order, all or none.

        Raises:
            QueueFull: They don't all fit.
            IdempotencyConflict: The key was used for something else.
            ThreadArchived: Likewise ThreadDeleted.
        """
        intake = self._intake(check_identifier("thread_id", thread_id))
        limit = self._settings.max_payload_bytes
        if not isinstance(submissions, Sequence) or isinstance(submissions, str):
            raise InvalidPayload("submissions", "must be a list of JSON objects")
        given = enumerate(submissions)
        fresh = tuple(intake.json_object(f"submissions[{i}]", one, limit) for i, one in given)
        ids = tuple(self._backend.new_id() for _ in fresh)
        command = c.AppendMany(thread_id=thread_id, queued_turn_ids=ids, submissions=fresh)
        named = (thread_id, idempotency_key, command.NAME)
        idempotency = Idempotency.of_thread(*named, {"submissions": list(fresh)}, intake)
        return self._create(command, idempotency, None)

    def list(
        self, thread_id: str, *, limit: int | None = None, after: int | None = None
    ) -> QueuedTurns:
        """The visible queue, in order.

        Args:
            thread_id: Whose queue.
            limit: At most so many; default all.
            after: Only what comes behind this queue_order, also of a turn that is gone.
        """
        check_identifier("thread_id", thread_id)
        most = EVERYTHING if limit is None else check_count("limit", limit)
        if after is not None and (not isinstance(after, int) or isinstance(after, bool)):
            raise InvalidPayload("after", f"must be a queue_order, not {after!r}")
        with self._backend.store.reading(damaged=True) as cursor:
            behind = -1 if after is None else max(-1, min(after, LARGEST))
            dialect = self._backend.store.dialect
            rows = repository.visible_rows(cursor, dialect, thread_id, after=behind, limit=most)
        return self._backend.contents.opened([as_queued_turn(row) for row in rows])

    def get(self, thread_id: str, queued_turn_id: str) -> QueuedTurn | None:
        """A queued turn, also one that is gone; None only if it never was."""
        check_identifier("thread_id", thread_id)
        check_identifier("queued_turn_id", queued_turn_id)
        with self._backend.store.reading(damaged=True) as cursor:
            found = self._find(cursor, thread_id, queued_turn_id)
        return self._backend.contents.opened(found)

    def edit(self, thread_id: str, queued_turn_id: str, submission: dict[str, Any]) -> QueuedTurn:
        """Give a visible turn another submission. It keeps its id and its place.

        Raises:
            QueuedTurnNotFound: It isn't there, or not any more.
            InvalidTransition: It is in flight.
            ThreadArchived: Likewise ThreadDeleted.
        """
        intake = self._intake(check_identifier("thread_id", thread_id))
        check_identifier("queued_turn_id", queued_turn_id)
        fresh = intake.json_object("submission", submission, self._settings.max_payload_bytes)
        turn = {"thread_id": thread_id, "queued_turn_id": queued_turn_id}

        def work(unit: UnitOfWork) -> QueuedTurn:
            self._carry_out(unit, c.Edit(**turn, submission=fresh))
            return self._found(unit, thread_id, queued_turn_id)

        return self._backend.transact(work, several=True)

    def delete(self, thread_id: str, queued_turn_id: str) -> bool:
        """Take a visible turn out; False if there is none such.

        Raises:
            ThreadDeleted: The thread is deleted.
        """
        check_identifier("thread_id", thread_id)
        check_identifier("queued_turn_id", queued_turn_id)
        command = c.Delete(thread_id=thread_id, queued_turn_id=queued_turn_id)
        return bool(self._done(command))

    def clear(self, thread_id: str) -> int:
        """Take every visible turn out, and fence off what is in flight; the thread lives on.

        Returns:
            How many turns ended.

        Raises:
            ThreadDeleted: The thread is deleted.
        """
        check_identifier("thread_id", thread_id)
        return sum(map(ended, self._done(c.Clear(thread_id=thread_id))))

    def reorder(self, thread_id: str, queued_turn_ids: Sequence[str]) -> QueuedTurns:
        """Put the visible turns in another order; what is in flight keeps its place ahead.

        Args:
            thread_id: Whose queue.
            queued_turn_ids: The whole visible queue, each turn once.

        Returns:
            The visible queue.

        Raises:
            ReorderMismatch: The ids aren't exactly the visible queue; nothing moved.
            ThreadArchived: Likewise ThreadDeleted.
        """
        check_identifier("thread_id", thread_id)
        if not isinstance(queued_turn_ids, Sequence) or isinstance(queued_turn_ids, str):
            raise InvalidPayload("queued_turn_ids", "must be a list of ids")
        ids = tuple(check_identifier("queued_turn_id", turn_id) for turn_id in queued_turn_ids)

        def work(unit: UnitOfWork) -> QueuedTurns:
            self._carry_out(unit, c.Reorder(thread_id=thread_id, queued_turn_ids=ids))
            rows = repository.visible_rows(unit.cursor, unit.dialect, thread_id)
            return [as_queued_turn(row) for row in rows]

        return self._backend.transact(work, several=True)

    # --- idempotency

    def _create(
        self,
        command: c.Append | c.AppendMany,
        idempotency: Idempotency | None,
        chosen: str | None,
    ) -> QueuedTurns:
        def work(unit: UnitOfWork) -> QueuedTurns:
            known: Sequence[Envelope] | None = None
            if idempotency is not None:
                known = first_events(self._backend, unit, idempotency)
            if not known and isinstance(command, c.Append) and chosen is not None:
                known = self._appended_before(unit, command)
            if known:
                return [_first_result(command.thread_id, envelope) for envelope in known]
            origin = self._backend.origin()
            if idempotency is not None:
                origin = idempotency.marked(origin)
            events, loaded = self._carry_out(unit, command, origin)
            at = loaded.context.recorded_at
            return [_as_appended(command.thread_id, event, at) for event in events]

        return self._backend.transact(work)

    def _appended_before(self, unit: UnitOfWork, command: c.Append) -> Sequence[Envelope] | None:
        """The event that appended a turn with the id that the caller chose, if there is one."""
        row = repository.turn_row(
            unit.cursor, unit.dialect, command.thread_id, command.queued_turn_id
        )
        if row is None:
            return None
        version = row.appended_version
        stream_id = thread_queue.stream_id(command.thread_id)
        found = self._backend.application.envelopes(stream_id, after=version - 1, until=version)
        first = next(found)
        event, name = first.event, first.metadata.get("command", {}).get("name", "something")
        same = isinstance(event, ThreadQueue.Appended) and name == command.NAME
        if not same or _content(event) != _content(command):
            scope = f"thread:{command.thread_id}"
            raise IdempotencyConflict(scope, command.queued_turn_id, name)
        return [first]


def ended(event: Any) -> int:
    """How many turns an event ended, if it is the clearing of a queue."""
    if not isinstance(event, ThreadQueue.Cleared):
        return 0
    return len(event.queued_turn_ids) + (event.in_flight_id is not None)


def _content(what: Any) -> str:
    not_before = what.not_before and what.not_before.isoformat()
    return canonical_hash([what.submission, not_before])


def _as_appended(thread_id: str, event: Any, recorded_at: datetime) -> QueuedTurn:
    return made(
        QueuedTurn,
        thread_id=thread_id,
        queued_turn_id=event.queued_turn_id,
        queue_order=event.queue_order,
        submission=event.submission,
        state="pending",
        created_at=recorded_at,
        updated_at=recorded_at,
        not_before=event.not_before,
    )


def _first_result(thread_id: str, envelope: Envelope) -> QueuedTurn:
    first = _as_appended(thread_id, envelope.event, from_microseconds(envelope.recorded_at))
    return replace(first, duplicate=True)
