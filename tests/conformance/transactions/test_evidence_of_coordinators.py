"""Evidence of coordinator turns, runs and operations stays, whatever is undone around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance.transactions.conftest import Undo, failing
from turnledger import ClaimLost

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.conftest import Clock
    from turnledger import Ledger

    Report = Callable[[Ledger], Callable[[], list[Any]]]

LEASE = 10


def respond(ledger: Ledger) -> Callable[[], list[Any]]:
    """The answer of a provider, when somebody else has the turn."""
    claim = ledger.coordinator.begin("item", "hi", turn_id="turn", owner="slow", lease=LEASE).claim
    assert claim is not None
    attempt = ledger.coordinator.prepare(claim, "q")
    ledger.coordinator.start_dispatch(claim, 1)

    def report() -> list[Any]:
        with pytest.raises(ClaimLost):
            ledger.coordinator.respond(claim, 1, attempt.request_hash, "answer")
        return []

    return report


def late_response(ledger: Ledger) -> Callable[[], list[Any]]:
    """Likewise, by somebody who has no claim."""
    respond(ledger)
    return lambda: [ledger.coordinator.late_response("turn", 1, "answer")]


def finish(ledger: Ledger) -> Callable[[], list[Any]]:
    """The outcome of a run whose lease is over."""
    claim = ledger.runs.start("run", "item", "action", "slow", LEASE)
    assert claim is not None

    def report() -> list[Any]:
        with pytest.raises(ClaimLost):
            ledger.runs.finish(claim, "answer")
        return []

    return report


def complete(ledger: Ledger) -> Callable[[], list[Any]]:
    """The result of an operation, when the claim of its run is over."""
    claim = ledger.runs.start("run", "item", "action", "slow", LEASE)
    assert claim is not None
    ledger.operations.create_and_claim(claim, "key", "send", {}, automatic=False)

    def report() -> list[Any]:
        assert ledger.operations.complete(claim, "key", "applied", "answer") is False
        return []

    return report


REPORTS: list[Report] = [respond, late_response, finish, complete]


def evidence(ledger: Ledger) -> list[Any]:
    """All that was kept, of whatever kind."""
    types = [f"evidence.kept_of_{kind}" for kind in ("turn", "run", "operation")]
    values = [event.data["value"] for event in ledger.log.read(types=types)]
    return [value if isinstance(value, str) else value["result"] for value in values]


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_stays_once_if_the_block_is_committed(
    ledger: Ledger, clock: Clock, report: Report
) -> None:
    say = report(ledger)
    clock.advance(LEASE)
    with ledger.transaction():
        say()
    assert evidence(ledger) == ["answer"]
    assert ledger.verify().ok


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_stays_once_if_the_block_is_undone(
    ledger: Ledger, clock: Clock, report: Report
) -> None:
    say = report(ledger)
    clock.advance(LEASE)
    with failing(ledger, Undo):
        say()
        raise Undo
    assert evidence(ledger) == ["answer"]
    assert ledger.verify().ok


def test_an_undone_turn_leaves_no_late_response_and_the_blocks_own_error_comes_through(
    ledger: Ledger,
) -> None:
    with failing(ledger, Undo):
        claim = ledger.coordinator.begin("item", "hi", turn_id="turn", owner="one").claim
        assert claim is not None
        ledger.coordinator.prepare(claim, "q")
        ledger.coordinator.start_dispatch(claim, 1)
        ledger.coordinator.late_response("turn", 1, "answer")
        raise Undo
    assert (ledger.coordinator.get("turn"), evidence(ledger)) == (None, [])
