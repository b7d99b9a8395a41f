"""Thread: the life of one conversation. It comes to be with the first command that names it.

Invariants: a deleted thread is deleted for ever; an archived one takes and starts no work; where a
thread was forked from is said before anything else, or never.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, assert_never

from turnledger.domain.command import Command, event_record
from turnledger.domain.errors import InvalidTransition, ThreadArchived, ThreadDeleted
from turnledger.domain.event import Event
from turnledger.domain.limits import Context
from turnledger.domain.value import value

Lifecycle = Literal["active", "archived", "deleted"]

CATEGORY = "thread"
STATE_FORM = 1


def stream_id(thread_id: str) -> str:
    """The stream that holds a thread's life."""
    return f"{CATEGORY}:{thread_id}"


# --- Events: the storage format. Add, never change.


class Thread:
    """The events, under the name of their aggregate."""

    class Archived(Event):
        """The thread takes and starts no work."""

        TOPIC = "thread.archived"

    class Unarchived(Event):
        """Everything is there as it was."""

        TOPIC = "thread.unarchived"

    class Deleted(Event):
        """The thread and all that waited in it ended. Its history remains."""

        TOPIC = "thread.deleted"

    class Forked(Event):
        """The thread began as a fork of another one. Nothing was copied."""

        TOPIC = "thread.forked"
        forked_from: str


EVENTS: tuple[type[Event], ...] = (
    Thread.Archived,
    Thread.Unarchived,
    Thread.Deleted,
    Thread.Forked,
)


# --- State


@dataclass(frozen=True, slots=True)
class State:
    """Whether the thread takes work, and where it came from.

    Attributes:
        is_used: Something was done in it, perhaps in another stream: it can't begin as a fork.
    """

    lifecycle: Lifecycle = "active"
    forked_from: str | None = None
    is_used: bool = False

    @classmethod
    def from_stored(cls, stored: object) -> Self:
        """The state of a head row.

        Raises:
            ValueError: It is in no form that this release knows.
        """
        match stored:
            case {
                "lifecycle": "active" | "archived" | "deleted" as lifecycle,
                "forked_from": None | str() as forked_from,
            }:
                return cls(lifecycle, forked_from, is_used=True)
            case _:
                msg = f"no state of a thread: {stored!r}"
                raise ValueError(msg)

    def stored(self) -> dict[str, str | None]:
        """What the head row holds, as JSON."""
        return {"lifecycle": self.lifecycle, "forked_from": self.forked_from}


def evolve(state: State, event: Event) -> State:
    """The state after an event."""
    match event:
        case Thread.Archived():
            return replace(state, lifecycle="archived", is_used=True)
        case Thread.Unarchived():
            return replace(state, lifecycle="active", is_used=True)
        case Thread.Deleted():
            return replace(state, lifecycle="deleted", is_used=True)
        case Thread.Forked():
            return replace(state, forked_from=event.forked_from, is_used=True)
        case _:
            return state


# --- Commands


@value
class Archive(Command):
    """Let the thread take and start no work."""

    NAME = "archive"


@value
class Unarchive(Command):
    """Let it take and start work again."""

    NAME = "unarchive"


@value
class Delete(Command):
    """End the thread and all that waits in it."""

    NAME = "delete"


@value
class Fork(Command):
    """Let the thread begin as a fork of another one."""

    NAME = "fork"
    RECORD = event_record("forked_from")
    forked_from: str


ThreadCommand = Archive | Unarchive | Delete | Fork


def decide(state: State, command: ThreadCommand, _context: Context) -> Sequence[Event]:
    """The events that a command leads to; none if there is nothing to do.

    Raises:
        ThreadDeleted: The thread is deleted.
        InvalidTransition: A thread that exists already can't begin as a fork.
    """
    match command:
        case Archive():
            return _archive(state, command)
        case Unarchive():
            return _unarchive(state, command)
        case Delete():
            return () if state.lifecycle == "deleted" else (Thread.Deleted(),)
        case Fork():
            return _fork(state, command)
        case _:
            assert_never(command)


def must_exist(lifecycle: Lifecycle, thread_id: str) -> None:
    """Refuse a deleted thread."""
    if lifecycle == "deleted":
        raise ThreadDeleted(thread_id)


def must_take_work(lifecycle: Lifecycle, thread_id: str) -> None:
    """Refuse a thread that is archived or deleted."""
    must_exist(lifecycle, thread_id)
    if lifecycle == "archived":
        raise ThreadArchived(thread_id)


def _archive(state: State, command: Archive) -> Sequence[Event]:
    must_exist(state.lifecycle, command.thread_id)
    return () if state.lifecycle == "archived" else (Thread.Archived(),)


def _unarchive(state: State, command: Unarchive) -> Sequence[Event]:
    must_exist(state.lifecycle, command.thread_id)
    return (Thread.Unarchived(),) if state.lifecycle == "archived" else ()


def _fork(state: State, command: Fork) -> Sequence[Event]:
    must_exist(state.lifecycle, command.thread_id)
    if state.forked_from == command.forked_from:
        return ()
    if state.forked_from is not None:
        reason = f"it was forked from thread {state.forked_from}; a thread has one origin"
        raise InvalidTransition(command.thread_id, command.NAME, reason)
    if state.is_used:
        reason = "it exists already; fork into a thread that no command ever named"
        raise InvalidTransition(command.thread_id, command.NAME, reason)
    return (Thread.Forked(forked_from=command.forked_from),)
