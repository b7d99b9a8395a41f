"""A thread's inbox in few words, and a message of a newer release."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from turnledger import InboxMessage, Ledger, MessageClaim, NotReady, Rejected
from turnledger.domain.inbox.commands import Post
from turnledger.inbox.posting import post_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conformance.conftest import Clock

THREAD = "thread"


class Box:
    """What a host does with an inbox. Contents are texts; the thread is idle if not said."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self.ledger, self.inbox, self._clock = ledger, ledger.inbox, clock

    def post(self, *texts: str, thread: str = THREAD, **said: Any) -> list[str]:
        """Post messages one by one; returns their ids."""
        said = {"source": "test", **said}
        return [self.inbox.post(thread, text, **said).message_id for text in texts]

    def steer(self, *texts: str, thread: str = THREAD) -> list[str]:
        """Post messages for the turn that runs."""
        return self.post(*texts, thread=thread, delivery="steer-current-turn")

    def back_dated(self, text: str, seconds: float) -> str:
        """Post a message as if it had come so long ago."""
        return self.post(text, queued_at=self._clock.now - timedelta(seconds=seconds))[0]

    def from_a_newer_release(self, delivery: str, text: str = "new", thread: str = THREAD) -> str:
        """A message with a delivery that only another release knows."""
        backend = self.ledger._backend
        command = Post(
            thread_id=thread,
            message_id=backend.new_id(),
            content=text,
            source="test",
            delivery=delivery,
            metadata={},
        )
        posted = backend.transact(
            lambda unit: post_in(unit, command, backend.origin()), several=True
        )
        return posted.message_id

    def texts(self, thread: str = THREAD) -> list[Any]:
        """What waits, in order."""
        return [message.content for message in self.inbox.list(thread)]

    def undelivered(self, thread: str = THREAD) -> list[Any]:
        """What is undelivered, in order."""
        return [message.content for message in self.inbox.undelivered(thread)]

    def ask(
        self, owner: str = "worker", *, idle: bool = True, turn: bool = False, **said: Any
    ) -> MessageClaim | NotReady | Rejected | None:
        """Ask for the oldest message."""
        thread = said.pop("thread", THREAD)
        can = {"can_after_turn": idle, "can_steer_current_turn": turn}
        return self.inbox.claim_next(thread, owner, **can, **said)

    def claim(self, owner: str = "worker", **said: Any) -> MessageClaim:
        """Claim a message that is there and can be delivered."""
        claim = self.ask(owner, **said)
        assert isinstance(claim, MessageClaim), claim
        return claim

    def message(self, message_id: str | None, thread: str = THREAD) -> InboxMessage:
        """A message that is known."""
        assert message_id is not None
        message = self.inbox.get(thread, message_id)
        assert message is not None
        return message

    def state(self, message_id: str | None, thread: str = THREAD) -> str:
        """What has become of a message."""
        return self.message(message_id, thread).state


@pytest.fixture
def box(ledger: Ledger, clock: Clock) -> Iterator[Box]:
    """The inbox of the test's ledger, which is whole at the end."""
    yield Box(ledger, clock)
    verification = ledger.verify()
    assert (verification.findings, verification.notes) == ((), ())
