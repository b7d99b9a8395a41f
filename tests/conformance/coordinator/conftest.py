"""A coordinator's work in few words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from turnledger import BegunTurn, Ledger, ProviderTurn, TurnClaim

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conformance.conftest import Clock

ITEM = "item"
REQUEST = {"model": "m", "messages": [1, 2.5]}


class Office:
    """What processes do with a work item. Turns are named by their ids."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self.ledger, self.coordinator, self.clock = ledger, ledger.coordinator, clock

    def begin(self, *turns: str, item: str = ITEM) -> None:
        """Begin turns, one after the other."""
        for turn_id in turns:
            self.coordinator.begin(item, {"text": turn_id}, turn_id=turn_id)

    def claim(self, turn_id: str = "turn", owner: str = "one", lease: float = 60) -> TurnClaim:
        """Claim a turn that is there; it is begun if it isn't."""
        if self.coordinator.get(turn_id) is None:
            self.begin(turn_id)
        claim = self.coordinator.claim(turn_id, owner, lease)
        assert claim is not None
        return claim

    def prepared(self, turn_id: str = "turn", owner: str = "one") -> TurnClaim:
        """A turn whose first attempt is prepared."""
        claim = self.claim(turn_id, owner)
        self.coordinator.prepare(claim, REQUEST)
        return claim

    def dispatching(self, turn_id: str = "turn", owner: str = "one") -> TurnClaim:
        """A turn whose first attempt is being dispatched."""
        claim = self.prepared(turn_id, owner)
        self.coordinator.start_dispatch(claim, 1)
        return claim

    def responded(self, turn_id: str = "turn", response: Any = "answer") -> TurnClaim:
        """A turn whose first attempt is answered."""
        claim = self.dispatching(turn_id)
        self.respond(claim, response=response)
        return claim

    def unknown(self, turn_id: str = "turn") -> TurnClaim:
        """A turn whose first attempt is of unknown outcome; its claim is over."""
        claim = self.dispatching(turn_id)
        self.clock.advance(60)
        self.coordinator.recover()
        assert self.status(turn_id, 1) == "unknown"
        return claim

    def respond(self, claim: TurnClaim, attempt: int = 1, response: Any = "answer") -> ProviderTurn:
        """Answer an attempt."""
        request_hash = self.attempt(claim.turn_id, attempt).request_hash
        return self.coordinator.respond(claim, attempt, request_hash, response)

    def turn(self, turn_id: str = "turn") -> BegunTurn:
        """A turn that is known."""
        turn = self.coordinator.get(turn_id)
        assert turn is not None
        assert turn.unreadable is None
        return turn

    def attempt(self, turn_id: str = "turn", number: int = 1) -> ProviderTurn:
        """An attempt that is known."""
        return self.turn(turn_id).attempts[number - 1]

    def status(self, turn_id: str = "turn", attempt: int | None = None) -> str:
        """What has become of a turn, or of one of its attempts."""
        if attempt is None:
            return self.turn(turn_id).status
        return self.attempt(turn_id, attempt).status

    def statuses(self, turn_id: str = "turn") -> list[str]:
        """What has become of a turn's attempts."""
        return [attempt.status for attempt in self.turn(turn_id).attempts]

    def revision(self, item: str = ITEM) -> int:
        """The revision of a work item."""
        return self.coordinator.work_item(item).revision

    def written(self) -> int:
        """How many events there are."""
        return len(self.ledger.log.read(limit=100_000))


@pytest.fixture
def office(ledger: Ledger, clock: Clock) -> Iterator[Office]:
    """The work on the test's ledger, which is whole at the end."""
    yield Office(ledger, clock)
    verification = ledger.verify()
    assert (verification.findings, verification.notes) == ((), ())


@pytest.fixture
def unchanged(office: Office) -> Iterator[Callable[[], None]]:
    """Call it, and nothing may be written until the end of the test."""
    before: list[int] = []
    yield lambda: before.append(office.written())
    assert [office.written()] == before[-1:]
