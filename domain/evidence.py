"""Evidence: what an owner knew whose claim was lost.

It has streams of its own, so that no version of what it is about moves. Invariant: one piece of
evidence for each target, owner, epoch and kind, and only for epochs that were given out.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from turnledger.domain.command import RecordedCommand, event_record
from turnledger.domain.event import Event
from turnledger.domain.value import value

CATEGORY = "evidence"
STATE_FORM = 1


def stream_id(target: str) -> str:
    """The stream that holds the evidence about another stream."""
    return f"{CATEGORY}:{target}"


# --- Events: the storage format. Add, never change.


class Evidence:
    """The events, under the name of their aggregate."""

    class Kept(Event):
        """A result of a queued turn came from an owner whose claim was lost."""

        TOPIC = "evidence.kept"
        queued_turn_id: str
        owner: str
        epoch: int
        kind: str
        value: Any
        altered: bool = False

    class KeptOfMessage(Event):
        """Likewise of a message."""

        TOPIC = "evidence.kept_of_message"
        message_id: str
        owner: str
        epoch: int
        kind: str
        value: Any
        altered: bool = False

    class KeptOfTurn(Event):
        """Likewise of a coordinator turn, or of one of its attempts."""

        TOPIC = "evidence.kept_of_turn"
        turn_id: str
        attempt: int | None
        owner: str
        epoch: int
        kind: str
        value: Any
        altered: bool = False

    class KeptOfRun(Event):
        """Likewise of a run."""

        TOPIC = "evidence.kept_of_run"
        owner: str
        epoch: int
        kind: str
        value: Any
        altered: bool = False

    class KeptOfOperation(Event):
        """Likewise of an operation; owner and epoch are those of the claim of its run."""

        TOPIC = "evidence.kept_of_operation"
        owner: str
        epoch: int
        kind: str
        value: Any
        altered: bool = False


EVENTS: tuple[type[Event], ...] = (
    Evidence.Kept,
    Evidence.KeptOfMessage,
    Evidence.KeptOfTurn,
    Evidence.KeptOfRun,
    Evidence.KeptOfOperation,
)

Piece = Evidence.Kept | Evidence.KeptOfMessage | Evidence.KeptOfRun | Evidence.KeptOfOperation


# --- Commands

_REPORT = ("owner", "epoch", "kind", "value", "altered")


@value
class KeepCommand(RecordedCommand):
    """Keep what an owner reported whose claim was lost, in an event of that class."""

    NAME = "keep_evidence"
    EVENT: ClassVar[type[Event]]
    owner: str
    epoch: int
    kind: str
    value: Any
    altered: bool = False


@value
class Keep(KeepCommand):
    """Keep what was reported of a queued turn."""

    EVENT = Evidence.Kept
    RECORD = event_record("queued_turn_id", *_REPORT)
    thread_id: str
    queued_turn_id: str


@value
class KeepOfMessage(KeepCommand):
    """Keep what was reported of a message."""

    EVENT = Evidence.KeptOfMessage
    RECORD = event_record("message_id", *_REPORT)
    thread_id: str
    message_id: str


@value
class KeepOfTurn(KeepCommand):
    """Keep what was reported of a coordinator turn, or of one of its attempts."""

    EVENT = Evidence.KeptOfTurn
    RECORD = event_record("turn_id", "attempt", *_REPORT)
    turn_id: str
    attempt: int | None = None


@value
class KeepOfRun(KeepCommand):
    """Keep what was reported of a run."""

    EVENT = Evidence.KeptOfRun
    RECORD = event_record(*_REPORT)
    run_id: str


@value
class KeepOfOperation(KeepCommand):
    """Keep what was reported of an operation."""

    EVENT = Evidence.KeptOfOperation
    RECORD = event_record(*_REPORT)
    key: str


def decide(known: Iterable[tuple[str, int, str]], command: KeepCommand) -> Sequence[Event]:
    """The event that keeps it, unless the same was kept before.

    Args:
        known: Owner, epoch and kind of what is kept about this target.
        command: What to keep.
    """
    if (command.owner, command.epoch, command.kind) in set(known):
        return ()
    return (command.EVENT(**{name: getattr(command, name) for name in command.RECORD}),)
