"""What the tests of workers' loops share: waiting for what other threads do."""

from collections.abc import Callable
from time import monotonic
from typing import Any

import pytest

from tests.conformance.conftest import Clock, Host
from turnledger import Ledger, TurnInHand

PATIENCE_SECONDS = 30.0


def until(seen: Callable[[], bool], ledger: Ledger) -> None:
    """Wait for what another thread commits, looking at each change of the ledger."""
    end, position = monotonic() + PATIENCE_SECONDS, 0
    while not seen():
        assert monotonic() < end
        position = ledger.wait_for_change(position, 0.1)


def work(ledger: Ledger, body: Callable[[TurnInHand], object], **given: Any) -> TurnInHand:
    """Do one turn."""
    with next(ledger.turns(**given)) as turn:
        body(turn)
    return turn


class Elsewhere:
    """Another worker, who takes what this one's claim is over for."""

    def __init__(self, host: Host, clock: Clock) -> None:
        self._host = host
        self._clock = clock

    def takes_over(self) -> None:
        """The lease ends, as for a machine that slept; somebody recovers and claims it again."""
        self._clock.advance(3_600)
        self._host.ledger.queue.recover()
        self._host.ledger.queue.claim_next("another", lease=3_600)


@pytest.fixture
def elsewhere(host: Host, clock: Clock) -> Elsewhere:
    return Elsewhere(host, clock)
