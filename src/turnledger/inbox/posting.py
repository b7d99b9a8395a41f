"""Putting messages into an inbox; also for commands of others, in their own transaction.

`post_in` is for those who post as a part of something else, such as the firing of a timer.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from turnledger.domain import inbox
from turnledger.domain.duration import check_time, from_microseconds
from turnledger.domain.errors import IdempotencyConflict, InvalidPayload
from turnledger.domain.event import Envelope
from turnledger.domain.identifier import check_identifier
from turnledger.domain.inbox import DELIVERIES, Delivery, Inbox, InboxMessage
from turnledger.domain.inbox.commands import Post
from turnledger.domain.payload import canonical_hash
from turnledger.domain.value import made
from turnledger.inbox.desk import InboxDesk
from turnledger.infrastructure import inbox_repository as repository
from turnledger.infrastructure.inbox_rows import place_of
from turnledger.infrastructure.origin import Origin
from turnledger.infrastructure.unit_of_work import UnitOfWork
from turnledger.receipts import Idempotency, first_events


def inbox_in(unit: UnitOfWork, thread_id: str) -> repository.Loaded:
    """What `post_in` needs of an inbox, for those who want to know first whether it can be read.

    Raises:
        Unreadable: It can't.
    """
    nothing = Post(thread_id=thread_id, message_id="", content=None, source="", metadata={})
    return repository.load(unit, nothing)


def post_in(
    unit: UnitOfWork, command: Post, origin: Origin, loaded: repository.Loaded | None = None
) -> InboxMessage:
    """Post a message in a unit of work that is under way.

    Args:
        unit: One in which several streams may be changed (`transact(…, several=True)`).
        command: Checked, and with a message_id that was never used.
        origin: Of the whole: a plain one, as a receipt is left with one stream only.
        loaded: What `inbox_in` gave in this unit, if the inbox wasn't changed since.

    Raises:
        ThreadArchived: Likewise ThreadDeleted; nothing is posted.
    """
    loaded = loaded or repository.load(unit, command)
    events = inbox.decide(loaded.state, command, loaded.context)
    repository.save(unit, loaded, events, command, origin)
    posted = cast("Inbox.Posted", events[0])
    return _as_posted(command.thread_id, posted, loaded.context.recorded_at)


class Posting(InboxDesk):
    """The part of `ledger.inbox` for those who send messages."""

    def post(  # noqa: PLR0913 - all that can be said of a message
        self,
        thread_id: str,
        content: Any,
        *,
        source: str,
        delivery: Delivery = "after-turn",
        instructions: Any = None,
        metadata: dict[str, Any] = {},  # noqa: B006 - never changed
        queued_at: datetime | None = None,
        message_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> InboxMessage:
        """Put a message into a thread's inbox.

        Args:
            thread_id: The conversation; it comes to be with its first command.
            content: JSON, opaque to turnledger; instructions likewise.
            source: Who sends it: a name that the host chose.
            delivery: after-turn, when the thread is idle; or steer-current-turn, into the turn
                that runs, or when it is idle.
            instructions: How the content is to be taken.
            metadata: A JSON object.
            queued_at: Its place: older ones come first. Default now; a time ahead holds nothing up.
            message_id: Chosen by the caller, unique in the ledger, and a key as well. Default: a
                UUIDv7.
            idempotency_key: The same again with the same arguments gives the first result.

        Raises:
            IdempotencyConflict: The key or the id was used for something else.
            ThreadArchived: Likewise ThreadDeleted.
        """
        intake = self._backend.contents.of_thread(check_identifier("thread_id", thread_id))
        chosen = None if message_id is None else check_identifier("message_id", message_id)
        _check_delivery(delivery)
        limit = self._settings.max_payload_bytes
        command = Post(
            thread_id=thread_id,
            message_id=chosen or self._backend.new_id(),
            content=intake.payload("content", content, limit),
            source=check_identifier("source", source),
            delivery=delivery,
            instructions=intake.payload("instructions", instructions, limit),
            metadata=intake.json_object("metadata", metadata, limit),
            queued_at=None if queued_at is None else check_time("queued_at", queued_at),
        )
        said = {**_content(command), "message_id": chosen}
        named = (thread_id, idempotency_key, command.NAME)
        idempotency = Idempotency.of_thread(*named, said, intake)
        return self._create(command, idempotency, chosen)

    def _create(
        self, command: Post, idempotency: Idempotency | None, chosen: str | None
    ) -> InboxMessage:
        def work(unit: UnitOfWork) -> InboxMessage:
            known: Sequence[Envelope] | None = None
            if idempotency is not None:
                known = first_events(self._backend, unit, idempotency)
            if not known and chosen is not None:
                known = self._posted_before(unit, command)
            if known:
                return _first_result(command.thread_id, known[0])
            origin = self._backend.origin()
            return post_in(unit, command, idempotency.marked(origin) if idempotency else origin)

        return self._backend.transact(work, several=True)

    def _posted_before(self, unit: UnitOfWork, command: Post) -> Sequence[Envelope] | None:
        """The event that posted a message with the id that the caller chose, if there is one."""
        place = place_of(unit.cursor, unit.dialect, command.message_id)
        if place is None:
            return None
        thread_id, version = place
        found = self._backend.application.envelopes(
            inbox.stream_id(thread_id), after=version - 1, until=version
        )
        first = next(found)
        event, name = first.event, first.metadata.get("command", {}).get("name", "something")
        same = isinstance(event, Inbox.Posted) and (thread_id, name) == (
            command.thread_id,
            command.NAME,
        )
        if not same or canonical_hash(_content(event)) != canonical_hash(_content(command)):
            raise IdempotencyConflict("the ledger", command.message_id, name)
        return [first]


def _check_delivery(delivery: object) -> None:
    if delivery not in DELIVERIES:
        reason = f"must be one of {', '.join(DELIVERIES)}, not {delivery!r}"
        raise InvalidPayload("delivery", reason)


def _content(what: Any) -> dict[str, Any]:
    """All that a caller says of a message, but its thread and its names."""
    return {
        "content": what.content,
        "source": what.source,
        "delivery": what.delivery,
        "instructions": what.instructions,
        "metadata": what.metadata,
        "queued_at": what.queued_at and what.queued_at.isoformat(),
    }


def _as_posted(thread_id: str, event: Inbox.Posted, recorded_at: datetime) -> InboxMessage:
    return made(
        InboxMessage,
        thread_id=thread_id,
        message_id=event.message_id,
        content=event.content,
        source=event.source,
        delivery=event.delivery,
        instructions=event.instructions,
        metadata=event.metadata,
        queued_at=event.queued_at or event.created_at,
        arrival=event.arrival,
        state="pending",
        created_at=event.created_at,
        updated_at=recorded_at,
    )


def _first_result(thread_id: str, envelope: Envelope) -> InboxMessage:
    event = cast("Inbox.Posted", envelope.event)
    first = _as_posted(thread_id, event, from_microseconds(envelope.recorded_at))
    return replace(first, duplicate=True)
