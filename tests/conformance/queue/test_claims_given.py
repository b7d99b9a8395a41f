"""What is no claim, or no claim of this ledger, is refused with a clear word."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import turnledger
from turnledger import Claim, ClaimLost, InvalidInput, LedgerError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conformance.conftest import Clock, Host, Store
    from turnledger import Ledger


def commands(ledger: Ledger, claim: Any) -> list[Callable[[], object]]:
    """Every command that is shown a claim."""
    queue = ledger.queue
    return [
        lambda: queue.renew(claim),
        lambda: queue.release(claim),
        lambda: queue.start_dispatch(claim, "dispatch"),
        lambda: queue.ack(claim),
        lambda: queue.fail(claim, "no"),
    ]


@pytest.mark.parametrize(
    "wrong", [None, "claim", 1, ("thread", "worker", 1), {"thread_id": "thread"}, [], object()]
)
def test_what_is_no_claim_is_refused(ledger: Ledger, host: Host, store: Store, wrong: Any) -> None:
    host.append("only")
    host.claim()
    before = store.events()
    for command in commands(ledger, wrong):
        with pytest.raises(InvalidInput):
            command()
    assert store.events() == before


def test_a_queued_turn_is_no_claim(ledger: Ledger, host: Host, store: Store) -> None:
    [only] = host.append("only")
    host.claim()
    before = store.events()
    for command in commands(ledger, host.turn(only)):
        with pytest.raises(InvalidInput):
            command()
    assert store.events() == before


EPOCHS = [0, -1, 2, 2**63 - 1, 2**63, -(2**63) - 1, 10**400, "1", None, 1.5, float("nan"), [1]]


@pytest.mark.parametrize("epoch", EPOCHS, ids=lambda epoch: repr(epoch)[:12])
def test_a_claim_with_a_wrong_epoch_is_refused(
    ledger: Ledger, host: Host, store: Store, epoch: Any
) -> None:
    host.append("only")
    host.claim()
    before = store.events()
    for command in commands(ledger, host.hand_made("worker", epoch)):
        with pytest.raises(LedgerError) as refusal:
            command()
        assert isinstance(refusal.value, ClaimLost | InvalidInput)
    assert store.events() == before


@pytest.mark.parametrize("field", ["thread_id", "owner"])
@pytest.mark.parametrize("wrong", [None, 1, b"worker", ["worker"]])
def test_a_claim_with_a_field_of_the_wrong_type_is_refused(
    ledger: Ledger, host: Host, store: Store, field: str, wrong: Any
) -> None:
    host.append("only")
    given = replace(host.claim(), **{field: wrong})
    before = store.events()
    for command in commands(ledger, given):
        with pytest.raises(LedgerError) as refusal:
            command()
        assert isinstance(refusal.value, ClaimLost | InvalidInput)
    assert store.events() == before


def test_a_claim_for_another_thread_doesnt_fit(ledger: Ledger, host: Host, store: Store) -> None:
    host.append("here")
    host.append("there", thread="other")
    given = host.claim()
    ledger.queue.release(host.claim("another", thread="other"))
    host.claim("another", thread="other")
    before = store.events()
    for command in commands(ledger, replace(given, thread_id="other")):
        with pytest.raises(ClaimLost):
            command()
    assert store.events() == before


@pytest.mark.parametrize("generation", ["another", "", None])
def test_a_claim_of_another_generation_is_lost(ledger: Ledger, host: Host, generation: Any) -> None:
    [only] = host.append("only")
    given = host.dispatch()
    for command in commands(ledger, replace(given, generation=generation)):
        with pytest.raises(ClaimLost):
            command()
    assert host.turn(only).state == "dispatching"
    ledger.queue.ack(given)


@pytest.mark.parametrize("kind", ["sqlite"], indirect=True)  # a server's is a dump, see there
def test_a_claim_from_before_a_restore_is_lost(
    ledger: Ledger, host: Host, clock: Clock, tmp_path: Path
) -> None:
    [only] = host.append("only")
    given = host.dispatch()
    ledger.backup(tmp_path / "backup.db")
    turnledger.restore(tmp_path / "backup.db", tmp_path / "restored.db")
    with turnledger.open(tmp_path / "restored.db", clock=clock) as restored:
        assert restored.ledger_id == ledger.ledger_id
        assert restored.generation != ledger.generation
        for command in commands(restored, given):
            with pytest.raises(ClaimLost):
                command()
        turn = restored.queue.get("thread", only)
        assert turn is not None
        assert turn.state == "dispatching"
        fitting = replace(given, generation=restored.generation)
        restored.queue.ack(fitting)
    ledger.queue.ack(given)


def test_a_claim_says_nothing_by_its_other_fields(ledger: Ledger, host: Host, clock: Clock) -> None:
    [only] = host.append("only")
    given = host.claim()
    clock.advance(60)
    longer = replace(given, expires_at=clock.now.replace(year=2999))
    with pytest.raises(ClaimLost):
        ledger.queue.start_dispatch(longer, "dispatch")
    assert host.turn(only).state == "claimed"


def test_a_claim_is_public(ledger: Ledger) -> None:
    claim = Claim(thread_id="t", owner="o", epoch=1, generation=ledger.generation)
    assert (claim.thread_id, claim.owner, claim.epoch) == ("t", "o", 1)
    with pytest.raises(ClaimLost):
        ledger.queue.renew(claim)
