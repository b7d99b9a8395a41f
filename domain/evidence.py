"""Evidence: what an owner knew whose claim was lost.

It has streams of its own, so that no version of what it is about moves. Invariant: one piece of
evidence for each target, owner, epoch and kind, and only for epochs that were given out.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from turnledger.domain.command import Command, event_record
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


EVENTS: tuple[type[Event], ...] = (Evidence.Kept, Evidence.KeptOfMessage)

Piece = Evidence.Kept | Evidence.KeptOfMessage


# --- Commands


@value
class KeepCommand(Command):
    """Keep what an owner reported whose claim was lost."""

    NAME = "keep_evidence"
    owner: str
    epoch: int
    kind: str
    value: Any
    altered: bool = False


@value
class Keep(KeepCommand):
    """Keep what was reported of a queued turn."""

    RECORD = event_record("queued_turn_id", "owner", "epoch", "kind", "value", "altered")
    queued_turn_id: str


@value
class KeepOfMessage(KeepCommand):
    """Keep what was reported of a message."""

    RECORD = event_record("message_id", "owner", "epoch", "kind", "value", "altered")
    message_id: str


def decide(known: Iterable[tuple[str, int, str]], command: Keep | KeepOfMessage) -> Sequence[Event]:
    """The event that keeps it, unless the same was kept before.

    Args:
        known: Owner, epoch and kind of what is kept about this target.
        command: What to keep.
    """
    if (command.owner, command.epoch, command.kind) in set(known):
        return ()
    facts: dict[str, Any] = {
        "owner": command.owner,
        "epoch": command.epoch,
        "kind": command.kind,
        "value": command.value,
        "altered": command.altered,
    }
    if isinstance(command, Keep):
        return (Evidence.Kept(queued_turn_id=command.queued_turn_id, **facts),)
    return (Evidence.KeptOfMessage(message_id=command.message_id, **facts),)
