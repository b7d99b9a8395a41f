"""`ledger.why`: why a thread doesn't move, the events that caused it, and what would unblock it."""

import shlex
from dataclasses import dataclass
from typing import Any, cast

from sqlalchemy import select

from turnledger.domain import inbox, thread, thread_queue
from turnledger.domain.identifier import check_identifier
from turnledger.domain.inbox import Inbox
from turnledger.domain.thread_queue import State, ThreadQueue
from turnledger.infrastructure import inbox_repository
from turnledger.infrastructure import queue_repository as repository
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.glance import Glance
from turnledger.infrastructure.schema import events
from turnledger.log import Log, RecordedEvent

_RECENT = 500  # how far back in a stream the causes are looked for
_STARTS = frozenset((ThreadQueue.Appended.TOPIC, ThreadQueue.Retried.TOPIC))


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Why a thread doesn't move.

    Attributes:
        reason: As of `ledger.queue.why_blocked`; None if it does move.
        events: What caused it, in order, with positions; and the claim of a message that is over,
            if the thread's inbox waits for that.
        commands: What would unblock it, as lines for the command line.
    """

    thread_id: str
    reason: str | None
    events: tuple[RecordedEvent, ...]
    commands: tuple[str, ...]


def why(backend: Backend, log: Log, thread_id: str) -> Why:
    """Say why a thread doesn't move."""
    check_identifier("thread_id", thread_id)

    def look(unit: Glance) -> Why:
        loaded = repository.load_head(unit, thread_id)
        reason = thread_queue.why_blocked(loaded.state, loaded.context)
        causes = _causes(log, thread_id, reason, loaded.state)
        commands = _commands(thread_id, reason, loaded.state)
        overdue = inbox_repository.overdue(unit, thread_id)
        if overdue is not None:  # nothing behind this message moves
            causes += _claim_of(log, thread_id, overdue.message_id)
            commands += (_line("inbox recover", thread_id),)
        return Why(thread_id=thread_id, reason=reason, events=causes, commands=commands)

    return backend.look(look)


def _causes(
    log: Log, thread_id: str, reason: str | None, state: State
) -> tuple[RecordedEvent, ...]:
    match reason:
        case "deleted" | "archived":
            return tuple(_recent(log, thread.stream_id(thread_id))[-1:])
        case "paused":
            recent = _recent(log, thread_queue.stream_id(thread_id))
            paused = [event for event in recent if event.type == ThreadQueue.Paused.TOPIC]
            return tuple(paused[-1:])
        case "in_flight" | "expired_claim":
            turn_id = state.in_flight.queued_turn_id if state.in_flight else ""
            return _story(log, thread_id, turn_id)
        case "failed_head" | "not_yet":
            return _story(log, thread_id, state.head.queued_turn_id if state.head else "")
        case _:
            return ()


def _story(log: Log, thread_id: str, turn_id: str) -> tuple[RecordedEvent, ...]:
    """What happened to a queued turn since it last began to wait."""
    told: list[RecordedEvent] = []
    for event in reversed(_recent(log, thread_queue.stream_id(thread_id))):
        fields = event.data
        if isinstance(fields, dict) and cast("Any", fields).get("queued_turn_id") == turn_id:
            told.append(event)
            if event.type in _STARTS:
                break
    return tuple(reversed(told))


def _claim_of(log: Log, thread_id: str, message_id: str) -> tuple[RecordedEvent, ...]:
    """The last claim of a message."""
    events = _recent(log, inbox.stream_id(thread_id))
    claims = [event for event in events if event.type == Inbox.Claimed.TOPIC]
    return tuple(event for event in claims[-1:] if event.data["message_id"] == message_id)


def _recent(log: Log, stream_id: str) -> list[RecordedEvent]:
    query: Any = select(events).where(events.c.stream_id == stream_id)
    return log.find(query.order_by(events.c.version.desc()).limit(_RECENT))[::-1]


def _commands(thread_id: str, reason: str | None, state: State) -> tuple[str, ...]:
    head = state.head.queued_turn_id if state.head else ""
    match reason:
        case "archived":
            return (_line("thread unarchive", thread_id),)
        case "paused":
            return (_line("queue resume", thread_id),)
        case "expired_claim":
            return (_line("queue recover", thread_id),)
        case "failed_head" if state.head is not None and state.head.outcome_unknown:
            acked = _line("queue resolve", thread_id, head, "acked", "--by", "NAME")
            return acked, _line("queue resolve", thread_id, head, "retry", "--by", "NAME")
        case "failed_head":
            return _line("queue retry", thread_id, head), _line("queue delete", thread_id, head)
        case _:
            return ()


def _line(command: str, *arguments: str) -> str:
    """A line that can be copied to a shell."""
    options = arguments[arguments.index("--by") :] if "--by" in arguments else ()
    named = arguments[: len(arguments) - len(options)]
    marker = ["--"] if any(name.startswith("-") for name in named) else []
    return " ".join(["turnledger", command, *options, *marker, *map(shlex.quote, named)])
