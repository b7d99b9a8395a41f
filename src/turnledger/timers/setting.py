"""Setting timers: created, listed, changed, paused, ended."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from typing import Any, cast

from turnledger.domain import timer
from turnledger.domain.errors import IdempotencyConflict
from turnledger.domain.event import Envelope
from turnledger.domain.identifier import check_identifier
from turnledger.domain.inbox import Delivery
from turnledger.domain.payload import canonical_hash
from turnledger.domain.timer import ScheduledTimer, Timer
from turnledger.domain.timer import commands as c
from turnledger.domain.trigger import Trigger, as_trigger
from turnledger.infrastructure import timer_repository as repository
from turnledger.infrastructure.host_zone import host_time_zone
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.timer_rows import as_scheduled_timer
from turnledger.infrastructure.unit_of_work import UnitOfWork
from turnledger.receipts import Idempotency, first_events
from turnledger.timers.desk import TimerDesk

ScheduledTimers = list[ScheduledTimer]  # inside the class, list is its method


def end_in(unit: UnitOfWork, thread_id: str, origin: Origin) -> int:
    """End every timer of a thread, in a unit of work that is under way.

    Returns:
        How many timers ended.
    """
    rows = list(repository.live_rows(unit.cursor, unit.dialect, thread_id))
    for row in rows:
        command = c.Delete(thread_id=thread_id, timer_id=row.timer_id)
        repository.carry_out(unit, command, origin)
    return len(rows)


class Setting(TimerDesk):
    """The part of `ledger.timers` for those who set them."""

    def create(  # noqa: PLR0913 - all that can be said of a timer
        self,
        thread_id: str,
        trigger: Trigger | dict[str, Any],
        content: Any,
        *,
        instructions: Any = None,
        metadata: dict[str, Any] = {},  # noqa: B006 - never changed
        delivery: Delivery = "after-turn",
        source: str = "host",
        client_id: str | None = None,
        timer_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> ScheduledTimer:
        """Set a timer.

        Args:
            thread_id: The conversation; it comes to be with its first command.
            trigger: A `Delay`, `Schedule` or `Cron`, or a dict of the same fields.
            content: JSON, opaque to turnledger; instructions likewise. What its message says.
            instructions: How the content is to be taken.
            metadata: A JSON object; its keys are of letters, digits and underscores.
            delivery: Of its message; an idle-recurring timer's is always after-turn.
            source: Of its message.
            client_id: Who set it, if the host wants to know.
            timer_id: Chosen by the caller, unique in the ledger, and a key as well. Default: a
                UUIDv7.
            idempotency_key: The same again with the same arguments gives the first result.

        Raises:
            InvalidTrigger: It has no occurrence left, or none that can be found.
            TimerLimitReached: The thread has as many live timers as the setting allows.
            IdempotencyConflict: The key or the id was used for something else.
            ThreadArchived: Likewise ThreadDeleted.
        """
        chosen = timer_id
        named = self._named(thread_id, self._backend.new_id() if chosen is None else chosen)
        intake = self._intake(thread_id)
        fields = {"trigger": trigger, "content": content, "instructions": instructions}
        fields |= {"metadata": metadata, "delivery": delivery, "source": source}
        command = c.Create(
            **named,
            **self._checked({**fields, "client_id": client_id}, intake),
            timezone=host_time_zone(),
        )
        arguments = {**_content(command, command.given_trigger()), "timer_id": chosen}
        key = (thread_id, idempotency_key, command.NAME)
        idempotency = Idempotency.of_thread(*key, arguments, intake)
        return self._create(command, idempotency, is_chosen=chosen is not None)

    def list(self, thread_id: str) -> ScheduledTimers:
        """The live timers of a thread, in the order of their creation."""
        check_identifier("thread_id", thread_id)
        store = self._backend.store
        with store.reading(damaged=True) as cursor:
            rows = list(repository.live_rows(cursor, store.dialect, thread_id))
        return self._backend.contents.opened([as_scheduled_timer(row) for row in rows])

    def get(self, thread_id: str, timer_id: str) -> ScheduledTimer | None:
        """A timer, also one that has ended; None if the thread never had it."""
        check_identifier("thread_id", thread_id)
        check_identifier("timer_id", timer_id)
        store = self._backend.store
        with store.reading(damaged=True) as cursor:
            row = repository.timer_row(cursor, store.dialect, timer_id)
        if row is None or row.thread_id != thread_id:
            return None
        return self._backend.contents.opened(as_scheduled_timer(row))

    def update(self, /, thread_id: str, timer_id: str, **changed: Any) -> ScheduledTimer:
        """Give some fields of a timer other values; what isn't named stays.

        Args:
            thread_id: The thread.
            timer_id: Its timer.
            changed: trigger, content, instructions, metadata, delivery, source or client_id, as
                `create` takes them. From a new trigger, the next run is computed.

        Raises:
            TimerNotFound: The thread has no such timer, or not any more.
            InvalidTrigger: It has no occurrence left, or none that can be found.
            ThreadArchived: Likewise ThreadDeleted.
        """
        named = self._named(thread_id, timer_id)
        command = c.Update(**named, changed=self._changed(thread_id, changed))

        def work(unit: UnitOfWork) -> ScheduledTimer:
            repository.carry_out(unit, command, self._backend.origin())
            return self._found(unit, timer_id)

        return self._backend.transact(work, several=True)

    def pause(self, thread_id: str, timer_id: str) -> bool:
        """Let a timer not fire; False if it is paused already, or not there.

        Raises:
            ThreadDeleted: The thread is deleted.
        """
        return bool(self._done(c.Pause(**self._named(thread_id, timer_id))))

    def resume(self, thread_id: str, timer_id: str) -> bool:
        """Let a timer fire again; False if it isn't paused, or not there.

        What passed meanwhile is treated by its misfire policy.

        Raises:
            ThreadDeleted: The thread is deleted.
        """
        return bool(self._done(c.Resume(**self._named(thread_id, timer_id))))

    def delete(self, thread_id: str, timer_id: str) -> bool:
        """End a timer; False if it isn't there.

        Raises:
            ThreadDeleted: The thread is deleted.
        """
        return bool(self._done(c.Delete(**self._named(thread_id, timer_id))))

    # --- idempotency

    def _create(
        self, command: c.Create, idempotency: Idempotency | None, *, is_chosen: bool
    ) -> ScheduledTimer:
        def work(unit: UnitOfWork) -> ScheduledTimer:
            known: Sequence[Envelope] | None = None
            if idempotency is not None:
                known = first_events(self._backend, unit, idempotency)
            if not known and is_chosen:
                known = self._created_before(command)
            if known:
                return _first_result(known[0])
            origin = self._backend.origin()
            origin = idempotency.marked(origin) if idempotency else origin
            repository.carry_out(unit, command, origin)
            return self._found(unit, command.timer_id)

        return self._backend.transact(work, several=True)

    def _created_before(self, command: c.Create) -> Sequence[Envelope] | None:
        """The event that created a timer with the id that the caller chose, if there is one."""
        stream_id = timer.stream_id(command.timer_id)
        first = next(self._backend.application.envelopes(stream_id, until=1), None)
        if first is None:
            return None
        event, known = first.event, first.metadata.get("command", {})
        given = known.get("arguments", {})
        same = isinstance(event, Timer.Created) and event.thread_id == command.thread_id
        if same and isinstance(event, Timer.Created):
            before = _content(event, given.get("trigger")) | {"delivery": given.get("delivery")}
            wanted = _content(command, command.given_trigger())
            same = canonical_hash(before) == canonical_hash(wanted)
        if not same:
            raise IdempotencyConflict(
                "the ledger", command.timer_id, known.get("name", "something")
            )
        return [first]

    def _found(self, unit: UnitOfWork, timer_id: str) -> ScheduledTimer:
        row = repository.timer_row(unit.cursor, unit.dialect, timer_id)
        if row is None:
            msg = f"the timer {timer_id} that was just written isn't there"
            raise AssertionError(msg)
        return as_scheduled_timer(row)


def _content(what: Any, trigger: Any) -> dict[str, Any]:
    """All that a caller says of a timer, but its thread and its names."""
    return {
        "trigger": trigger,
        "content": what.content,
        "instructions": what.instructions,
        "metadata": what.metadata,
        "delivery": what.delivery,
        "source": what.source,
        "client_id": what.client_id,
    }


def _first_result(envelope: Envelope) -> ScheduledTimer:
    event = cast("Timer.Created", envelope.event)
    first = ScheduledTimer(
        timer_id=envelope.originator_id.removeprefix(timer.stream_id("")),
        thread_id=event.thread_id,
        state="scheduled",
        trigger=as_trigger(event.trigger),
        content=event.content,
        created_at=event.created_at.astimezone(UTC),
        next_run_at=event.next_run_at and event.next_run_at.astimezone(UTC),
        due=event.next_run_at is None,
        delivery=event.delivery,
        instructions=event.instructions,
        metadata=event.metadata,
        source=event.source,
        client_id=event.client_id,
    )
    return replace(first, duplicate=True)
