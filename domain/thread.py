"""Thread: the life of one conversation. It comes to be with the first command that names it.

Invariants: a deleted thread is deleted for ever; an archived one takes and starts no work.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self, assert_never

from turnledger.domain.command import Command
from turnledger.domain.errors import ThreadDeleted
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


EVENTS: tuple[type[Event], ...] = (Thread.Archived, Thread.Unarchived, Thread.Deleted)


# --- State


@dataclass(frozen=True, slots=True)
class State:
    """Whether the thread takes work."""

    lifecycle: Lifecycle = "active"

    @classmethod
    def from_stored(cls, stored: object) -> Self:
        """The state of a head row.

        Raises:
            ValueError: It is in no form that this release knows.
        """
        match stored:
            case {"lifecycle": "active" | "archived" | "deleted" as lifecycle}:
                return cls(lifecycle)
            case _:
                msg = f"no state of a thread: {stored!r}"
                raise ValueError(msg)


def evolve(state: State, event: Event) -> State:
    """The state after an event."""
    match event:
        case Thread.Archived():
            return replace(state, lifecycle="archived")
        case Thread.Unarchived():
            return replace(state, lifecycle="active")
        case Thread.Deleted():
            return replace(state, lifecycle="deleted")
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


ThreadCommand = Archive | Unarchive | Delete


def decide(state: State, command: ThreadCommand, _context: Context) -> Sequence[Event]:
    """The events that a command leads to; none if there is nothing to do.

    Raises:
        ThreadDeleted: The thread is deleted.
    """
    match command:
        case Archive():
            return _archive(state, command)
        case Unarchive():
            return _unarchive(state, command)
        case Delete():
            return () if state.lifecycle == "deleted" else (Thread.Deleted(),)
        case _:
            assert_never(command)


def _archive(state: State, command: Archive) -> Sequence[Event]:
    if state.lifecycle == "deleted":
        raise ThreadDeleted(command.thread_id)
    return () if state.lifecycle == "archived" else (Thread.Archived(),)


def _unarchive(state: State, command: Unarchive) -> Sequence[Event]:
    if state.lifecycle == "deleted":
        raise ThreadDeleted(command.thread_id)
    return (Thread.Unarchived(),) if state.lifecycle == "archived" else ()
