"""What an inbox's commands are decided on: its counts, and those of its messages that are live."""

import heapq
from collections.abc import Mapping
from typing import TYPE_CHECKING

from turnledger.domain import inbox
from turnledger.domain.event import Event
from turnledger.domain.inbox import Message, State
from turnledger.domain.thread import Lifecycle

if TYPE_CHECKING:
    from datetime import datetime

LIVE = frozenset(("pending", "claimed", "expired"))
_NO_MESSAGES: Mapping[str, Message] = {}


class LiveInbox:
    """One inbox, folded event by event.

    Attributes:
        state: Its counts and what is in flight.
        messages: Those that wait, are in flight, or are undelivered.
    """

    __slots__ = ("_waiting", "messages", "state")

    def __init__(self) -> None:
        """Start with nothing."""
        self.state = State()
        self.messages: dict[str, Message] = {}
        self._waiting: list[tuple[datetime, int, str]] = []

    def before(self, event: Event, life: Lifecycle) -> State:
        """What the command was decided on that led to an event: as a command reads it."""
        oldest, named = self._oldest(), self.messages.get(getattr(event, "message_id", ""))
        known = {one.message_id: one for one in (oldest, named) if one is not None}
        return self.state._replace(lifecycle=life, messages=known)

    def fold(self, event: Event) -> None:
        """Take an event.

        Raises:
            ValueError: It can't follow what came before it.
        """
        named = self.messages.get(getattr(event, "message_id", ""))
        known = _NO_MESSAGES if named is None else {named.message_id: named}
        state = inbox.evolve(self.state._replace(messages=known), event)
        if isinstance(event, inbox.Inbox.Cleared):
            self.messages.clear()
            self._waiting.clear()
        for message in state.messages.values():
            self._keep(message)
        self.state = state._replace(messages=_NO_MESSAGES)

    def _keep(self, message: Message) -> None:
        if message.state not in LIVE:
            self.messages.pop(message.message_id, None)
            return
        self.messages[message.message_id] = message
        if message.state == "pending":
            place = (message.queued_at, message.arrival, message.message_id)
            heapq.heappush(self._waiting, place)

    def _oldest(self) -> Message | None:
        """The oldest that waits; what doesn't wait any more is dropped from the heap on the way."""
        while self._waiting:
            message = self.messages.get(self._waiting[0][2])
            if message is not None and message.state == "pending":
                return message
            heapq.heappop(self._waiting)
        return None
